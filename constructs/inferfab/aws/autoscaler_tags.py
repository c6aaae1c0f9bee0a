"""Tags that tell the cluster autoscaler what a node of an empty group would be like."""

import re
from collections.abc import Mapping

from pydantic import model_validator

from inferfab.aws.node_labels import Labels, Taint
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.aws import ec2

_PREFIX = "k8s.io/cluster-autoscaler/node-template"
_LONGEST_KEY = 128
"""Of a tag. Source: docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging."""


class AutoscalerTagsSpec(Record):
    """What :class:`AutoscalerTags` needs."""

    autoscaling_group_name: str
    labels: Labels = {}
    taints: tuple[Taint, ...] = ()
    resources: Mapping[str, str] = {}
    """What a node offers beyond CPU and memory, as Kubernetes quantities: ``{"vpc.amazonaws.com/efa": "16"}``."""
    scaled_by: str | None = None
    """Key of the tag by which one autoscaler finds its groups, and by which IAM lets it change them. Default: none;
    the tags that EKS puts on every managed node group of a cluster tell only the cluster.
    """

    @model_validator(mode="after")
    def _short(self) -> "AutoscalerTagsSpec":
        for key in _tags(self):
            if len(key) > _LONGEST_KEY:
                raise ValueError(f"the tag {key} has {len(key)} characters, {_LONGEST_KEY} fit; shorten the label")
        return self


class AutoscalerTags(Construct):
    """One tag on the Auto Scaling group for every label, taint and resource. EKS gives a group no such tags.

    Example::

        AutoscalerTags(
            stack,
            "autoscaler",
            AutoscalerTagsSpec(
                autoscaling_group_name="eks-chat-prefill-1234",
                labels={"inferfab/pool": "chat"},
                taints=(Taint(key="nvidia.com/gpu", value="true"),),
                resources={"nvidia.com/gpu": "8"},
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: AutoscalerTagsSpec) -> None:
        super().__init__(scope, construct_id)
        for key, value in _tags(spec).items():
            ec2.AutoscalingGroupTag(
                self,
                re.sub(r"[^A-Za-z0-9.-]", "-", key.removeprefix(f"{_PREFIX}/")),
                autoscaling_group_name=spec.autoscaling_group_name,
                tag={"key": key, "value": value, "propagate_at_launch": False},
            )


def _tags(spec: AutoscalerTagsSpec) -> dict[str, str]:
    return {
        **({spec.scaled_by: "owned"} if spec.scaled_by else {}),
        **{f"{_PREFIX}/label/{key}": value for key, value in spec.labels.items()},
        **{f"{_PREFIX}/taint/{taint.key}": taint.text for taint in spec.taints},
        **{f"{_PREFIX}/resources/{name}": quantity for name, quantity in spec.resources.items()},
    }
