"""The nodes without GPUs: CoreDNS, operators, gateways, monitoring."""

from typing import Annotated

from pydantic import Field

from inferfab.aws.autoscaler_tags import AutoscalerTags, AutoscalerTagsSpec
from inferfab.aws.launch_template import NodeTemplate, NodeTemplateSpec, RootVolume
from inferfab.aws.managed_node_group import NodeGroupSpec, group_arguments, ignored
from inferfab.terraform import Construct, ITerraformDependable, Lifecycle
from inferfab.terraform.aws import eks


class SystemNodeGroupSpec(NodeGroupSpec):
    """What :class:`SystemNodeGroup` needs."""

    instance_type: str
    subnet_ids: Annotated[tuple[str, ...], Field(min_length=1)]
    ami_type: str = "AL2023_x86_64_STANDARD"
    """Default: Amazon Linux 2023 for x86."""
    root_volume: RootVolume = RootVolume(size_gib=100, throughput_mib_s=125)
    """Default: 100 GiB with what gp3 includes."""


class SystemNodeGroup(Construct):
    """A managed node group for everything but models. It has no taint: the cluster's own pods must find a place.

    Example::

        SystemNodeGroup(
            stack,
            "system",
            SystemNodeGroupSpec(
                name="system",
                cluster_name="prod-use1-a",
                node_role_arn="arn:aws:iam::111122223333:role/prod-use1-a-node",
                template_name="prod-use1-a-system",
                instance_type="m7i.2xlarge",
                subnet_ids=("subnet-0aaaaaaaaaaaaaaa1",),
                min_nodes=2,
                desired_nodes=3,
                max_nodes=6,
                labels={"inferfab/pool": "system"},
            ),
        )
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        spec: SystemNodeGroupSpec,
        *,
        after: tuple[ITerraformDependable, ...] = (),
    ) -> None:
        """:param after: what a node cannot start or drain without: role policies, network add-ons, ways out, rules."""
        super().__init__(scope, construct_id)
        template = NodeTemplate(
            self,
            "template",
            NodeTemplateSpec(
                name=spec.template_name,
                instance_type=spec.instance_type,
                kms_key_arn=spec.kms_key_arn,
                root_volume=spec.root_volume,
                tags=spec.tags,
            ),
        )
        arguments = group_arguments(spec, template, after)
        arguments["subnet_ids"] = list(spec.subnet_ids)
        arguments["ami_type"] = spec.ami_type
        arguments["capacity_type"] = "ON_DEMAND"
        arguments["update_config"] = {"max_unavailable": 1, "update_strategy": "DEFAULT"}
        arguments["lifecycle"] = Lifecycle(ignore_changes=ignored(spec))
        group = eks.EksNodeGroup(self, "group", **arguments)
        AutoscalerTags(
            self,
            "autoscaler",
            AutoscalerTagsSpec(autoscaling_group_name=group.autoscaling_group_name, scaled_by=spec.scaled_by),
        )
        self.name = group.node_group_name
        self.autoscaling_group_name = group.autoscaling_group_name
        self.ready: tuple[ITerraformDependable, ...] = (group,)
        """What add-ons that need a running node wait for."""
