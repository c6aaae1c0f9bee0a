"""How GPUs are cut: the file that the GPU operator's MIG manager reads."""

from collections.abc import Mapping, Sequence
from typing import Literal

from inferfab.plan.fleet import CellPlan
from inferfab.plan.groups import MIG_LAYOUT
from inferfab.record import Record
from inferfab.render.values import Value, Values, yaml_text

WHOLE = "all-disabled"
"""Layout of nodes without a label; always there."""


class MigDevices(Record):
    """How some of a node's GPUs are cut."""

    gpus: tuple[int, ...] | Literal["all"] = "all"
    """Indexes of the GPUs."""
    instances: dict[str, int] = {}
    """Number of instances by profile (``1g.18gb``). Empty: the GPUs stay whole."""


def mig_layouts(cell: CellPlan) -> dict[str, tuple[MigDevices, ...]]:
    """The layouts that the cell's node groups name by their label."""
    pools = {pool.name: pool.shared for pool in cell.pools}
    found = {}
    for group in cell.node_groups:
        shared = pools[group.pool]
        if shared is not None and shared.mig_layout is not None:
            found[group.labels[MIG_LAYOUT]] = tuple(
                MigDevices(gpus=(index,), instances=cut) for index, cut in enumerate(shared.mig_layout)
            )
    return found


def mig_config(layouts: Mapping[str, Sequence[MigDevices]]) -> str:
    """The MIG manager's configuration; GPUs of nodes without a layout stay whole."""
    whole: Value = [{"devices": "all", "mig-enabled": False}]
    cut: Values = {name: [_devices(one) for one in parts] for name, parts in layouts.items()}
    return yaml_text({"version": "v1", "mig-configs": {WHOLE: whole, **cut}})


def _devices(part: MigDevices) -> Value:
    gpus: Value = part.gpus if isinstance(part.gpus, str) else list(part.gpus)
    cut: Values = {"mig-devices": dict(part.instances)} if part.instances else {}
    return {"devices": gpus, "mig-enabled": bool(part.instances), **cut}
