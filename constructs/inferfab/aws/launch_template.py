"""The launch template of a managed node group."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator

from inferfab.aws.capacity import Capacity, OnDemand, market
from inferfab.aws.node_interfaces import LONGEST_TCP_IDLE, Layout, TcpIdleSeconds, network_interfaces
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.aws import ec2

TemplateName = Annotated[str, Field(min_length=3)]


class RootVolume(Record):
    """The root disk: gp3, encrypted, gone with the instance."""

    size_gib: Annotated[int, Field(ge=20, le=16384)] = 200
    """Default: 200 GiB; where nodes have no NVMe, images of engines lie here too."""
    iops: Annotated[int, Field(ge=3000, le=80000)] = 3000
    """Default: 3000, which gp3 includes."""
    throughput_mib_s: Annotated[int, Field(ge=125, le=2000)] = 500
    """Default: 500 MiB/s, four times what gp3 includes: a start is as fast as its image is written."""

    @model_validator(mode="after")
    def _enough_iops(self) -> "RootVolume":
        if self.throughput_mib_s * 4 > self.iops:
            raise ValueError(f"gp3 gives 1 MiB/s for every 4 IOPS: {self.throughput_mib_s} MiB/s needs "
                             f"{self.throughput_mib_s * 4}")  # fmt: skip
        return self


class NodeTemplateSpec(Record):
    """What :class:`NodeTemplate` needs."""

    name: TemplateName
    """Also the Name of instances, disks and interfaces."""
    instance_type: str
    kms_key_arn: str | None = None
    """Key of the root disk. Default: the account's key for EBS."""
    root_volume: RootVolume = RootVolume()
    interfaces: Layout | None = None
    """Default: one, with the groups that EKS gives it."""
    security_group_ids: tuple[str, ...] = ()
    """With ``interfaces`` all groups there are: EKS adds none. Name the cluster's own too."""
    tcp_idle_seconds: TcpIdleSeconds = LONGEST_TCP_IDLE
    """Where ``interfaces`` are listed: how long an idle connection is remembered. Default: five days, on every
    machine; newer ones would forget a stream that pauses for 350 seconds.
    """
    metadata_hop_limit: Annotated[int, Field(ge=1, le=2)] = 1
    """Default: 1, so that only the node and host-network pods reach its metadata, and with it the node's
    credentials. EKS's guide says 2 where containers need them; ours have Pod Identity, and learn region and VPC from
    their configuration.
    """
    capacity: Capacity = OnDemand()
    placement_group: str | None = None
    """Name. Default: none; a group that is not the reservation's own makes its capacity unreachable."""
    user_data: str | None = None
    """Base64. Default: only what EKS puts there."""
    tags: Mapping[str, str] = {}
    """Tags of instances, disks and interfaces: the provider's default_tags reach the template, not what it launches."""

    @model_validator(mode="after")
    def _groups(self) -> "NodeTemplateSpec":
        if self.interfaces is not None and not self.security_group_ids:
            raise ValueError("interfaces without security_group_ids: EKS adds none, and the nodes could not join")
        return self


class NodeTemplate(Construct):
    """A launch template with the machine type in it (its one place), and without what EKS refuses there: subnet,
    instance profile, shutdown behaviour.

    Example::

        NodeTemplate(stack, "template", NodeTemplateSpec(name="prod-use1-a-system", instance_type="m7i.2xlarge"))
    """

    def __init__(self, scope: Construct, construct_id: str, spec: NodeTemplateSpec) -> None:
        super().__init__(scope, construct_id)
        template = ec2.LaunchTemplate(self, "template", **_arguments(spec))
        self.id = template.id
        self.version = template.latest_version
        """Number of the newest version: a change rolls the nodes in the apply that makes it, and no other."""


def _arguments(spec: NodeTemplateSpec) -> ec2.LaunchTemplateArguments:
    tags = {**spec.tags, "Name": spec.name}
    arguments: ec2.LaunchTemplateArguments = {
        "name": spec.name,
        "instance_type": spec.instance_type,
        "update_default_version": True,
        "ebs_optimized": "true",
        "metadata_options": {
            "http_endpoint": "enabled",
            "http_tokens": "required",
            "http_put_response_hop_limit": spec.metadata_hop_limit,
            # EKS tags instances with keys that hold a slash; with tags in the metadata EC2 would refuse them.
            "instance_metadata_tags": "disabled",
        },
        "monitoring": {"enabled": True},
        "block_device_mappings": [{"device_name": "/dev/xvda", "ebs": _root_disk(spec)}],
        "tag_specifications": [
            {"resource_type": kind, "tags": tags} for kind in ("instance", "volume", "network-interface")
        ],
        "tags": {"Name": spec.name},
    }
    arguments.update(market(spec.capacity))
    # Groups stand on the interfaces or at the top, never both.
    if spec.interfaces is not None:
        arguments["network_interfaces"] = network_interfaces(
            spec.interfaces, spec.security_group_ids, spec.tcp_idle_seconds
        )
    elif spec.security_group_ids:
        arguments["vpc_security_group_ids"] = list(spec.security_group_ids)
    if spec.placement_group is not None:
        arguments["placement"] = {"group_name": spec.placement_group}
    if spec.user_data is not None:
        arguments["user_data"] = spec.user_data
    return arguments


def _root_disk(spec: NodeTemplateSpec) -> ec2.LaunchTemplateBlockDeviceMappingsEbs:
    disk: ec2.LaunchTemplateBlockDeviceMappingsEbs = {
        "volume_type": "gp3",
        "volume_size": spec.root_volume.size_gib,
        "iops": spec.root_volume.iops,
        "throughput": spec.root_volume.throughput_mib_s,
        "encrypted": "true",
        "delete_on_termination": "true",
    }
    if spec.kms_key_arn is not None:
        disk["kms_key_id"] = spec.kms_key_arn
    return disk
