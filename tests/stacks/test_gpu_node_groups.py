"""Every GPU node group of every environment is what the plan says, read off the Terraform that is applied."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from synthesized import ALL, Document, at, every, fleet, reference, stacks

from inferfab.plan.fleet import CellPlan
from inferfab.plan.placement import NodeGroupPlan

TAG = "k8s.io/cluster-autoscaler/node-template"
EKS_EFFECT = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}
Case = tuple[CellPlan, NodeGroupPlan, str, Document]


def cases() -> Iterator[Any]:
    """Cell, node group, name of its stack, the stack."""
    for name in ALL:
        for cell in fleet(name).cells:
            for group in cell.node_groups:
                stack = f"{fleet(name).ownership.name}-{cell.name}-foundation"
                yield pytest.param((cell, group, stack, stacks(name)[stack]), id=f"{stack}-{group.name}")


CASES = list(cases())
each = pytest.mark.parametrize("case", CASES)


def group_of(case: Case) -> Any:
    _, group, stack, document = case
    return at(document, "aws_eks_node_group", f"{stack}/{group.name}/group")


def template_of(case: Case) -> Any:
    _, group, stack, document = case
    return at(document, "aws_launch_template", f"{stack}/{group.name}/template/template")


def test_there_are_groups_of_every_kind() -> None:
    """What follows is about something: all four ways to buy capacity, with EFA and without."""
    groups = [case.values[0][1] for case in CASES]
    assert len(groups) == 22
    assert {group.capacity.kind for group in groups} == {"on_demand", "spot", "reservation", "capacity_block"}
    assert {len(group.layout) > 1 for group in groups} == {True, False}


@pytest.mark.parametrize("name", ALL)
def test_terraform_has_the_groups_of_the_plan_and_the_system_nodes(name: str) -> None:
    """No group more, none less."""
    for cell in fleet(name).cells:
        document = stacks(name)[f"{fleet(name).ownership.name}-{cell.name}-foundation"]
        names = sorted(body["node_group_name"] for _, body in every({"": document}, "aws_eks_node_group"))
        system = f"{fleet(name).ownership.name}-system" if cell.cluster_exists else "system"
        assert names == sorted([system, *(group.name for group in cell.node_groups)])


@each
def test_the_template_lists_the_planned_interfaces(case: Case) -> None:
    """Card, device and kind of each, the primary one first; efa-only ones have no address; none has a public one."""
    group, interfaces = case[1], template_of(case)["network_interfaces"]
    assert [(i["network_card_index"], i["device_index"], i["interface_type"]) for i in interfaces] == [
        (nic.card, nic.device, nic.type) for nic in group.layout
    ]
    assert interfaces[0]["interface_type"] == "interface"
    for interface in interfaces:
        plain = interface["interface_type"] == "interface"
        assert interface.get("associate_public_ip_address") == ("false" if plain else None)
        assert interface["delete_on_termination"] == "true"
        assert "subnet_id" not in interface, "EKS refuses a template with a subnet"


@each
def test_only_the_inference_group_is_on_the_interfaces(case: Case) -> None:
    """The cluster's own group lets everything out, storage and training too."""
    _, _, stack, document = case
    inference = at(document, "aws_security_group", f"{stack}/inference/group")
    for interface in template_of(case)["network_interfaces"]:
        assert interface["security_groups"] == [reference("aws_security_group", inference, "id")]
    assert "vpc_security_group_ids" not in template_of(case)


@each
def test_capacity_is_bought_as_planned(case: Case) -> None:
    """Market type, reservation and what the node group calls it."""
    capacity, group, template = case[1].capacity, group_of(case), template_of(case)
    market = template.get("instance_market_options")
    reserved = template.get("capacity_reservation_specification", {})
    if capacity.kind == "capacity_block":
        assert group["capacity_type"] == "CAPACITY_BLOCK"
        assert market == {"market_type": "capacity-block"}
        assert reserved == {"capacity_reservation_target": {"capacity_reservation_id": capacity.id}}
    elif capacity.kind == "reservation":
        assert group["capacity_type"] == "ON_DEMAND"
        assert market is None
        assert reserved["capacity_reservation_target"] == {"capacity_reservation_id": capacity.id}
        assert reserved["capacity_reservation_preference"] == "capacity-reservations-only", "no silent on demand"
    else:
        assert group["capacity_type"] == {"spot": "SPOT", "on_demand": "ON_DEMAND"}[capacity.kind]
        assert market is None and reserved == {}


@each
def test_fixed_capacity_is_updated_without_a_surge(case: Case) -> None:
    """A reservation has no machine to surge into: MINIMAL. A group's name is fixed: no second one beside it."""
    group, fixed = group_of(case), case[1].capacity.kind in {"reservation", "capacity_block"}
    assert group["update_config"] == {"max_unavailable": 1, "update_strategy": "MINIMAL" if fixed else "DEFAULT"}
    assert "create_before_destroy" not in group["lifecycle"]


@each
def test_an_upgrade_of_our_cluster_reaches_its_nodes(case: Case) -> None:
    """EKS leaves node groups where they are; somebody else's cluster is upgraded by them."""
    cell, group = case[0], group_of(case)
    assert group.get("version") == (None if cell.cluster_exists else cell.kubernetes)
    system = at(case[3], "aws_eks_node_group", f"{case[2]}/system/group")
    assert system.get("version") == group.get("version")


@each
def test_the_size_between_the_bounds_is_the_autoscalers(case: Case) -> None:
    """Bounds from the plan; a block begins empty; a later apply leaves the desired size alone."""
    planned, group = case[1], group_of(case)
    block = planned.capacity.kind == "capacity_block"
    assert group["scaling_config"] == {
        "min_size": 0 if block else planned.nodes.min,
        "desired_size": 0 if block else planned.nodes.desired,
        "max_size": planned.nodes.max,
    }
    assert "scaling_config[0].desired_size" in group["lifecycle"]["ignore_changes"]
    assert group["node_repair_config"] == {"enabled": True}


@each
def test_labels_and_taints_are_the_plans(case: Case) -> None:
    """Pods select these labels and tolerate these taints."""
    planned, group = case[1], group_of(case)
    assert group["labels"] == planned.labels
    assert {(t["key"], t["value"], t["effect"]) for t in group["taint"]} == {
        (key, *(text.rsplit(":", 1)[0], EKS_EFFECT[text.rsplit(":", 1)[1]])) for key, text in planned.taints.items()
    }


@each
def test_the_autoscaler_knows_what_an_empty_group_would_offer(case: Case) -> None:
    """Tags on the Auto Scaling group for labels, taints, GPUs, EFA and huge pages: scale from zero."""
    cell, planned, stack, document = case
    group = group_of(case)
    group_name = (
        f"${{aws_eks_node_group.{group['//']['metadata']['uniqueId']}.resources[0].autoscaling_groups[0].name}}"
    )
    tags = {
        body["tag"]["key"].removeprefix(f"{TAG}/"): body["tag"]["value"]
        for path, body in every({"": document}, "aws_autoscaling_group_tag")
        if path.startswith(f"{stack}/{planned.name}/") and body["autoscaling_group_name"] == group_name
    }
    expected = {f"label/{key}": value for key, value in planned.labels.items()}
    expected[f"inferfab-autoscaler/{stack.removesuffix('-foundation')}"] = "owned"
    expected |= {f"taint/{key}": text for key, text in planned.taints.items()}
    expected["resources/nvidia.com/gpu"] = str(planned.gpus_per_node)
    efa = sum(nic.type == "efa-only" for nic in planned.layout)
    if efa:
        assert cell.fabric.plugin == "device-plugin"
        expected["resources/vpc.amazonaws.com/efa"] = str(efa)
    if planned.hugepages_2mi_mib:
        expected["resources/hugepages-2Mi"] = f"{planned.hugepages_2mi_mib}Mi"
    storage = tags.pop("resources/ephemeral-storage")
    assert tags == expected
    if planned.local_nvme_gb:
        whole_gib = planned.local_nvme_gb * 10**9 / 2**30
        assert whole_gib * 0.7 < int(storage.removesuffix("Gi")) < whole_gib * 0.9
    every_tag = [b for p, b in every({"": document}, "aws_autoscaling_group_tag") if f"/{planned.name}/" in p]
    assert all(body["tag"]["propagate_at_launch"] is False for body in every_tag)


@each
def test_machine_and_image_are_the_plans(case: Case) -> None:
    """Type, architecture, disks and huge pages, in the planned subnet."""
    cell, planned, stack, document = case
    group, template = group_of(case), template_of(case)
    assert template["instance_type"] == planned.instance
    assert group["ami_type"] == {"amd64": "AL2023_x86_64_NVIDIA", "arm64": "AL2023_ARM_64_NVIDIA"}[planned.arch]
    assert group["cluster_name"] in {cell.cluster, f"${{aws_eks_cluster.{cluster_id(document)}.name}}"}
    user_data = base64.b64decode(template.get("user_data", "")).decode()
    assert ("strategy: RAID0" in user_data) == (planned.local_nvme_gb > 0)
    assert (f"--max-pods={planned.max_pods}" in user_data) == (planned.max_pods is not None)
    pages = planned.hugepages_2mi_mib // 2
    assert (str(pages) in user_data) if pages else ("hugepages" not in user_data)
    if cell.network.existing is not None:
        assert group["subnet_ids"] == [cell.network.existing.inference_subnet_id]
    else:
        subnet = at(document, "aws_subnet", f"{stack}/network/inference/subnet")
        assert group["subnet_ids"] == [reference("aws_subnet", subnet, "id")]
        assert subnet["availability_zone"] == planned.zone


def cluster_id(document: Document) -> str:
    """Logical id of the stack's own cluster; empty where it has none."""
    return next(iter(document["resource"].get("aws_eks_cluster", {})), "")


@pytest.mark.parametrize("name", ALL)
def test_every_launch_template_is_closed(name: str) -> None:
    """System nodes too: IMDSv2 one hop away, and disks under the cell's own key."""
    templates = dict(every(stacks(name), "aws_launch_template"))
    assert templates
    for path, template in templates.items():
        stack = path.split("/")[0]
        key = at(stacks(name)[stack], "aws_kms_key", f"{stack}/key/key")
        options = template["metadata_options"]
        assert options["http_tokens"] == "required" and options["http_put_response_hop_limit"] == 1
        assert options["http_endpoint"] == "enabled"
        disks = [mapping["ebs"] for mapping in template["block_device_mappings"]]
        assert disks
        for disk in disks:
            assert disk["encrypted"] == "true"
            assert disk["kms_key_id"] == reference("aws_kms_key", key, "arn")


@pytest.mark.parametrize("name", ALL)
def test_what_nodes_launch_carries_the_owners_tags(name: str) -> None:
    """The provider's default_tags reach the template, and not the instances, disks and interfaces that it launches."""
    own = fleet(name).ownership
    for path, template in every(stacks(name), "aws_launch_template"):
        specifications = {s["resource_type"]: s["tags"] for s in template["tag_specifications"]}
        assert specifications.keys() == {"instance", "volume", "network-interface"}, path
        for tags in specifications.values():
            assert own.tags.items() <= tags.items()
            assert tags["inferfab-environment"] == own.name and tags["inferfab-owner"] == own.owner


def test_a_shared_pool_is_cut_by_the_layout_that_its_label_names() -> None:
    """The operator has one layout for each cut node group; its nodes name it, and no other node does."""
    (cell,) = fleet("staging").cells
    operator = at(
        stacks("staging")["staging-use2-b-platform"],
        "helm_release",
        "staging-use2-b-platform/platform/gpu-operator/release",
    )
    (text,) = operator["values"]
    values = yaml.safe_load(text)
    assert values["mig"] == {"strategy": "mixed"} and values["migManager"]["enabled"] is True
    layouts = yaml.safe_load(values["migManager"]["config"]["data"]["config.yaml"])["mig-configs"]
    assert layouts["small-models"] == [{"devices": [0], "mig-enabled": True, "mig-devices": {"1g.20gb": 4}}]
    assert set(layouts) == {"all-disabled", "small-models"}
    named = {
        body["node_group_name"]: body["labels"].get("nvidia.com/mig.config")
        for _, body in every(stacks("staging"), "aws_eks_node_group")
    }
    assert named.pop("small-models") == "small-models"
    assert set(named.values()) == {None}
    # What pods ask for is what the layout makes.
    (shared,) = (pool.shared for pool in cell.pools if pool.shared)
    assert {one.resource for one in shared.instances} == {"nvidia.com/mig-1g.20gb"}
