"""A cell on owned racks as Terraform. Expectations: EKS user guide (hybrid nodes), ELB user guide (target groups)."""

import json
from typing import Any

from synthesized import Document, every, reference, stacks

NODES, PODS = "10.80.0.0/24", "10.81.0.0/16"


def foundation() -> dict[str, Document]:
    return {"": stacks("prod-hybrid")["prod-hybrid-dc1-foundation"]}


def rules(direction: str, part: str) -> list[dict[str, Any]]:
    return [b for path, b in every(foundation(), f"aws_vpc_security_group_{direction}_rule") if part in path]


def ways(found: list[dict[str, Any]]) -> set[tuple[str, str, int, int]]:
    return {(r["cidr_ipv4"], r["ip_protocol"], r["from_port"], r["to_port"]) for r in found}


def addon(name: str) -> dict[str, Any]:
    (body,) = (b for _, b in every(foundation(), "aws_eks_addon") if b["addon_name"] == name)
    settings: dict[str, Any] = json.loads(body["configuration_values"])
    return settings


def test_the_load_balancer_reaches_gateways_in_racks() -> None:
    """Gateway and readiness port, to the pods' range and nowhere else: no gateway stands in the cluster's group."""
    out = rules("egress", "load-balancer-group")
    assert ways(out) == {(PODS, "tcp", 8443, 8443), (PODS, "tcp", 19003, 19003)}


def test_clients_addresses_are_kept_within_the_vpc_only() -> None:
    """AWS: client IP preservation needs targets in the VPC or a peered one; with it, others get no traffic."""
    (here,) = (b for _, b in every(foundation(), "aws_lb_target_group"))
    assert here["preserve_client_ip"] == "false"
    # Health checks would carry its header, and Envoy's readiness port speaks HTTP.
    assert "proxy_protocol_v2" not in here
    in_aws = [b for _, b in every(stacks("prod"), "aws_lb_target_group")]
    assert in_aws and all(b["preserve_client_ip"] == "true" for b in in_aws)


def test_racks_come_in_on_named_ports_only() -> None:
    """API, DNS over both protocols, Envoy Gateway's xDS: from servers and from pods (Cilium masquerades)."""
    came = ways([*rules("ingress", "cluster/api-from"), *rules("ingress", "from-racks")])
    assert came == {
        (source, protocol, port, port)
        for source in (NODES, PODS)
        for protocol, port in (("tcp", 443), ("udp", 53), ("tcp", 53), ("tcp", 18000))
    }
    group = {r["security_group_id"] for r in rules("ingress", "from-racks")}
    assert len(group) == 1 and "cluster_security_group_id" in group.pop()


def test_dns_may_stand_on_servers_too() -> None:
    """AWS: a replica or more on hybrid nodes, apart by zone. None is required there: none has joined when EKS waits."""
    dns = addon("coredns")
    assert "nodeSelector" not in dns
    terms = dns["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchExpressions"][0]["key"] for term in terms] == ["inferfab/pool", "eks.amazonaws.com/compute-type"]
    apart = dns["affinity"]["podAntiAffinity"]
    assert set(apart) == {"preferredDuringSchedulingIgnoredDuringExecution"}
    keys = [t["podAffinityTerm"]["topologyKey"] for t in apart["preferredDuringSchedulingIgnoredDuringExecution"]]
    assert keys == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    assert {t["key"] for t in dns["tolerations"]} >= {"nvidia.com/gpu", "inferfab/pool"}
    assert dns["replicaCount"] > 2


def test_pods_on_servers_get_roles() -> None:
    """AWS: the agent's second DaemonSet, and the right of the node's role to fetch what pods take on."""
    assert addon("eks-pod-identity-agent") == {"daemonsets": {"hybrid": {"create": True}}}
    (policy,) = (b for p, b in every(foundation(), "aws_iam_role_policy") if "hybrid-nodes" in p)
    allowed = {s["Action"]: s["Resource"] for s in json.loads(policy["policy"])["Statement"]}
    (cluster,) = (b for _, b in every(foundation(), "aws_eks_cluster"))
    name = reference("aws_eks_cluster", cluster, "name")
    assert allowed["eks-auth:AssumeRoleForPodIdentity"] == f"arn:aws:eks:us-east-1:111122223333:cluster/{name}"


def test_a_cell_in_aws_has_none_of_it() -> None:
    document = {"": stacks("prod")["prod-use1-a-foundation"]}
    names = {
        b["addon_name"]: json.loads(b.get("configuration_values", "{}")) for _, b in every(document, "aws_eks_addon")
    }
    assert names["eks-pod-identity-agent"] == {}
    assert set(names["coredns"]) == {"nodeSelector"}
    assert not [p for p, _ in every(document, "aws_vpc_security_group_ingress_rule") if "from-racks" in p]
