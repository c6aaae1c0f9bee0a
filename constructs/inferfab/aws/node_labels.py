"""Labels and taints of nodes, in Kubernetes' own spelling."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from inferfab.record import Record
from inferfab.terraform.aws import eks

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_KEY = rf"^(?:[a-z0-9](?:[a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_NAME}$"
_VALUE = rf"^(?:{_NAME})?$"
_RESERVED = re.compile(r"^(?:.*\.)?(?:kubernetes\.io|k8s\.io|eks\.amazonaws\.com)/")
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}

Key = Annotated[str, Field(pattern=_KEY)]
Value = Annotated[str, Field(pattern=_VALUE)]


def _ours(labels: dict[str, str]) -> dict[str, str]:
    for key, value in labels.items():
        if not re.match(_KEY, key):
            raise ValueError(f"{key!r} is not a label key of Kubernetes")
        if not value or not re.match(_VALUE, value):
            raise ValueError(f"{key}: {value!r} is not a label value that EKS takes (1 to 63 letters, digits, - _ .)")
        if _RESERVED.match(key):
            raise ValueError(f"{key!r} belongs to Kubernetes or EKS; a kubelet may not set it")
    return labels


Labels = Annotated[dict[str, str], AfterValidator(_ours)]


class Taint(Record):
    """Keeps pods away that do not tolerate it."""

    key: Key
    value: Value = ""
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule"] = "NoSchedule"

    @property
    def text(self) -> str:
        """``value:effect``, as the cluster autoscaler reads it."""
        return f"{self.value}:{self.effect}"


def eks_taints(taints: tuple[Taint, ...]) -> list[eks.EksNodeGroupTaint]:
    """The blocks of a node group; EKS spells effects in its own way."""
    return [{"key": t.key, "value": t.value, "effect": _EFFECTS[t.effect]} for t in taints]
