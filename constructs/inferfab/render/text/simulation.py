"""A simulation as text."""

from typing import TYPE_CHECKING

from inferfab.render.text.numbers import usd_range
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console

    from inferfab.simulate.result import PoolResult, Simulation


def print_simulation(console: "Console", found: "Simulation") -> None:
    """A row a pool, then its promises, losses and notes."""
    console.print(
        f"{found.environment} on Dynamo's simulator ({found.engine}), {found.scenario}", style="bold", markup=False
    )
    table = table_of(
        "", "cell", "pool", "fabric", "requests/s", "good", "TTFT p50 / p95 / p99 ms", "ITL p95 ms", "prefill", "KV",
        "batch", "GPUs", "GPU-h", "$/M output", "$/M in+out", right=("requests/s", "good", "GPUs", "GPU-h"),
    )  # fmt: skip
    for one in found.pools:
        if one.status != "simulated":
            continue
        busy = (one.busy.prefill, one.busy.kv, one.busy.batch) if one.busy else ()
        ttft = " / ".join(_ms(one.ttft_ms.get(p)) for p in ("50.0", "95.0", "99.0"))
        table.add_row(
            plain(one.cell), plain(one.pool if one.busy else f"{one.pool}: {one.model}"), one.fabric,
            f"{one.rate_rps:.2f}", f"{one.good_rps:.2f}", ttft,
            _ms(one.itl_ms.get("95.0")), *([f"{b:.0%}" for b in busy] or ["-"] * 3),
            str(one.gpus or "parts"), f"{one.gpu_hours:.1f}",
            usd_range(one.usd_per_million_output_tokens) if one.usd_per_million_output_tokens else "-",
            usd_range(one.usd_per_million_total_tokens) if one.usd_per_million_total_tokens else "-",
        )  # fmt: skip
    console.print(table)
    console.print(
        "$/M output: all cost over answer tokens; $/M in+out: over prompt and answer tokens; at the simulated load. "
        "ITL: of each request's mean.",
        style="dim",
    )
    for one in found.pools:
        _details(console, one)


def _details(console: "Console", one: "PoolResult") -> None:
    name = f"{one.cell} {one.pool} ({one.model})"
    if one.status != "simulated":
        console.print(f"{name}: {one.status}: {one.why}", markup=False)
        return
    console.print(f"\n{name}: {one.requests:,} requests of {one.traffic}", style="bold", markup=False)
    if one.too_long:
        console.print(f"  left out: {one.too_long:,} requests longer than the model's context", markup=False)
    for promise in one.promises:
        seen = f", p{promise.percentile:g} is {promise.seen_ms:,.0f} ms" if promise.seen_ms is not None else ""
        mark = "[green]kept  [/]" if promise.kept else "[red]BROKEN[/]"
        console.print(f"  {mark} ", end="")
        console.print(f"{promise.promise}: {promise.share:.2%} inside{seen}", markup=False)
    if one.knee is not None:
        knee = one.knee
        if knee.broke:
            console.print(
                f"  breaks first: {knee.broke}, at {knee.factor:.2f} times this load ({knee.fullest}); so it is "
                f"{min(knee.utilization, 9.99):.0%} utilised",
                markup=False,
            )
        else:
            console.print(f"  nothing breaks up to {knee.factor:g} times this load ({knee.fullest})", markup=False)
    for loss in one.losses:
        if loss.outage:
            console.print(f"  lost node of {loss.role}: OUTAGE, all {loss.workers} workers stood on it", markup=False)
            continue
        shown = "; ".join(f"{p.promise}: {p.share:.2%}{'' if p.kept else ' BROKEN'}" for p in loss.promises)
        comes = (
            f"{loss.provision_seconds:.0f} s until replaced: {loss.provision_how}"
            if loss.provision_seconds is not None
            else loss.provision_how
        )
        console.print(
            f"  lost node of {loss.role} ({loss.workers} workers, {loss.broken_off:,} answers broken off; {comes}): "
            f"{shown or 'no promise'}",
            markup=False,
        )
    for note in one.notes:
        console.print(f"  note: {note}", style="dim", markup=False)


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
