"""A sizing as text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inferfab.render.text.numbers import usd
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console

    from inferfab.sizing.result import Option, PoolSize, Sizing, Tail
    from inferfab.sizing.shapes import Passed


def print_sizing(console: "Console", found: "Sizing") -> None:
    """A table a pool: the cheapest first, what limits each, why it is not smaller."""
    console.print(
        f"{found.environment}: every promise in the worst hour at {found.utilization:.0%} utilisation, and at the peak "
        f"with {'a node lost or in maintenance' if found.spare == 1 else f'{found.spare} nodes of a role away'} "
        f"({found.engine}, Dynamo's simulator)",
        style="bold",
        markup=False,
    )
    for one in found.pools:
        _pool(console, one)


def _pool(console: "Console", one: "PoolSize") -> None:
    console.print(
        f"\n{one.cell} {one.pool}: {one.model}, tier {one.tier} ({'; '.join(one.promises) or 'no promise'})",
        style="bold", markup=False,
    )  # fmt: skip
    if one.why:
        console.print(f"  not sized: {one.why}", markup=False)
        return
    console.print(
        f"  {one.requests:,} requests of {one.traffic}, {one.rate_rps:.2f} a second; {one.trials} fleets tried in "
        f"{one.simulations} simulations{', not all of them' if one.exhausted else ''}",
        markup=False,
    )
    if one.best is None:
        console.print("  nothing keeps every promise; what stood in the way:", markup=False)
    else:
        table = table_of("", "", "machine", "topology", "nodes", "workers", "split", "batch", "GPUs", "$/h", "$/month",
                         "what limits it", right=("GPUs", "$/h", "$/month"))  # fmt: skip
        for mark, option in [("best", one.best), *(("", o) for o in one.others)]:
            table.add_row(mark, *_row(option))
        console.print(table)
        planned = usd(one.planned_usd_per_hour) if one.planned_usd_per_hour is not None else "an unknown price"
        console.print(f"  planned in the file: {one.planned_gpus} GPUs, {planned} an hour", markup=False)
    if one.queueing:
        why = one.queueing
        burst = f"arrivals in 10 s vary {why.dispersion_10s:.1f} times as much as independent users' would; " if (
            why.dispersion_10s is not None) else ""  # fmt: skip
        ends = (
            f"a promise breaks at {why.breaks_at:.2f} times this load, so it is {1 / why.breaks_at:.0%} utilised"
            if why.breaks_at
            else "no promise breaks up to twice this load: whole nodes and the spare one decide, not the load"
        )
        console.print(
            f"  why not smaller: {burst}one prompt in a hundred has {why.prompt_p99:,} tokens or more (median "
            f"{why.prompt_p50:,}); {ends}",
            markup=False,
        )
        for line in tail_words(why.tail):
            console.print(f"  {line}", markup=False)
    if one.two_away_upto is not None:
        console.print(f"  maintenance: {maintenance_words(one.two_away_upto)}", markup=False)
    if one.best:
        console.print(f"  price: {one.best.priced}", style="dim", markup=False)
    for reason, shapes in grouped(one.passed):
        console.print(f"  left out: {shapes}: {reason}", style="dim", markup=False)


def tail_words(tail: "Tail | None") -> list[str]:
    """Sentences on p99: what makes it, and when it passes the promise."""
    if tail is None or tail.p99_ms is None:
        return []
    parts = []
    if tail.even_p99_ms is not None and tail.burst_share is not None:
        parts.append(
            f"arrivals at even distances would make it {tail.even_p99_ms:,.0f} ms ({tail.burst_share:.0%} less)"
        )
    if tail.short_p99_ms is not None and tail.long_share is not None:
        parts.append(
            f"prompts of {tail.long_prompt_tokens:,} tokens at most (their p95) {tail.short_p99_ms:,.0f} ms "
            f"({tail.long_share:.0%} less)"
        )
    found = [f"{tail.metric} p99 at the sized load is {tail.p99_ms:,.0f} ms: {'; '.join(parts)}"]
    if tail.bound_ms is not None:
        found.append(
            f"p99 passes {tail.bound_ms:,.0f} ms at {tail.breaks_at:.2f} times the worst hour: the worst hour is "
            f"{1 / tail.breaks_at:.0%} of it"
            if tail.breaks_at
            else f"p99 stays within {tail.bound_ms:,.0f} ms up to thirty times the worst hour"
        )
    return found


def maintenance_words(upto: float) -> str:
    """When a node may be taken out although another may be lost."""
    if upto <= 0:
        return "with a node taken out, the loss of another one breaks a promise at any load (`--spare 2` sizes for it)"
    if upto >= 1:
        return "with a node taken out, the loss of another one breaks no promise even in the worst hour"
    return (
        f"take a node out when load is at most {upto:.0%} of the worst hour's: then the loss of another one breaks no "
        "promise (`--spare 2` sizes for it at any hour)"
    )


def grouped(passed: "Sequence[Passed]") -> list[tuple[str, str]]:
    """(why, shapes): machines alone where there are many of a kind."""
    found: dict[str, list[str]] = {}
    for one in passed:
        found.setdefault(one.why, []).append(one.shape)
    shown = []
    for why, names in found.items():
        machines = list(dict.fromkeys(name.split(" ")[0] for name in names))
        shown.append((why, ", ".join(names) if len(names) <= 4 else f"{len(names)} shapes on {', '.join(machines)}"))
    return shown


def _usd(value: float | None) -> str:
    return "unknown" if value is None else usd(value)


def _row(option: "Option") -> list[str]:
    nodes = " + ".join(str(n) for n in option.nodes.values())
    workers = " + ".join(str(n) for n in option.workers.values())
    return [
        plain(option.instance), option.topology, nodes, workers, option.split or "-", str(option.batch),
        str(option.gpus), _usd(option.usd_per_hour), _usd(option.usd_per_month), plain(option.limit),
    ]  # fmt: skip
