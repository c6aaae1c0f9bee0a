"""From a sizing to changes of the environment file."""

import math
from collections.abc import Sequence

from inferfab.environment.loading import Loaded
from inferfab.findings import YamlPath
from inferfab.record import Record
from inferfab.sizing.result import Option, PoolSize, Sizing


class Retuned(Record):
    """What changes, and what was left."""

    changes: dict[YamlPath, int]
    words: tuple[str, ...]
    """A line a pool: before and after, and why."""


def retuned(loaded: Loaded, sizing: Sizing) -> Retuned:
    """Replicas and tensor parallelism of each pool, for the cell that needs most: cells share a pool's numbers.

    A cell that states replicas of its own gets its own. Bounds follow: the minimum is never above what is desired, and
    the maximum keeps its ratio to it.
    """
    changes: dict[YamlPath, int] = {}
    words: list[str] = []
    for name in dict.fromkeys(p.pool for p in sizing.pools):
        sizes = [p for p in sizing.pools if p.pool == name]
        found = [p for p in sizes if p.best is not None]
        for one in sizes:
            if one.best is None:
                words.append(
                    f"{one.cell} {name}: left as it is: {one.why or 'nothing that was tried keeps every promise'}"
                )
        if len(found) == len(sizes):
            words += _pool(loaded, name, found, changes)
    return Retuned(changes={p: v for p, v in changes.items() if loaded.source.text(p) != str(v)}, words=tuple(words))


def _pool(loaded: Loaded, name: str, sizes: Sequence[PoolSize], changes: dict[YamlPath, int]) -> list[str]:
    sizes = [p.model_copy(update={"best": _unchanged(loaded, name, p)}) for p in sizes]
    best = max((p.best for p in sizes if p.best), key=lambda o: o.gpus)
    words = []
    for role in best.workers:
        here: YamlPath = ("pools", name, role)
        tensor: YamlPath = (*here, "tensor_parallel")
        if tensor in loaded.source.places:
            changes[tensor] = best.tensor
        shared = [p.best for p in sizes if p.best and not _own(loaded, p.cell, name, role)]
        if shared:
            _replicas(loaded, (*here, "replicas"), max(_workers(o, role, best.tensor) for o in shared), changes)
        for one in sizes:
            if one.best and _own(loaded, one.cell, name, role):
                path: YamlPath = ("cells", one.cell, "pools", name, f"{role}_replicas")
                _replicas(loaded, path, _workers(one.best, role, best.tensor), changes)
    for one in sizes:
        assert one.best is not None
        shown = ", ".join(f"{n} {r}" for r, n in one.best.workers.items())
        words.append(
            f"{one.cell} {name}: {one.planned_gpus} -> {one.best.gpus} GPUs ({shown}, TP{one.best.tensor}) for "
            f"{one.rate_rps:.2f} requests/s; {one.best.limit}"
        )
    return words


def _unchanged(loaded: Loaded, name: str, one: PoolSize) -> Option | None:
    """Of equally cheap ones the one with the tensor parallelism that the file has: no change without a gain."""
    if one.best is None:
        return None
    cheapest, role = one.best.usd_per_hour, next(iter(one.best.workers))
    stated = loaded.source.text(("pools", name, role, "tensor_parallel"))
    same = (o for o in (one.best, *one.others) if o.usd_per_hour <= cheapest and str(o.tensor) == stated)
    return next(same, one.best)


def _workers(option: Option, role: str, tensor: int) -> int:
    """Workers of the pool's tensor parallelism on as many GPUs."""
    return max(1, math.ceil(option.workers[role] * option.tensor / tensor))


def _own(loaded: Loaded, cell: str, pool: str, role: str) -> bool:
    return ("cells", cell, "pools", pool, f"{role}_replicas") in loaded.source.places


def _replicas(loaded: Loaded, path: YamlPath, wanted: int, changes: dict[YamlPath, int]) -> None:
    def stated(field: str) -> int | None:
        text = loaded.source.text((*path, field))
        return int(text) if text.isdigit() else None

    before, low, high = stated("desired"), stated("min"), stated("max")
    changes[*path, "desired"] = wanted
    if low is not None:
        changes[*path, "min"] = min(wanted, max(low, wanted) if low == before else low)
    if high is not None:
        ratio = high / before if before else 1.0
        changes[*path, "max"] = max(wanted, math.ceil(wanted * ratio))
