"""From a sizing to changes of the environment file."""

import math
from collections.abc import Sequence

from inferfab.environment.loading import Loaded
from inferfab.findings import YamlPath
from inferfab.plan.fleet import FleetPlan
from inferfab.record import Record
from inferfab.sizing.result import Option, PoolSize, Sizing


class Retuned(Record):
    """What changes, and what was left."""

    changes: dict[YamlPath, int | float]
    """Numbers that the file has."""
    added: dict[YamlPath, int | float]
    """Numbers that it does not state yet."""
    words: tuple[str, ...]
    """A line a pool: before and after, and why."""
    chosen: dict[str, Option]
    """By pool."""


def retuned(loaded: Loaded, sizing: Sizing, planned: FleetPlan) -> Retuned:
    """Replicas and tensor parallelism of each pool, for the cell that needs most: cells share a pool's numbers.

    A cell that states replicas of its own gets its own. Bounds follow: the minimum is never above what is desired, and
    the maximum keeps its ratio to it. Of a shared pool the nodes change.

    :param planned: the plan of the file as it is.
    """
    run = _Retuning(loaded)
    run.batch = {
        p.name: max(r.batch.max_sequences for r in p.roles if r.role != "prefill") for p in planned.pools if p.roles
    }
    for name in dict.fromkeys(p.pool for p in sizing.pools):
        sizes = [p for p in sizing.pools if p.pool == name]
        run.pool(name, sizes)
    return Retuned(changes=run.changes, added=run.added, words=tuple(run.words), chosen=run.chosen)


def batches(loaded: Loaded, chosen: dict[str, Option], after: FleetPlan) -> Retuned:
    """Batch limits, where the plan of the changed file would take another one than was sized."""
    run = _Retuning(loaded)
    for name, option in chosen.items():
        planned = next(p for p in after.pools if p.name == name)
        for role in planned.roles:
            if role.role in ("worker", "decode") and role.batch.max_sequences != option.batch:
                run.number(("pools", name, role.role, "max_sequences"), option.batch)
                run.words.append(
                    f"{name}: at most {option.batch} answers at once in a {role.role}, not {role.batch.max_sequences}"
                )
    return Retuned(changes=run.changes, added=run.added, words=tuple(run.words), chosen=chosen)


class _Retuning:
    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.changes: dict[YamlPath, int | float] = {}
        self.added: dict[YamlPath, int | float] = {}
        self.words: list[str] = []
        self.chosen: dict[str, Option] = {}
        self.batch: dict[str, int] = {}
        """Batch limit by pool, as the file is."""

    def number(self, path: YamlPath, value: int | float, default: int | float | None = None) -> None:
        """Only what differs from what the file says, or means by leaving it out."""
        if path in self.loaded.source.places:
            if self.loaded.source.text(path) != str(value):
                self.changes[path] = value
        elif value != default:
            self.added[path] = value

    def pool(self, name: str, sizes: Sequence[PoolSize]) -> None:
        for one in sizes:
            if one.best is None:
                why = one.why or "nothing that was tried keeps every promise"
                self.words.append(f"{one.cell} {name}: left as it is: {why}")
        if any(p.best is None for p in sizes):
            return
        likely = [self._unchanged(name, p) for p in sizes]
        best = max(likely, key=lambda o: o.gpus)
        found = {p.cell: _alike(p, best) or o for p, o in zip(sizes, likely, strict=True)}
        self.chosen[name] = best
        for role in best.workers:
            if role == "shared":
                self._size(name, "nodes", "nodes", {c: o.nodes[role] for c, o in found.items()})
                continue
            self.number(("pools", name, role, "tensor_parallel"), best.tensor[role], 1)
            self.number(("pools", name, role, "pipeline_parallel"), best.pipeline, 1)
            workers = {cell: _workers(option, role, best) for cell, option in found.items()}
            self._size(name, f"{role}_replicas", f"{role}.replicas", workers)
        for one in sizes:
            option = found[one.cell]
            shown = ", ".join(f"{n} {r}" for r, n in option.workers.items())
            split = f", {option.split}" if option.split else ""
            same = "" if (option.split, option.batch) == (best.split, best.batch) else (
                f"; sized as {option.split}, written as {best.split}: the same GPUs, not simulated so"
            )  # fmt: skip
            self.words.append(
                f"{one.cell} {name}: {one.planned_gpus} -> {option.gpus} GPUs ({shown}{split}) for "
                f"{one.rate_rps:.2f} requests/s; {option.limit}{same}"
            )

    def _size(self, pool: str, in_cell: str, in_pool: str, wanted: dict[str, int]) -> None:
        own = {c: n for c, n in wanted.items() if ("cells", c, "pools", pool, in_cell) in self.loaded.source.places}
        shared = [n for c, n in wanted.items() if c not in own]
        if shared:
            self._bounds(("pools", pool, *in_pool.split(".")), max(shared))
        for cell, number in own.items():
            self._bounds(("cells", cell, "pools", pool, in_cell), number)

    def _bounds(self, path: YamlPath, wanted: int) -> None:
        def stated(field: str) -> int | None:
            text = self.loaded.source.text((*path, field))
            return int(text) if text.isdigit() else None

        before, low, high = stated("desired"), stated("min"), stated("max")
        self.number((*path, "desired"), wanted)
        if low is not None:
            self.number((*path, "min"), min(wanted, max(low, wanted) if low == before else low))
        if high is not None:
            ratio = high / before if before else 1.0
            self.number((*path, "max"), max(wanted, math.ceil(wanted * ratio)))

    def _unchanged(self, name: str, one: PoolSize) -> Option:
        """Of equally cheap ones the one that the file has, or is nearest to it: no change without a gain.

        Tensor parallelism counts more than the batch limit; of limits the largest is nearest to leaving it out.
        """
        assert one.best is not None
        cheapest, best = one.best.cost, one.best

        def stated(role: str) -> str:
            return self.loaded.source.text(("pools", name, role, "tensor_parallel")) or "1"

        def nearness(option: Option) -> tuple[bool, bool, bool, int]:
            same = all(str(n) == stated(role) for role, n in option.tensor.items())
            kept = option.batch == self.batch.get(name)
            return same, same and kept, option.split == best.split, option.batch

        return max((o for o in (best, *one.others) if o.cost <= cheapest), key=nearness)


def _alike(one: PoolSize, best: Option) -> Option | None:
    """The cell's own result for the shape that all cells get."""
    options = (one.best, *one.others) if one.best else ()
    return next((o for o in options if o.split == best.split and o.batch == best.batch), None)


def _workers(option: Option, role: str, best: Option) -> int:
    """Workers of the pool's tensor parallelism on as many GPUs."""
    gpus = option.workers[role] * option.tensor[role] * option.pipeline
    return max(1, math.ceil(gpus / (best.tensor[role] * best.pipeline)))
