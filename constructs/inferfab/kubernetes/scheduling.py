"""Which nodes pods may run on."""

from typing import Literal

from inferfab.record import Record
from inferfab.render.values import Value

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Toleration(Record):
    """A taint that a pod may stand on."""

    key: str
    value: str | None = None
    """Default: any value of the key."""
    effect: Effect | None = "NoSchedule"
    """None: every effect. Default: ``NoSchedule``."""

    def values(self) -> dict[str, Value]:
        """As Kubernetes writes it."""
        shown: dict[str, Value] = {"key": self.key, "operator": "Exists" if self.value is None else "Equal"}
        if self.value is not None:
            shown["value"] = self.value
        if self.effect is not None:
            shown["effect"] = self.effect
        return shown


GPU_NODES = (Toleration(key="nvidia.com/gpu"), Toleration(key="inferfab/pool"))
"""The taints of inferfab's GPU nodes, whatever the pool: what has to run on every GPU node tolerates them."""
