"""The GPU nodes of one role of a pool: a launch template, a managed node group, tags for scaling from zero."""

import math
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from inferfab.aws.autoscaler_tags import AutoscalerTags, AutoscalerTagsSpec
from inferfab.aws.capacity import Capacity, CapacityBlock, OnDemand, capacity_type, is_fixed
from inferfab.aws.launch_template import NodeTemplate, NodeTemplateSpec
from inferfab.aws.managed_node_group import NodeGroupSpec, group_arguments, ignored
from inferfab.aws.node_config import NodeConfigSpec, user_data
from inferfab.aws.node_interfaces import LONGEST_TCP_IDLE, Interface, Layout, TcpIdleSeconds
from inferfab.aws.optional import optional
from inferfab.terraform import Construct, ITerraformDependable, Lifecycle
from inferfab.terraform.aws import ec2, eks

_LONGEST_NAME = 63
_LONGEST_TEMPLATE_NAME = 128
_ALLOCATABLE_STORAGE = 0.85
"""Share of a disk that pods can ask for: the kubelet keeps a tenth free and its own reserve, the file system takes its
part. Too much would make the autoscaler start nodes for pods that do not fit them."""


class GpuNodeGroupSpec(NodeGroupSpec):
    """What :class:`GpuNodeGroup` needs."""

    instance_type: str
    gpus_per_node: PositiveInt
    subnet_id: str
    """One subnet: EFA crosses neither zone nor VPC."""
    security_group_ids: Annotated[tuple[str, ...], Field(min_length=1)]
    """All groups of every interface: the cluster's own and the inference group."""
    interfaces: Layout = (Interface(card=0, device=0),)
    """Default: one plain interface, no EFA."""
    architecture: Literal["amd64", "arm64"] = "amd64"
    local_nvme_gb: NonNegativeInt = 0
    """Local disks of the machine, together; joined to one where there are any."""
    max_pods: PositiveInt | None = None
    """Default: what EKS works out, which does not know about efa-only interfaces."""
    hugepages_2mi_mib: NonNegativeInt = 0
    """Memory set aside as huge pages of 2 MiB; EFA wants 5120 MiB a worker. Default: none."""
    efa_device_plugin: bool = True
    """The EFA device plugin offers ``vpc.amazonaws.com/efa``. Say no where DRANET does the work."""
    capacity: Capacity = OnDemand()
    placement_group: str | None = None
    """Name. Default: none; with a reservation only the reservation's own works."""
    tcp_idle_seconds: TcpIdleSeconds = LONGEST_TCP_IDLE
    """How long an idle connection is remembered. Default: five days, so that a stream may pause."""
    max_unavailable: Annotated[int, Field(ge=1, le=100)] = 1
    """Nodes that an update takes at a time. Default: 1."""
    generation: Annotated[str, Field(pattern=r"^(-g[1-9]\d?)?$")] = ""
    """Suffix of the names, ``-g2``: lets a successor stand beside a group that cannot be changed in place."""

    scale_to_zero_at: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")] | None = None
    """When the group becomes empty and stays so, UTC. Has to be ahead when it is applied. Default: never."""
    bounds_back_at: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")] | None = None
    """When ``scale_to_zero_at`` is over and the group may grow again, UTC: the capacity's end. With that one only."""

    @property
    def group_name(self) -> str:
        return self.name + self.generation

    @property
    def efa_interfaces(self) -> int:
        return sum(i.type == "efa-only" for i in self.interfaces)

    @model_validator(mode="after")
    def _consistent(self) -> "GpuNodeGroupSpec":
        if len(self.group_name) > _LONGEST_NAME:
            raise ValueError(f"{self.group_name} has {len(self.group_name)} characters, {_LONGEST_NAME} fit")
        template = self.template_name + self.generation
        if "${" not in template and len(template) > _LONGEST_TEMPLATE_NAME:
            raise ValueError(f"template name {template} is longer than {_LONGEST_TEMPLATE_NAME} characters")
        if isinstance(self.capacity, CapacityBlock) and self.desired_nodes:
            raise ValueError(
                "a group on a Capacity Block starts with 0 nodes: outside the block's days EC2 starts none, and the "
                "group would fail to be made; the autoscaler scales it up once pods ask"
            )
        if (self.bounds_back_at is None) != (self.scale_to_zero_at is None):
            raise ValueError("scale_to_zero_at and bounds_back_at come together: a maximum of 0 would stay for good")
        NodeConfigSpec(hugepages_2mi_mib=self.hugepages_2mi_mib)
        return self


class GpuNodeGroup(Construct):
    """A managed node group of GPU machines.

    Fixed capacity (reservation, Capacity Block) is updated by taking a node away first: there is none to surge into.
    Everything else gets the new node before the old one goes.

    Example::

        GpuNodeGroup(
            stack,
            "chat-prefill",
            GpuNodeGroupSpec(
                name="chat-prefill",
                cluster_name="prod-use1-a",
                node_role_arn="arn:aws:iam::111122223333:role/prod-use1-a-node",
                template_name="prod-use1-a-chat-prefill",
                instance_type="g6e.xlarge",
                gpus_per_node=1,
                subnet_id="subnet-0aaaaaaaaaaaaaaa1",
                security_group_ids=("sg-0aaaaaaaaaaaaaaa1", "sg-0aaaaaaaaaaaaaaa2"),
                local_nvme_gb=250,
                min_nodes=0,
                desired_nodes=1,
                max_nodes=4,
                labels={"inferfab/pool": "chat"},
                taints=(Taint(key="nvidia.com/gpu", value="true"),),
            ),
        )
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        spec: GpuNodeGroupSpec,
        *,
        after: tuple[ITerraformDependable, ...] = (),
    ) -> None:
        """:param after: what a node cannot start or drain without: role policies, network add-ons, ways out, rules."""
        super().__init__(scope, construct_id)
        template = NodeTemplate(self, "template", _template(spec))
        fixed = is_fixed(spec.capacity)
        arguments = group_arguments(spec, template, after)
        arguments["node_group_name"] = spec.group_name
        arguments["subnet_ids"] = [spec.subnet_id]
        arguments["ami_type"] = "AL2023_ARM_64_NVIDIA" if spec.architecture == "arm64" else "AL2023_x86_64_NVIDIA"
        arguments["capacity_type"] = capacity_type(spec.capacity)
        arguments["update_config"] = {
            "max_unavailable": spec.max_unavailable,
            "update_strategy": "MINIMAL" if fixed else "DEFAULT",
        }
        # A GPU machine is slow to start and to drain, and MINIMAL goes node by node.
        arguments["timeouts"] = {"create": "60m", "update": "6h", "delete": "60m"}
        arguments["tags"] = _group_tags(spec)
        # Never create_before_destroy: a group has a fixed name, so its successor could only fail while it stands, and
        # Terraform would force the same on everything that the group depends on. What cannot be changed in place gets
        # a successor beside it through ``generation``.
        arguments["lifecycle"] = Lifecycle(ignore_changes=ignored(spec))
        group = eks.EksNodeGroup(self, "group", **arguments)
        AutoscalerTags(
            self,
            "autoscaler",
            AutoscalerTagsSpec(
                autoscaling_group_name=group.autoscaling_group_name,
                labels=spec.labels,
                taints=spec.taints,
                resources=_resources(spec),
                scaled_by=spec.scaled_by,
            ),
        )
        if spec.scale_to_zero_at is not None:
            # On the Auto Scaling group, as EKS's own action 40 minutes before a block's end. With a maximum of 0 the
            # cluster autoscaler, which reads the bounds there, starts nothing again.
            ec2.AutoscalingSchedule(
                self,
                "before-capacity-ends",
                autoscaling_group_name=group.autoscaling_group_name,
                scheduled_action_name="inferfab-before-capacity-ends",
                start_time=spec.scale_to_zero_at,
                min_size=0,
                max_size=0,
                desired_capacity=0,
            )
            # Nothing else would raise the maximum again: Terraform compares the node group's bounds, which EKS keeps
            # apart from those of the Auto Scaling group. The next block's nodes could not start.
            ec2.AutoscalingSchedule(
                self,
                "after-capacity-ends",
                autoscaling_group_name=group.autoscaling_group_name,
                scheduled_action_name="inferfab-after-capacity-ends",
                start_time=optional(spec.bounds_back_at),
                min_size=spec.min_nodes,
                max_size=spec.max_nodes,
                # Left as it is; the provider takes what is not there for 0, and -1 for that.
                desired_capacity=-1,
            )
        self.name = group.node_group_name
        self.arn = group.arn
        self.autoscaling_group_name = group.autoscaling_group_name
        self.ready: tuple[ITerraformDependable, ...] = (group,)


def _template(spec: GpuNodeGroupSpec) -> NodeTemplateSpec:
    return NodeTemplateSpec(
        name=spec.template_name + spec.generation,
        instance_type=spec.instance_type,
        kms_key_arn=spec.kms_key_arn,
        root_volume=spec.root_volume,
        interfaces=spec.interfaces,
        security_group_ids=spec.security_group_ids,
        tcp_idle_seconds=spec.tcp_idle_seconds,
        capacity=spec.capacity,
        placement_group=spec.placement_group,
        user_data=user_data(
            NodeConfigSpec(
                raid0=spec.local_nvme_gb > 0, max_pods=spec.max_pods, hugepages_2mi_mib=spec.hugepages_2mi_mib
            )
        ),
        tags=spec.tags,
    )


def _group_tags(spec: GpuNodeGroupSpec) -> dict[str, str]:
    # The launch template's own tags reach what it starts, not the group.
    tags = {**spec.tags, "Name": spec.group_name}
    if isinstance(spec.capacity, CapacityBlock) and spec.capacity.ends_at:
        tags["inferfab/capacity-ends-at"] = spec.capacity.ends_at
    return tags


def _resources(spec: GpuNodeGroupSpec) -> dict[str, str]:
    """What a new node would offer to pods."""
    disk_gib = spec.local_nvme_gb * 10**9 / 2**30 if spec.local_nvme_gb else spec.root_volume.size_gib
    resources = {
        "nvidia.com/gpu": str(spec.gpus_per_node),
        "ephemeral-storage": f"{math.floor(disk_gib * _ALLOCATABLE_STORAGE)}Gi",
    }
    if spec.efa_interfaces and spec.efa_device_plugin:
        resources["vpc.amazonaws.com/efa"] = str(spec.efa_interfaces)
    if spec.hugepages_2mi_mib:
        resources["hugepages-2Mi"] = f"{spec.hugepages_2mi_mib}Mi"
    return resources
