"""What each loss does to each tier, as text."""

from typing import TYPE_CHECKING

from inferfab.catalog.failures import failure_facts
from inferfab.render.text.numbers import percent, share
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console

    from inferfab.plan.fleet import FleetPlan
    from inferfab.plan.losses import Loss, TierLoss
    from inferfab.simulate.result import Simulation


def print_failures(console: "Console", fleet: "FleetPlan", found: "tuple[Loss, ...]") -> None:
    """Losses of capacity, what holds no GPU, and the arithmetic of availability."""
    _capacity(console, fleet, found)
    _parts(console, fleet)
    _arithmetic(console, fleet)


def _capacity(console: "Console", fleet: "FleetPlan", found: "tuple[Loss, ...]") -> None:
    table = table_of(
        f"{fleet.ownership.name}: what is lost, and what is left of the desired capacity", "lost", "tier", "model",
        "in its cell", "in all", "load", "N+1", "served", "back after", right=("in its cell", "in all", "load"),
    )  # fmt: skip
    for names, loss in _alike(found):
        for position, tier in enumerate(loss.tiers):
            here = tier.cell_left_share
            table.add_row(
                plain(names) if position == 0 else "", plain(tier.tier), plain(tier.model),
                share(here) if here is not None else "-", share(tier.left_share), share(tier.needed_share),
                "-" if here is None else "kept" if tier.n_plus_one else "NO", _served(tier),
                _back(loss) if position == 0 else "",
            )  # fmt: skip
    console.print(table)
    console.print(
        "A cell serves by its weakest role. load: planned. N+1: the cell still holds its planned load. served: whether "
        "the load fits, and when names have moved what does not fit in its cell. back: at least.",
        style="dim",
    )


def _alike(found: "tuple[Loss, ...]") -> "list[tuple[str, Loss]]":
    """Losses of one kind of thing that do the same, as one row."""
    rows: dict[tuple[object, ...], list[Loss]] = {}
    for loss in found:
        head, _, cell = loss.what.partition(" in ")
        rows.setdefault((loss.kind, head if cell else loss.what, loss.tiers, loss.back_seconds), []).append(loss)
    return [
        (
            one[0].what
            if len(one) == 1
            else f"{one[0].what.partition(' in ')[0]} in " + ", ".join(each.what.partition(" in ")[2] for each in one),
            one[0],
        )
        for one in rows.values()
    ]


def _served(tier: "TierLoss") -> str:
    if tier.left_share <= 0:
        return "OUTAGE"
    if tier.moves_seconds is None:
        gone = tier.cell_left_share == 0
        return "OUTAGE in the cell" if gone else "NO: nothing moves it"
    after = f" after {tier.moves_seconds:.0f} s" if tier.moves_seconds else ""
    return f"yes{after}" if tier.fits else f"NO{after}"


def _back(loss: "Loss") -> str:
    low = loss.back_seconds.low
    return f"{low:,.0f} s or more" if low else "unknown"


def _parts(console: "Console", fleet: "FleetPlan") -> None:
    table = table_of("\nWhat holds no GPU, and single workers", "lost", "at once", "meanwhile", "exercised by")
    for part in failure_facts().parts.values():
        table.add_row(plain(part.title), plain(part.at_once), plain(part.meanwhile), plain(part.exercised))
    console.print(table)


def _arithmetic(console: "Console", fleet: "FleetPlan") -> None:
    table = table_of(
        "\nMinutes a month without the tier, each as if nothing else failed", "tier", "model", "factor", "minutes",
        "good as", "how", right=("minutes",),
    )  # fmt: skip
    for figure in fleet.availability:
        for position, factor in enumerate(figure.factors):
            table.add_row(
                plain(figure.tier) if position == 0 else "", plain(figure.model) if position == 0 else "",
                factor.name, f"{factor.minutes_per_month:.3g}", factor.basis, plain(factor.how),
            )  # fmt: skip
    console.print(table)
    for figure in fleet.availability:
        target = f" (target {percent(figure.target_percent)})" if figure.target_percent is not None else ""
        capacity = figure.percent_of_capacity
        worst = max(figure.factors, key=lambda f: f.unavailability, default=None)
        console.print(
            f"{figure.tier} {figure.model}: {percent(figure.percent)}{target} with all of these"
            + (f"; by nodes, cells and regions alone {percent(capacity)}" if capacity is not None else "")
            + (f"; most is lost to {worst.name}. " if worst else ". ")
            + f"99.999 % is 0.44 minutes a month: {_five(figure.percent)}.",
            markup=False,
        )


def _five(value: float) -> str:
    lost = (100 - value) / 100 * 730 * 60
    return "reached on paper" if value >= 99.999 else f"not reached, {lost:.3g} are lost"


def print_simulated(console: "Console", runs: "tuple[Simulation, ...]") -> None:
    """Whether promises hold through a loss, by the simulator."""
    table = table_of("\nPromises through losses, on Dynamo's simulator", "loss", "cell", "pool", "tier", "promises")
    for run in runs:
        for pool in run.pools:
            if pool.status != "simulated":
                table.add_row(
                    plain(run.scenario),
                    plain(pool.cell),
                    plain(pool.pool),
                    plain(pool.tier),
                    plain(f"{pool.status}: {pool.why}"),
                )
                continue
            told = [f"{p.promise}: {p.share:.2%}{'' if p.kept else ' BROKEN'}" for p in pool.promises]
            told += [
                f"{loss.role} {'OUTAGE' if loss.outage else f'-{loss.workers}'}: "
                + ", ".join(f"{p.share:.2%}{'' if p.kept else ' BROKEN'}" for p in loss.promises)
                for loss in pool.losses
            ]
            table.add_row(
                plain(run.scenario), plain(pool.cell), plain(pool.pool), plain(pool.tier),
                plain("; ".join(told) or "none promised"),
            )  # fmt: skip
    console.print(table)
