"""GPU and system node groups. Layouts and limits by hand from AWS's EFA, Auto Scaling and EKS guides."""

import base64
import email
import math
import subprocess
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from inferfab.aws.autoscaler_tags import AutoscalerTagsSpec
from inferfab.aws.capacity import CapacityBlock, OnDemand, Reservation, Spot
from inferfab.aws.gpu_node_group import GpuNodeGroup, GpuNodeGroupSpec
from inferfab.aws.launch_template import NodeTemplateSpec, RootVolume
from inferfab.aws.node_config import NodeConfigSpec, user_data
from inferfab.aws.node_interfaces import Interface
from inferfab.aws.node_labels import Taint
from inferfab.catalog.instances import EfaNics, instances

from .samples_eks import BLOCK, GROUPS, KEY, RESERVED, SUBNET, gpu_group, layout_of, whole_cell
from .synth_eks import Document, address, only, resources, stack_json


def document_of(spec: GpuNodeGroupSpec) -> Document:
    return stack_json(lambda stack: GpuNodeGroup(stack, "gpu", spec))


def template_of(spec: GpuNodeGroupSpec) -> dict[str, Any]:
    return only(document_of(spec), "aws_launch_template")


def group_of(spec: GpuNodeGroupSpec) -> dict[str, Any]:
    return only(document_of(spec), "aws_eks_node_group")


def parts_of(encoded: str) -> dict[str, str]:
    """Content of each part of a MIME document by its type, as cloud-init and nodeadm read it."""
    message = email.message_from_bytes(base64.b64decode(encoded))
    assert message.is_multipart()
    return {part.get_content_type(): str(part.get_payload()) for part in message.get_payload()}  # type: ignore[union-attr]


def autoscaler_tags(document: Document) -> dict[str, str]:
    return {
        body["tag"]["key"].removeprefix("k8s.io/cluster-autoscaler/node-template/"): body["tag"]["value"]
        for body in resources(document, "aws_autoscaling_group_tag").values()
    }


@pytest.mark.parametrize(
    ("machine", "interfaces", "efa", "cards", "efa_on_card_0"),
    [
        ("p5en.48xlarge", 17, 16, 16, True),
        ("p5.48xlarge", 33, 32, 32, True),
        ("p6-b300.48xlarge", 17, 16, 17, False),
        ("g6e.xlarge", 1, 0, 1, False),
    ],
)
def test_the_template_has_the_machines_layout(
    machine: str, interfaces: int, efa: int, cards: int, *, efa_on_card_0: bool
) -> None:
    """One plain interface on card 0 device 0; an EFA on every card that can, which p6-b300's card 0 cannot."""
    document = document_of(gpu_group(machine))
    blocks = only(document, "aws_launch_template")["network_interfaces"]
    assert len(blocks) == interfaces
    assert len({b["network_card_index"] for b in blocks}) == cards
    assert [b["interface_type"] for b in blocks].count("efa-only") == efa
    assert blocks[0]["network_card_index"] == blocks[0]["device_index"] == 0
    assert blocks[0]["interface_type"] == "interface"
    on_card_0 = [
        b["device_index"] for b in blocks if b["network_card_index"] == 0 and b["interface_type"] != "interface"
    ]
    assert on_card_0 == ([1] if efa_on_card_0 else [])
    assert autoscaler_tags(document).get("resources/vpc.amazonaws.com/efa") == (str(efa) if efa else None)


def test_every_interface_has_all_groups_and_none_a_public_address() -> None:
    """EKS adds no group to a template that has some; EFA needs its rule on the EFA interfaces themselves."""
    template = template_of(gpu_group("p5en.48xlarge"))
    for block in template["network_interfaces"]:
        assert block["security_groups"] == list(GROUPS)
        assert block["delete_on_termination"] == "true"
        assert "subnet_id" not in block
        if block["interface_type"] == "interface":
            assert block["associate_public_ip_address"] == "false"
            assert block["connection_tracking_specification"] == {"tcp_established_timeout": 432000}
        else:
            assert "associate_public_ip_address" not in block
            assert "connection_tracking_specification" not in block
    assert "vpc_security_group_ids" not in template


def test_the_template_has_nothing_that_eks_refuses() -> None:
    """EKS guide, launch-templates: no subnet, instance profile, shutdown or hibernation; no image, or no merge."""
    template = template_of(gpu_group("p5en.48xlarge", capacity=RESERVED))
    for refused in (
        "iam_instance_profile", "instance_initiated_shutdown_behavior", "hibernation_options", "image_id", "key_name",
    ):  # fmt: skip
        assert refused not in template


def test_the_machine_type_stands_in_one_place() -> None:
    """In the template; with both EKS refuses, with none it takes t3.medium."""
    document = document_of(gpu_group("p5en.48xlarge"))
    assert only(document, "aws_launch_template")["instance_type"] == "p5en.48xlarge"
    assert "instance_types" not in only(document, "aws_eks_node_group")
    assert "disk_size" not in only(document, "aws_eks_node_group")


def test_metadata_wants_a_token_and_is_out_of_reach_of_pods() -> None:
    """IMDSv2, one hop, and no tags in it: EKS's tag keys hold slashes."""
    assert template_of(gpu_group("g6e.xlarge"))["metadata_options"] == {
        "http_endpoint": "enabled",
        "http_tokens": "required",
        "http_put_response_hop_limit": 1,
        "instance_metadata_tags": "disabled",
    }


def test_the_root_disk_is_encrypted_gp3() -> None:
    """With our key, deleted with the node, on the device that Amazon Linux 2023 boots from."""
    (disk,) = template_of(gpu_group("g6e.xlarge"))["block_device_mappings"]
    assert disk["device_name"] == "/dev/xvda"
    assert disk["ebs"] == {
        "volume_type": "gp3", "volume_size": 200, "iops": 3000, "throughput": 500,
        "encrypted": "true", "delete_on_termination": "true", "kms_key_id": KEY,
    }  # fmt: skip


def test_what_is_launched_carries_the_tags() -> None:
    """default_tags stop at the template."""
    template = template_of(gpu_group("g6e.xlarge", tags={"cost-center": "inference"}))
    assert {t["resource_type"] for t in template["tag_specifications"]} == {"instance", "volume", "network-interface"}
    for specification in template["tag_specifications"]:
        assert specification["tags"] == {"cost-center": "inference", "Name": "prod-use1-a-chat-prefill"}


@pytest.mark.parametrize(
    ("capacity", "in_template", "market", "in_group", "strategy"),
    [
        (OnDemand(), None, None, "ON_DEMAND", "DEFAULT"),
        (Spot(), None, None, "SPOT", "DEFAULT"),
        (
            RESERVED,
            {
                "capacity_reservation_preference": "capacity-reservations-only",
                "capacity_reservation_target": {"capacity_reservation_id": "cr-0a1b2c3d4e5f60001"},
            },
            None,
            "ON_DEMAND",
            "MINIMAL",
        ),
        (
            BLOCK,
            {"capacity_reservation_target": {"capacity_reservation_id": "cr-0a1b2c3d4e5f60002"}},
            {"market_type": "capacity-block"},
            "CAPACITY_BLOCK",
            "MINIMAL",
        ),
    ],
)
def test_market_reservation_and_update_go_together(
    capacity: Any, in_template: Any, market: Any, in_group: str, strategy: str
) -> None:
    """Template and group say the same; what has exactly so many machines is updated without surge."""
    document = document_of(gpu_group("p5en.48xlarge", capacity=capacity))
    template, group = only(document, "aws_launch_template"), only(document, "aws_eks_node_group")
    assert template.get("capacity_reservation_specification") == in_template
    assert template.get("instance_market_options") == market
    assert group["capacity_type"] == in_group
    assert group["update_config"] == {"max_unavailable": 1, "update_strategy": strategy}
    assert "create_before_destroy" not in group["lifecycle"], "its name is fixed: a second one could not be made"


def test_a_group_of_reservations_can_be_the_target() -> None:
    """By ARN, and never together with an id."""
    arn = "arn:aws:resource-groups:us-east-1:111122223333:group/chat"
    template = template_of(gpu_group("p5en.48xlarge", capacity=Reservation(resource_group_arn=arn)))
    target = template["capacity_reservation_specification"]["capacity_reservation_target"]
    assert target == {"capacity_reservation_resource_group_arn": arn}
    for values in ({}, {"id": "cr-0a1b2c3d4e5f60001", "resource_group_arn": arn}):
        with pytest.raises(ValidationError, match="exactly one"):
            Reservation(**values)


def test_a_placement_group_is_there_only_when_stated() -> None:
    """An implied one makes a reservation's capacity unreachable (terraform-aws-eks pull request 3730)."""
    assert "placement" not in template_of(gpu_group("p5en.48xlarge", capacity=RESERVED))
    stated = template_of(gpu_group("p5en.48xlarge", capacity=RESERVED, placement_group="chat"))
    assert stated["placement"] == {"group_name": "chat"}


def test_a_capacity_block_starts_empty_and_notes_its_end() -> None:
    """Outside the block EC2 starts nothing, and the group would never be made."""
    with pytest.raises(ValidationError, match="starts with 0 nodes"):
        gpu_group("p5en.48xlarge", capacity=BLOCK, desired_nodes=1)
    assert group_of(gpu_group("p5en.48xlarge", capacity=BLOCK))["tags"] == {
        "Name": "chat-prefill",
        "inferfab/capacity-ends-at": "2027-01-31T11:30:00Z",
    }


def test_the_group_runs_nvidia_images_in_one_subnet_and_repairs_itself() -> None:
    """EFA stays in one zone; the image holds driver and EFA."""
    group = group_of(gpu_group("p5en.48xlarge", kubernetes_version="1.36", release_version="1.36.1-20261014"))
    assert group["ami_type"] == "AL2023_x86_64_NVIDIA"
    assert group["subnet_ids"] == [SUBNET]
    assert group["node_repair_config"] == {"enabled": True}
    assert (group["version"], group["release_version"]) == ("1.36", "1.36.1-20261014")
    assert group["lifecycle"]["ignore_changes"] == ["scaling_config[0].desired_size"]


def test_an_arm_machine_gets_the_arm_image() -> None:
    """Grace machines."""
    assert group_of(gpu_group("g6e.xlarge", architecture="arm64"))["ami_type"] == "AL2023_ARM_64_NVIDIA"


def test_an_unpinned_image_does_not_roll_nodes() -> None:
    """containers-roadmap 2647: a floating release rolls every GPU node when AWS publishes an image."""
    group = group_of(gpu_group("p5en.48xlarge"))
    assert "release_version" not in group
    assert group["lifecycle"]["ignore_changes"] == ["scaling_config[0].desired_size", "release_version"]


def test_a_template_change_rolls_in_the_apply_that_makes_it() -> None:
    """By number, never $Latest."""
    document = document_of(gpu_group("g6e.xlarge"))
    name = address(document, "aws_launch_template", "gpu/template/template")
    assert only(document, "aws_eks_node_group")["launch_template"] == {
        "id": "${" + name + ".id}",
        "version": "${" + name + ".latest_version}",
    }


def test_taints_are_spelled_for_eks_and_for_the_autoscaler() -> None:
    """NO_SCHEDULE in one, true:NoSchedule in the other."""
    taints = (Taint(key="nvidia.com/gpu", value="true"), Taint(key="a", effect="NoExecute"))
    document = document_of(gpu_group("g6e.xlarge", taints=taints))
    assert only(document, "aws_eks_node_group")["taint"] == [
        {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"},
        {"key": "a", "value": "", "effect": "NO_EXECUTE"},
    ]
    tags = autoscaler_tags(document)
    assert tags["taint/nvidia.com/gpu"] == "true:NoSchedule"
    assert tags["taint/a"] == ":NoExecute"


def test_the_autoscaler_knows_a_node_that_is_not_there_yet() -> None:
    """GPU, EFA, huge pages, disk, labels and taints, on the group that EKS made."""
    document = document_of(gpu_group("p5en.48xlarge", hugepages_2mi_mib=10240))
    # 30,400 GB of NVMe are 28,312 GiB; 85 % of it.
    assert autoscaler_tags(document) == {
        "label/inferfab/pool": "chat",
        "label/inferfab/role": "prefill",
        "taint/nvidia.com/gpu": "true:NoSchedule",
        "taint/inferfab/pool": "chat:NoSchedule",
        "resources/nvidia.com/gpu": "8",
        "resources/vpc.amazonaws.com/efa": "16",
        "resources/hugepages-2Mi": "10240Mi",
        "resources/ephemeral-storage": "24065Gi",
    }
    group = address(document, "aws_eks_node_group", "gpu/group")
    for tag in resources(document, "aws_autoscaling_group_tag").values():
        assert tag["autoscaling_group_name"] == "${" + group + ".resources[0].autoscaling_groups[0].name}"
        assert tag["tag"]["propagate_at_launch"] is False


def test_with_dranet_no_efa_resource_is_promised() -> None:
    """It hands out devices by claim; the autoscaler would wait for a resource that never comes."""
    document = document_of(gpu_group("p5en.48xlarge", efa_device_plugin=False))
    assert "resources/vpc.amazonaws.com/efa" not in autoscaler_tags(document)


def test_tags_keep_their_addresses_when_one_goes() -> None:
    """Addresses come from names, not from places in a list."""
    more = set(resources(document_of(gpu_group("g6e.xlarge")), "aws_autoscaling_group_tag"))
    fewer = set(
        resources(
            document_of(gpu_group("g6e.xlarge", labels={"inferfab/role": "prefill"})), "aws_autoscaling_group_tag"
        )
    )
    assert fewer < more
    assert more - fewer == {"gpu/autoscaler/label-inferfab-pool"}


def test_nodes_join_their_disks_and_set_huge_pages_aside_before_the_kubelet() -> None:
    """nodeadm reads its part, cloud-init runs the script; both come before the kubelet."""
    template = template_of(gpu_group("p5en.48xlarge", max_pods=110, hugepages_2mi_mib=10240))
    parts = parts_of(template["user_data"])
    assert set(parts) == {"text/x-shellscript", "application/node.eks.aws"}
    assert yaml.safe_load(parts["application/node.eks.aws"]) == {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "instance": {"localStorage": {"strategy": "RAID0"}},
            "kubelet": {"flags": ["--max-pods=110"]},
        },
    }
    script = parts["text/x-shellscript"]
    assert script.startswith("#!/bin/bash\n")
    assert "pages=5120\n" in script
    assert "/etc/sysctl.d/" in script
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    # Labels and taints are the node group's, and starting the kubelet is EKS's.
    assert "node-labels" not in script and "systemctl" not in script


@given(
    raid0=st.booleans(),
    max_pods=st.none() | st.integers(1, 250),
    pages=st.integers(0, 50_000),
)
def test_user_data_says_exactly_what_was_asked(*, raid0: bool, max_pods: int | None, pages: int) -> None:
    """Nothing asked, nothing there; otherwise a part for each, in ASCII and under EC2's 16 KB."""
    encoded = user_data(NodeConfigSpec(raid0=raid0, max_pods=max_pods, hugepages_2mi_mib=pages * 2))
    if not raid0 and max_pods is None and not pages:
        assert encoded is None
        return
    assert encoded is not None
    raw = base64.b64decode(encoded)
    assert raw.isascii() and len(raw) < 16 * 1024
    parts = parts_of(encoded)
    assert ("text/x-shellscript" in parts) is bool(pages)
    assert ("application/node.eks.aws" in parts) is (raid0 or max_pods is not None)


def test_a_node_without_local_disks_offers_its_root_disk() -> None:
    """And gets no RAID."""
    document = document_of(gpu_group("g6e.xlarge", local_nvme_gb=0))
    assert "user_data" not in only(document, "aws_launch_template")
    assert autoscaler_tags(document)["resources/ephemeral-storage"] == f"{math.floor(200 * 0.85)}Gi"


def test_a_second_generation_stands_beside_the_first() -> None:
    """Template, group and Name get the suffix, so both can exist."""
    document = document_of(gpu_group("p5en.48xlarge", generation="-g2"))
    assert only(document, "aws_eks_node_group")["node_group_name"] == "chat-prefill-g2"
    assert only(document, "aws_launch_template")["name"] == "prod-use1-a-chat-prefill-g2"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"interfaces": ()}, "first interface"),
        ({"interfaces": (Interface(card=0, device=0, type="efa-only"),)}, "first interface"),
        ({"interfaces": (Interface(card=1, device=0),)}, "first interface"),
        ({"interfaces": (Interface(card=0, device=0), Interface(card=0, device=0))}, "two interfaces on card 0"),
        (
            {
                "interfaces": (
                    Interface(card=0, device=0),
                    Interface(card=1, device=0, type="efa-only"),
                    Interface(card=1, device=1, type="efa-only"),
                )
            },
            "two efa-only interfaces on card 1",
        ),
        ({"min_nodes": 3}, "does not hold"),
        ({"desired_nodes": 5}, "does not hold"),
        ({"max_nodes": 0}, "max_nodes"),
        ({"hugepages_2mi_mib": -2}, "hugepages"),
        ({"hugepages_2mi_mib": 5}, "whole number of 2 MiB pages"),
        ({"security_group_ids": ()}, "security_group_ids"),
        ({"labels": {"node.kubernetes.io/x": "y"}}, "belongs to Kubernetes or EKS"),
        ({"labels": {"eks.amazonaws.com/nodegroup": "y"}}, "belongs to Kubernetes or EKS"),
        ({"labels": {"a": ""}}, "not a label value"),
        ({"labels": {"a b": "c"}}, "not a label key"),
        ({"taints": ({"key": "a", "value": "true:NoSchedule"},)}, "taints"),
        ({"taints": ({"key": "a", "effect": "NO_SCHEDULE"},)}, "taints"),
        ({"kubernetes_version": "1.36", "release_version": "1.35.4-20261014"}, "not one of Kubernetes 1.36"),
        ({"name": "x" * 62, "generation": "-g2"}, "63 fit"),
        ({"generation": "-blue"}, "generation"),
        ({"template_name": "x" * 129}, "longer than 128"),
        ({"capacity": {"kind": "capacity_block", "id": "chat"}}, "capacity"),
        ({"capacity": {"kind": "spot", "id": "cr-0a1b2c3d4e5f60001"}}, "capacity"),
        ({"tcp_idle_seconds": 30}, "tcp_idle_seconds"),
        ({"max_unavailable": 101}, "max_unavailable"),
        ({"root_volume": {"throughput_mib_s": 1000}}, "needs 4000"),
    ],
)
def test_a_wrong_group_is_refused_in_python(changes: dict[str, Any], message: str) -> None:
    """Each of these AWS would take, and then start no node, or refuse after half an hour."""
    with pytest.raises(ValidationError, match=message):
        gpu_group("p5en.48xlarge", **changes)


def machines_with_a_layout() -> list[str]:
    """AWS publishes none for some machines."""
    nics = {name: machine.nics for name, machine in instances("aws").items()}
    return sorted(name for name, found in nics.items() if isinstance(found, EfaNics) and found.layout is not None)


@pytest.mark.parametrize("machine", machines_with_a_layout())
def test_every_catalog_layout_is_sound(machine: str) -> None:
    """What the plan takes from the catalog, the construct takes too."""
    assert gpu_group(machine).interfaces == layout_of(machine)


def test_long_label_keys_are_refused_for_their_tags() -> None:
    """A tag's key has 128 characters at most, and the autoscaler's prefix takes 46 of them."""
    with pytest.raises(ValidationError, match="128 fit"):
        AutoscalerTagsSpec(autoscaling_group_name="a", labels={f"{'x' * 60}.example.com/{'y' * 40}": "z"})


def test_listed_interfaces_need_groups() -> None:
    """EKS adds none to them."""
    with pytest.raises(ValidationError, match="could not join"):
        NodeTemplateSpec(name="abc", instance_type="m7i.large", interfaces=(Interface(card=0, device=0),))


def test_gp3_throughput_needs_iops() -> None:
    """A quarter of a MiB/s an IOPS."""
    assert RootVolume(throughput_mib_s=1000, iops=4000).iops == 4000
    with pytest.raises(ValidationError, match="gp3"):
        RootVolume(throughput_mib_s=1000, iops=3999)


def test_the_system_group_has_no_gpus_and_takes_the_clusters_group() -> None:
    """Standard image, no taint, and security groups left to EKS, which adds the cluster's own."""
    document = stack_json(whole_cell)
    group = resources(document, "aws_eks_node_group")["system/group"]
    template = resources(document, "aws_launch_template")["system/template/template"]
    assert group["ami_type"] == "AL2023_x86_64_STANDARD"
    assert "taint" not in group
    assert group["scaling_config"] == {"min_size": 2, "desired_size": 3, "max_size": 6}
    assert "network_interfaces" not in template and "vpc_security_group_ids" not in template
    assert template["metadata_options"]["http_tokens"] == "required"
    assert template["block_device_mappings"][0]["ebs"]["encrypted"] == "true"
    assert template["monitoring"] == {"enabled": True}


def test_a_block_is_named_by_its_reservation() -> None:
    """`cr-…`, the id that the purchase made."""
    with pytest.raises(ValidationError, match="id"):
        CapacityBlock(id="cb-1234")
