"""A group of machines as a plan has it, with the GPUs that the catalog knows them to have."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from inferfab.catalog.accelerators import has_gpus, other_accelerators
from inferfab.catalog.instances import Cloud, instances
from inferfab.plan.quantities import Range
from inferfab.record import Record
from inferfab.review.span import UNKNOWN, Span

Buys = Literal["on demand", "spot", "reservation", "capacity block"]


@dataclass(frozen=True)
class Part:
    """Nodes that are bought in one way."""

    buys: Buys
    nodes: Span


@dataclass(frozen=True)
class Machines:
    """What a reader of one resource type understood of one side of a change."""

    kind: str
    """What people call it: ``EKS node group``."""
    cloud: Cloud
    names: tuple[str, ...]
    """Machine types that it may use; empty where the plan does not say."""
    parts: tuple[Part, ...]
    region: str = ""
    attached: tuple[str, Range] | None = None
    """GPU id and number for each machine, where they are attached to it (Google Cloud)."""
    labels: dict[str, str] = field(default_factory=dict)
    certainly_gpus: bool = False
    """It asks for GPUs (image, taint, limit), whatever its machine type is."""
    gpu_limit: Range | None = None
    """A ceiling in GPUs rather than nodes (Karpenter)."""
    notes: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    """Why GPUs may be here that are not counted; said even where nothing else is known."""


class GpuGroup(Record):
    """One side of a change: a group of nodes with GPUs."""

    kind: str
    cloud: Cloud
    region: str
    """Empty where the plan does not say it."""
    machines: tuple[str, ...]
    gpu: str
    """Id of the GPU, ``h100 or h200`` for a group that may use either, ``unknown GPU`` where the catalog has none."""
    nodes: Span
    gpus: Span
    buys: tuple[tuple[Buys, Span], ...]
    """Nodes by the way they are bought."""
    pool: str = ""
    role: str = ""
    cell: str = ""
    notes: tuple[str, ...] = ()

    @property
    def capacity(self) -> str:
        return " and ".join(dict.fromkeys(kind for kind, nodes in self.buys)) or "on demand"


def gpu_group(found: Machines, region: str) -> GpuGroup | None:
    """Join what a plan says with the catalog; None if there is certainly no GPU in it."""
    per_node, names, notes = _gpus_of(found)
    if per_node is None:
        return None
    nodes = Span.total(p.nodes for p in found.parts) if found.parts else Span(min=UNKNOWN, desired=UNKNOWN, max=UNKNOWN)
    gpus = nodes.times(per_node)
    if found.gpu_limit is not None:
        gpus = gpus.model_copy(update={"max": found.gpu_limit})
        gpus = gpus.model_copy(update={"desired": _at_most(gpus.desired, found.gpu_limit)})
    return GpuGroup(
        kind=found.kind,
        cloud=found.cloud,
        region=found.region or region,
        machines=found.names,
        gpu=" or ".join(names) or "unknown GPU",
        nodes=nodes,
        gpus=gpus,
        buys=tuple((p.buys, p.nodes) for p in found.parts),
        pool=found.labels.get("inferfab/pool", ""),
        role=found.labels.get("inferfab/role", ""),
        cell=found.labels.get("inferfab/cell", ""),
        notes=(*found.notes, *notes),
    )


def unresolved_of(found: Machines) -> tuple[str, ...]:
    """What may be in the group and is not counted."""
    others = [name for name in found.names if other_accelerators(found.cloud, name)]
    return (
        *found.unresolved,
        *(f"`{name}` has accelerators that are no GPUs: neither they nor their cost are counted" for name in others),
    )


def _at_most(value: Range, limit: Range) -> Range:
    if limit.high is None or (value.high is not None and value.high <= limit.high):
        return value
    return Range(low=min(value.low, limit.high), high=limit.high)


def _gpus_of(found: Machines) -> tuple[Range | None, list[str], list[str]]:
    """(GPUs a node, ids, notes); the first is None if there are none."""
    if found.attached is not None:
        gpu, each = found.attached
        return each, [gpu or "unknown GPU"], [] if gpu else ["the catalog does not know this accelerator"]
    if not found.names:
        if found.certainly_gpus:
            return UNKNOWN, [], ["the machine type cannot be seen, so GPUs cannot be counted"]
        return None, [], []
    counts: list[Range] = []
    gpus: dict[str, None] = {}
    notes = []
    for name in found.names:
        machine = instances(found.cloud).get(name)
        if machine:
            counts.append(Range.exact(machine.gpu_count))
            gpus[machine.gpu] = None
        elif has_gpus(found.cloud, name):
            counts.append(UNKNOWN)
            gpus["unknown GPU"] = None
            notes.append(f"the catalog does not know how many GPUs a {name} has")
        else:
            counts.append(Range.exact(0))
    if not gpus:
        return None, [], []
    return _hull(counts), sorted(gpus), notes


def _hull(ranges: Iterable[Range]) -> Range:
    known = list(ranges)
    highs = [r.high for r in known]
    high = None if any(h is None for h in highs) else max(h for h in highs if h is not None)
    return Range(low=min(r.low for r in known), high=high)
