"""What all managed node groups have in common: names, sizes, versions, and what Terraform leaves alone."""

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from inferfab.aws.launch_template import NodeTemplate, RootVolume
from inferfab.aws.node_labels import Labels, Taint, eks_taints
from inferfab.record import Record
from inferfab.terraform import ITerraformDependable
from inferfab.terraform.aws import eks

GroupName = Annotated[str, Field(pattern=r"^[0-9A-Za-z][A-Za-z0-9_-]{0,62}$")]
"""63 characters at most. Source: docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup."""
KubernetesVersion = Annotated[str, Field(pattern=r"^1\.\d{2}$")]
ReleaseVersion = Annotated[str, Field(pattern=r"^1\.\d{2}\.\d+-\d{8}$")]
"""Release of the EKS-optimized images, ``1.36.1-20261014``."""


class NodeGroupSpec(Record):
    """What every managed node group needs."""

    name: GroupName
    cluster_name: str
    node_role_arn: str
    template_name: str
    """Name of the launch template, and the Name of what it launches: one of a kind in account and region."""
    min_nodes: NonNegativeInt
    desired_nodes: NonNegativeInt
    """At the start; afterwards the cluster autoscaler's. To raise ``min_nodes`` above what runs, raise that first."""
    max_nodes: PositiveInt
    kubernetes_version: KubernetesVersion | None = None
    """Default: the cluster's when the group is made, then kept: an upgrade of the cluster does not reach its nodes."""
    release_version: ReleaseVersion | None = None
    """Release of the image. Default: the newest when the group is made, and again whenever its launch template or
    version changes. The provider sends a release only when it changes, so raise it together with those.
    """
    kms_key_arn: str | None = None
    """Key of the disks. Default: the account's key for EBS."""
    root_volume: RootVolume = RootVolume()
    labels: Labels = {}
    taints: tuple[Taint, ...] = ()
    scaled_by: str | None = None
    """Key of the tag by which the cluster autoscaler finds the group (``ClusterAutoscalerSpec.group_tag``). Default:
    none; EKS's own tags are found by an autoscaler that looks for all groups of the cluster.
    """
    tags: dict[str, str] = {}
    """Tags of the group, and of instances, disks and interfaces, which the provider's default_tags do not reach."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.min_nodes <= self.desired_nodes <= self.max_nodes:
            raise ValueError(
                f"min_nodes <= desired_nodes <= max_nodes does not hold: "
                f"{self.min_nodes}, {self.desired_nodes}, {self.max_nodes}"
            )
        release, version = self.release_version, self.kubernetes_version
        if release and version and not release.startswith(f"{version}."):
            raise ValueError(f"image release {release} is not one of Kubernetes {version}")
        return self


def group_arguments(
    spec: NodeGroupSpec, template: NodeTemplate, after: Sequence[ITerraformDependable]
) -> eks.EksNodeGroupArguments:
    """The arguments that do not depend on the kind of nodes, but for what a kind must add: ``subnet_ids``."""
    arguments: eks.EksNodeGroupArguments = {
        "cluster_name": spec.cluster_name,
        "node_group_name": spec.name,
        "node_role_arn": spec.node_role_arn,
        "subnet_ids": [],
        "launch_template": {"id": template.id, "version": template.version},
        "scaling_config": {
            "min_size": spec.min_nodes,
            "desired_size": spec.desired_nodes,
            "max_size": spec.max_nodes,
        },
        "node_repair_config": {"enabled": True},
        "tags": {**spec.tags, "Name": spec.name},
    }
    if spec.labels:
        arguments["labels"] = spec.labels
    if spec.taints:
        arguments["taint"] = eks_taints(spec.taints)
    if after:
        arguments["depends_on"] = list(after)
    if spec.kubernetes_version is not None:
        arguments["version"] = spec.kubernetes_version
    if spec.release_version is not None:
        arguments["release_version"] = spec.release_version
    return arguments


def ignored(spec: NodeGroupSpec) -> list[str]:
    """What Terraform leaves alone in a node group."""
    # The size between the bounds is the autoscaler's; a plan that put it back would drain nodes that serve.
    changes = ["scaling_config[0].desired_size"]
    if spec.release_version is None:
        # A release that followed EKS's newest image would roll every node whenever AWS publishes one. This hides what
        # a change of the launch template brings along: EKS then takes the newest release.
        changes.append("release_version")
    return changes
