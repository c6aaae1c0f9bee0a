"""Whether a promise can be kept at all."""

import math
from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.memory import once
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath
from inferfab.plan.performance import BANDWIDTH_EFFICIENCY, FLOPS_EFFICIENCY

_ROOFLINE = "roofline of the plan: datasheet FLOPs and bandwidth at stated efficiencies"


def ms(value: float) -> str:
    """A time with so many digits that it differs from the promise that it breaks."""
    return f"{value:,.2f} ms" if value < 10 else f"{value:,.1f} ms" if value < 10_000 else f"{value:,.0f} ms"


def exactly(promised: float) -> str:
    """A promise as the file has it."""
    return f"{promised:,.10g} ms"


def promise_path(facts: Facts, tier: str) -> YamlPath:
    """Where the file speaks of a tier; a tier of the defaults has no place of its own."""
    return ("tiers", tier) if facts.environment.tiers else ("pools",)


@rule(
    "IF-PRM-001",
    "a first token that cannot come in time",
    joins=("engine", "promise"),
    why="reading the prompt alone takes longer than the promise allows, on an idle GPU, before any queue or transfer.",
    do="split prefill over more GPUs, use a faster GPU, shorter prompts, or promise more time.",
    source=_ROOFLINE,
)
def prefill_in_time(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        promised, takes = at.tier.strictest_ms("ttft"), at.role.performance.prefill_ms
        if promised is None or takes is None or takes.high is None:
            continue
        moved = at.pool.kv_transfer.transfer_ms if at.pool.kv_transfer else 0.0
        prompt = at.pool.workload.prompt_tokens
        if takes.low + (moved or 0) > promised:
            yield Problem(
                at.path("tensor_parallel"),
                f"{prompt:,} prompt tokens take at least {ms(takes.low)} to read ({FLOPS_EFFICIENCY.high:.0%} "
                "of peak) "
                f"and {ms(moved or 0)} to move in {at.where}; tier `{at.tier.name}` promises {exactly(promised)}",
                "raise `tensor_parallel`, use a faster GPU, or promise more",
                value=str(at.role.parallelism.tensor),
            )
        elif takes.high + (moved or 0) > promised:
            yield Problem(
                at.path("tensor_parallel"),
                f"{prompt:,} prompt tokens take {ms(takes.low)} to {ms(takes.high)} to read in {at.where}; "
                f"tier `{at.tier.name}` promises {exactly(promised)}, which leaves little or nothing for queueing",
                "raise `tensor_parallel`, or simulate before relying on it",
                value=str(at.role.parallelism.tensor),
                severity="warning",
            )


@rule(
    "IF-PRM-002",
    "tokens that cannot follow fast enough",
    joins=("engine", "promise"),
    why="each token reads all weights from GPU memory; below that time no batch size helps.",
    do="split decode over more GPUs, use a smaller precision, or promise more time.",
    source=_ROOFLINE,
)
def tokens_in_time(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        promised, step = at.tier.strictest_ms("itl"), at.role.performance.decode_step_ms
        if promised is not None and step is not None and step.low > promised:
            yield Problem(
                at.path("tensor_parallel"),
                f"a token takes at least {ms(step.low)} ({BANDWIDTH_EFFICIENCY.high:.0%} of memory bandwidth) "
                f"in {at.where}; "
                f"tier `{at.tier.name}` promises {exactly(promised)}",
                "raise `tensor_parallel`, or promise more",
                value=str(at.role.parallelism.tensor),
            )


@rule(
    "IF-PRM-003",
    "an answer that cannot be whole in time",
    joins=("engine", "promise"),
    why="first token plus the promised number of tokens takes longer than the promise.",
    do="promise shorter answers or more time, or use faster workers.",
    source=_ROOFLINE,
)
def answers_in_time(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        step = at.role.performance.decode_step_ms
        if step is None:
            continue
        reader = next((r for r in at.pool.roles if r.performance.prefill_ms), at.role)
        first = reader.performance.prefill_ms.low if reader.performance.prefill_ms else 0.0
        if at.pool.kv_transfer:
            first += at.pool.kv_transfer.transfer_ms or 0.0
        for promise in at.tier.promises:
            if promise.metric != "whole_answer":
                continue
            tokens = promise.answers_up_to_tokens or at.pool.workload.output_tokens
            least = first + tokens * step.low
            if least > promise.at_most_ms:
                yield Problem(
                    at.path("tensor_parallel"),
                    f"{tokens:,} tokens take at least {ms(least)} in {at.where}; tier `{at.tier.name}` promises "
                    f"{exactly(promise.at_most_ms)}",
                    "raise `tensor_parallel`, lower `max_sequences`, or promise shorter answers",
                    value=str(at.role.parallelism.tensor),
                )


@rule(
    "IF-PRM-004",
    "an availability that is not reached",
    joins=("cloud", "promise"),
    why="with the stated failure rates, so much of the time the planned load does not fit on what is up.",
    do="add cells or replicas, lower the planned utilization, or lower the target.",
    source="failure rates in the catalog; arithmetic of the plan",
)
def availability_reached(facts: Facts) -> Iterator[Problem]:
    for figure in facts.fleet.availability:
        if figure.reaches_target:
            continue
        hours = (100 - figure.percent) / 100 * 8760
        yield Problem(
            promise_path(facts, figure.tier),
            f"`{figure.model}` in tier `{figure.tier}` reaches {figure.percent:.3f} % over {figure.cells} cell(s) "
            f"in {figure.regions} region(s) "
            f"({hours:,.0f} h a year without the planned load), the target is {figure.target_percent:g} %",
            "add a cell, or lower `utilization` so that the load fits without one cell",
            value=f"{figure.percent:.3f}",
            of_key=True,
        )


@rule(
    "IF-PRM-005",
    "users too far away",
    severity="warning",
    joins=("environment", "promise"),
    why="the round trip comes on top of everything that the cell does.",
    do="add a cell near these users, or promise more time.",
    source="measured round trips in the catalog",
)
def users_near_enough(facts: Facts) -> Iterator[Problem]:
    routing = facts.environment.routing
    for position, users in enumerate(routing.users_near if routing else ()):
        for route in facts.fleet.routing.routes:
            promised = facts.tier(route.tier).strictest_ms("ttft")
            serving = {r.cell for r in route.cells}
            trips = [
                t
                for t in facts.fleet.routing.round_trips
                if t.users_near == users and t.cell in serving and t.rtt_ms is not None
            ]
            nearest = min(trips, key=lambda t: t.rtt_ms or 0.0, default=None)
            if promised is None or nearest is None or nearest.rtt_ms is None:
                continue
            if nearest.rtt_ms > promised / 4:
                yield Problem(
                    ("routing", "users_near", position),
                    f"from {users} the nearest cell of tier `{route.tier}` is {nearest.cell}, {nearest.rtt_ms:,.0f} "
                    "ms away, "
                    f"more than a quarter of the promised {exactly(promised)}",
                    "add a cell near these users, or promise more",
                )


@rule(
    "IF-PRM-006",
    "a cell that gets more than it can take",
    joins=("environment", "promise"),
    why="requests beyond what a cell's workers serve wait or are shed, while other cells have room.",
    do="give the cell a smaller `traffic_share`, or more replicas there.",
    source="arithmetic of the plan: share of traffic over share of capacity, times the planned utilization",
)
def cells_take_their_share(facts: Facts) -> Iterator[Problem]:
    for route in facts.fleet.routing.routes:
        capacity: dict[str, dict[str, float]] = {}
        for pool in facts.fleet.pools:
            if pool.tier == route.tier and pool.requests_per_second.low > 0:
                for model in pool.models:
                    by_cell = capacity.setdefault(model, {})
                    by_cell[pool.cell] = by_cell.get(pool.cell, 0.0) + pool.requests_per_second.low
        utilization = max(p.workload.utilization for p in facts.fleet.pools if p.tier == route.tier)
        for model, by_cell in capacity.items():
            shares = {r.cell: r.share for r in route.cells if r.cell in by_cell}
            whole, offered = sum(by_cell.values()), sum(shares.values())
            if not offered:
                continue  # cells that get no traffic, as while they are drained
            # Shares of the file are of all cells; where others do not serve the tier, they are not those below.
            everywhere = len(shares) == len(facts.fleet.cells)
            for cell, share in shares.items():
                busy = share / offered / (by_cell[cell] / whole) * utilization
                if busy > 1 + 1e-9:
                    yield Problem(
                        ("cells", cell, "traffic_share"),
                        f"`{cell}` gets {share / offered:.0%} of `{model}`'s traffic in tier `{route.tier}` with "
                        f"{by_cell[cell] / whole:.0%} of its capacity: {busy:.0%} busy at the planned utilization of "
                        f"{utilization:.0%}",
                        f"write at most {math.floor(share / busy * 100) / 100:.2f}, or add replicas there"
                        if everywhere
                        else f"move traffic to {', '.join(f'`{c}`' for c in shares if c != cell)}, or add replicas",
                        value=f"{share:g}",
                    )
