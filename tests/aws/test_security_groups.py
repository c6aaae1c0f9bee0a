"""Security groups: RDMA between GPU nodes, storage and training apart, one public entrance."""

import ipaddress
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aws.synth_net import reference, resources, rules, stack_json
from inferfab.aws.inference_security_group import InferenceSecurityGroup, InferenceSecurityGroupSpec
from inferfab.aws.load_balancer_security_group import LoadBalancerSecurityGroup, LoadBalancerSecurityGroupSpec
from inferfab.aws.values import Ports, contains, overlaps, without

VPC, CLUSTER = "vpc-0a1b2c3d4e5f60718", "sg-0a1b2c3d4e5f60718"
STORAGE, TRAINING = "10.64.0.0/16", "10.80.0.0/12"
LUSTRE = (Ports(first=988), Ports(first=1018, last=1023))


def inference_spec(**changes: Any) -> InferenceSecurityGroupSpec:
    fields: dict[str, Any] = {
        "name": "prod-use1-a", "vpc_id": VPC, "cluster_security_group_id": CLUSTER, "storage": (STORAGE,),
        "storage_ports": LUSTRE, "training": (TRAINING,),
    }  # fmt: skip
    return InferenceSecurityGroupSpec(**{**fields, **changes})


def inference(**changes: Any) -> dict[str, Any]:
    return stack_json(lambda stack: InferenceSecurityGroup(stack, "gpu", inference_spec(**changes)))


def balancer_spec(**changes: Any) -> LoadBalancerSecurityGroupSpec:
    fields: dict[str, Any] = {
        "name": "prod-use1-a", "vpc_id": VPC, "targets": {"cluster": CLUSTER}, "target_port": 8443, "public": True,
    }  # fmt: skip
    return LoadBalancerSecurityGroupSpec(**{**fields, **changes})


def balancer(**changes: Any) -> dict[str, Any]:
    return stack_json(lambda stack: LoadBalancerSecurityGroup(stack, "nlb", balancer_spec(**changes)))


def test_targets_without_a_group_are_named_by_range() -> None:
    """Pods in racks: out to them on both ports; there is no group whose door could be opened."""
    document = balancer(targets={}, target_cidrs=("10.81.0.0/16",), health_check_port=19003)
    out = rules(document, "egress").values()
    assert {(r["cidr_ipv4"], r["from_port"]) for r in out} == {("10.81.0.0/16", 8443), ("10.81.0.0/16", 19003)}
    assert [r["from_port"] for r in rules(document, "ingress").values()] == [443]
    with pytest.raises(ValidationError, match="nothing stands behind it"):
        balancer_spec(targets={})


def all_rules(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [*rules(document, "ingress").values(), *rules(document, "egress").values()]


@pytest.mark.parametrize("direction", ["ingress", "egress"])
def test_efa_needs_all_traffic_from_and_to_the_group_itself(direction: str) -> None:
    """EC2 user guide, EFA: both directions by reference to the group; a range does not cover it."""
    document = inference()
    group = reference(document, "aws_security_group", "gpu/group")
    fabric = rules(document, direction)[f"gpu/{'in' if direction == 'ingress' else 'out'}-fabric"]
    assert fabric["security_group_id"] == fabric["referenced_security_group_id"] == group
    assert fabric["ip_protocol"] == "-1"
    assert not {"from_port", "to_port"} & set(fabric)


def test_nothing_comes_in_from_any_range() -> None:
    """GPU nodes are reached by their own group and their cluster's, never by address."""
    document = inference()
    group = reference(document, "aws_security_group", "gpu/group")
    own = [rule for rule in rules(document, "ingress").values() if rule["security_group_id"] == group]
    assert {rule["referenced_security_group_id"] for rule in own} == {group, CLUSTER}
    assert not any("cidr_ipv4" in rule for rule in rules(document, "ingress").values())


def test_gpu_nodes_and_their_cluster_reach_each_other() -> None:
    """Without the cluster's own group on the node: kubelet and webhooks in, API and DNS out, and the door for it."""
    document = inference()
    group = reference(document, "aws_security_group", "gpu/group")
    found = {
        (rule["security_group_id"], rule["referenced_security_group_id"])
        for rule in rules(document, "ingress").values()
        if rule["ip_protocol"] == "-1"
    }
    assert {(group, CLUSTER), (CLUSTER, group)} <= found
    out = rules(document, "egress")["gpu/out-cluster"]
    assert (out["security_group_id"], out["referenced_security_group_id"]) == (group, CLUSTER)


def test_storage_is_reached_on_its_own_ports_only() -> None:
    """FSx for Lustre: 988 and 1018 to 1023, both TCP."""
    found = {
        (rule["ip_protocol"], rule["from_port"], rule["to_port"])
        for rule in rules(inference(), "egress").values()
        if "cidr_ipv4" in rule and overlaps(rule["cidr_ipv4"], STORAGE)
    }
    assert found == {("tcp", 988, 988), ("tcp", 1018, 1023)}


def test_storage_without_ports_is_out_of_reach() -> None:
    """Named to be kept away from."""
    document = inference(storage_ports=())
    ranges = [rule["cidr_ipv4"] for rule in rules(document, "egress").values() if "cidr_ipv4" in rule]
    assert not any(overlaps(range_, STORAGE) for range_ in ranges)


def test_no_rule_leads_to_training() -> None:
    """Security groups cannot deny, so HTTPS goes everywhere else."""
    ranges = [rule["cidr_ipv4"] for rule in rules(inference(), "egress").values() if "cidr_ipv4" in rule]
    assert not any(overlaps(range_, TRAINING) for range_ in ranges)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "10.16.0.1", "10.63.255.255", "10.65.0.0", "10.79.0.1", "10.96.0.0", "223.1.1.1"]
)
def test_https_reaches_everything_else(address: str) -> None:
    """The neighbours of the ranges kept apart, and the internet; on 443 only."""
    hits = [
        rule
        for rule in rules(inference(), "egress").values()
        if "cidr_ipv4" in rule and contains(rule["cidr_ipv4"], f"{address}/32")
    ]
    assert [(rule["from_port"], rule["to_port"]) for rule in hits] == [(443, 443)]


def test_with_nothing_to_keep_apart_one_rule_is_enough() -> None:
    """HTTPS to everywhere."""
    document = inference(storage=(), storage_ports=(), training=())
    https = [rule for rule in rules(document, "egress").values() if rule.get("from_port") == 443]
    assert [rule["cidr_ipv4"] for rule in https] == ["0.0.0.0/0"]


def test_without_nat_https_ends_at_the_endpoints() -> None:
    """The VPC's range and S3's list."""
    document = inference(https_to=("10.16.0.0/16",), https_to_prefix_lists=("pl-63a5400a",))
    https = [rule for rule in rules(document, "egress").values() if rule.get("from_port") == 443]
    assert [rule.get("cidr_ipv4") or rule["prefix_list_id"] for rule in https] == ["10.16.0.0/16", "pl-63a5400a"]


def test_own_name_servers_are_reached_over_both_protocols() -> None:
    """DNS falls back to TCP for long answers."""
    found = {
        (rule["ip_protocol"], rule["from_port"])
        for rule in rules(inference(dns_servers=("10.0.0.2/32",)), "egress").values()
        if rule.get("cidr_ipv4") == "10.0.0.2/32"
    }
    assert found == {("udp", 53), ("tcp", 53)}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"storage": ("10.81.0.0/16",)}, "overlap"),
        ({"storage": ()}, "storage_ports without storage"),
        ({"https_to": (STORAGE,)}, "nothing is left"),
        ({"dns_servers": ("10.80.0.2/32",)}, "training"),
        ({"storage": tuple(f"10.{n}.0.0/24" for n in range(0, 60, 2))}, "outbound rules; AWS takes 60"),
        ({"cluster_security_group_id": "prod"}, "looks like sg-"),
    ],
)
def test_refuses_what_contradicts_itself(changes: dict[str, Any], says: str) -> None:
    """A message, not half a separation."""
    with pytest.raises(ValidationError, match=says):
        inference_spec(**changes)


def test_ports_run_forwards() -> None:
    """Beginning and end in this order, inside 1 to 65535."""
    for first, last in ((1023, 1018), (0, None), (1, 65536)):
        with pytest.raises(ValidationError):
            Ports(first=first, last=last)


def test_a_public_load_balancer_takes_443_from_the_internet_and_nothing_else() -> None:
    """The only public ingress of the whole stack."""
    document = balancer()
    group = reference(document, "aws_security_group", "nlb/group")
    (rule,) = (rule for rule in rules(document, "ingress").values() if rule["security_group_id"] == group)
    assert (rule["cidr_ipv4"], rule["ip_protocol"], rule["from_port"], rule["to_port"]) == (
        "0.0.0.0/0",
        "tcp",
        443,
        443,
    )


def test_a_private_load_balancer_takes_its_clients_only() -> None:
    """One rule a range."""
    document = balancer(public=False, clients=("10.0.0.0/16", "198.51.100.0/24"))
    ranges = [rule["cidr_ipv4"] for rule in rules(document, "ingress").values() if "cidr_ipv4" in rule]
    assert sorted(ranges) == ["10.0.0.0/16", "198.51.100.0/24"]


def test_the_load_balancer_reaches_its_targets_only_and_they_let_it_in() -> None:
    """Target port and health check port, by reference to the groups."""
    document = balancer(health_check_port=8080)
    group = reference(document, "aws_security_group", "nlb/group")
    out = [(r["referenced_security_group_id"], r["from_port"]) for r in rules(document, "egress").values()]
    back = [
        (r["referenced_security_group_id"], r["from_port"])
        for r in rules(document, "ingress").values()
        if r["security_group_id"] == CLUSTER
    ]
    assert sorted(out) == [(CLUSTER, 8080), (CLUSTER, 8443)]
    assert sorted(back) == [(group, 8080), (group, 8443)]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"public": False}, "nobody may come in"),
        ({"clients": ("10.0.0.0/16",)}, "lets everyone in"),
        ({"public": False, "clients": ("0.0.0.0/0",)}, "say public"),
        ({"public": False, "clients": ("0.0.0.0/1", "128.0.0.0/1")}, "say public"),
        ({"targets": {}}, "targets"),
        ({"target_port": 0}, "target_port"),
    ],
)
def test_nobody_opens_the_internet_by_accident(changes: dict[str, Any], says: str) -> None:
    """Only the word public does."""
    with pytest.raises(ValidationError, match=says):
        balancer_spec(**changes)


@pytest.mark.parametrize("document", [inference, balancer], ids=["inference", "load balancer"])
def test_rules_stand_alone_and_say_why(document: Any) -> None:
    """No rules inside groups; each with a description in the letters that EC2 takes."""
    written = document()
    for group in resources(written, "aws_security_group").values():
        assert not {"ingress", "egress"} & set(group)
    allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789. _-:/()#,@[]+=&;{}!$*")
    for rule in all_rules(written):
        assert rule["description"] and set(rule["description"]) <= allowed
        peers = {"cidr_ipv4", "prefix_list_id", "referenced_security_group_id"} & set(rule)
        assert len(peers) == 1


def test_a_new_range_moves_no_other_rule() -> None:
    """Ids come from what a rule is about, so storage added in front keeps the rest where it is."""
    before = set(rules(inference(), "egress"))
    after = set(rules(inference(storage=("10.32.0.0/16", STORAGE)), "egress"))
    kept = {path for path in before if "https" not in path}
    assert kept <= after


NETWORKS = st.builds(
    lambda length, bits: str(ipaddress.IPv4Network((bits >> (32 - length) << (32 - length), length))),
    st.integers(4, 32),
    st.integers(0, 2**32 - 1),
)


@given(st.lists(NETWORKS, max_size=4), st.integers(0, 2**32 - 1))
def test_cutting_ranges_out_leaves_exactly_the_rest(holes: list[str], bits: int) -> None:
    """Every address is in the result or in a hole, and never in both."""
    address = f"{ipaddress.IPv4Address(bits)}/32"
    left = without(("0.0.0.0/0",), holes)
    assert any(contains(part, address) for part in left) != any(contains(hole, address) for hole in holes)
    parts = [ipaddress.IPv4Network(part) for part in left]
    assert not any(overlaps(str(one), str(other)) for one, other in itertools.pairwise(parts))
