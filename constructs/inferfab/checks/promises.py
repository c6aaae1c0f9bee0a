"""Whether a promise can be kept at all."""

import math
from collections.abc import Iterator

from inferfab.checks.facts import Facts, Placed
from inferfab.checks.memory import once
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import Keeps, Tried, at_least, at_most, either, more_gpus, other_gpus, plain, tried
from inferfab.environment.pools import SharedPool
from inferfab.environment.tiers import Promise
from inferfab.findings import YamlPath
from inferfab.plan.availability import AvailabilityPlan, CellCapacity, RoleNodes, plan_availability
from inferfab.plan.performance import BANDWIDTH_EFFICIENCY, FLOPS_EFFICIENCY
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import Range

_ROOFLINE = "roofline of the plan: datasheet FLOPs and bandwidth at stated efficiencies"
_DAY_MS = 86_400_000
"""More than that cannot be promised."""


def ms(value: float) -> str:
    """A time with so many digits that it differs from the promise that it breaks."""
    if value < 0.01:
        return f"{value:.2g} ms"
    return f"{value:,.2f} ms" if value < 10 else f"{value:,.1f} ms" if value < 10_000 else f"{value:,.0f} ms"


def exactly(promised: float) -> str:
    """A promise as the file has it."""
    return f"{promised:,.10g} ms"


def faster(facts: Facts, at: Placed, keeps: Keeps) -> list[str]:
    """More or other GPUs with which the promise is kept; none that would not help."""
    return more_gpus(facts, at, keeps) or other_gpus(facts, at, keeps)


def slower_promise(least: float | None) -> str:
    """``promise at least 431 ms``, where the format takes that."""
    return f"promise at least {at_least(least)} ms" if least is not None and least <= _DAY_MS else ""


def _high(value: Range | None) -> float | None:
    return value.high if value else None


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
        moved = (at.pool.kv_transfer.transfer_ms or 0.0) if at.pool.kv_transfer else 0.0
        if takes.high + moved <= promised:
            continue
        impossible = takes.low + moved > promised

        def keeps(worker: Tried, most: float = promised - moved) -> bool:
            high = _high(worker.performance.prefill_ms)
            return high is not None and high <= most

        def can(worker: Tried, most: float = promised - moved) -> bool:
            reads = worker.performance.prefill_ms
            return reads is not None and reads.low <= most

        ways = faster(facts, at, keeps) or (faster(facts, at, can) if impossible else [])
        prompt = at.pool.workload.prompt_tokens
        if impossible:
            yield Problem(
                at.path("tensor_parallel"),
                f"{prompt:,} prompt tokens take at least {ms(takes.low)} to read ({FLOPS_EFFICIENCY.high:.0%} "
                "of peak) "
                f"and {ms(moved)} to move in {at.where}; tier `{at.tier.name}` promises {exactly(promised)}",
                either(*ways, slower_promise(takes.high + moved), "" if ways else "plan for shorter prompts"),
                value=str(at.role.parallelism.tensor),
            )
        else:
            yield Problem(
                at.path("tensor_parallel"),
                f"{prompt:,} prompt tokens take {ms(takes.low)} to {ms(takes.high)} to read in {at.where}; "
                f"tier `{at.tier.name}` promises {exactly(promised)}, which leaves little or nothing for queueing",
                either(*ways, "simulate before relying on it"),
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

            def keeps(worker: Tried, most: float = promised) -> bool:
                token = worker.performance.decode_step_ms
                return token is not None and token.low <= most

            yield Problem(
                at.path("tensor_parallel"),
                f"a token takes at least {ms(step.low)} ({BANDWIDTH_EFFICIENCY.high:.0%} of memory bandwidth) "
                f"in {at.where}; "
                f"tier `{at.tier.name}` promises {exactly(promised)}",
                either(*_smaller_batch(facts, at, keeps), *faster(facts, at, keeps), slower_promise(step.low)),
                value=str(at.role.parallelism.tensor),
            )


def _smaller_batch(facts: Facts, at: Placed, keeps: Keeps) -> list[str]:
    """A limit on the batch with which the promise is kept: fewer sequences read less cache a token."""
    sequences = at.role.batch.max_sequences // 2
    while sequences:
        if keeps(tried(facts, at, max_sequences=sequences)):
            return [f"lower `max_sequences` to {sequences}"]
        sequences //= 2
    return []


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
            if least <= promise.at_most_ms:
                continue
            budget = (promise.at_most_ms - first) / tokens

            def keeps(worker: Tried, most: float = budget) -> bool:
                token = worker.performance.decode_step_ms
                return token is not None and token.low <= most

            fitting = math.floor((promise.at_most_ms - first) / step.low)
            yield Problem(
                at.path("tensor_parallel"),
                f"{tokens:,} tokens take at least {ms(least)} in {at.where}; tier `{at.tier.name}` promises "
                f"{exactly(promise.at_most_ms)}",
                either(
                    *_smaller_batch(facts, at, keeps),
                    *faster(facts, at, keeps),
                    f"promise only answers of at most {fitting} tokens (`answers_up_to_tokens`)" if fitting > 0 else "",
                    slower_promise(least),
                ),
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
        assert figure.target_percent is not None
        yield Problem(
            promise_path(facts, figure.tier),
            f"`{figure.model}` in tier `{figure.tier}` reaches {_below(figure.percent)} % over {figure.cells} cell(s) "
            f"in {figure.regions} region(s) "
            f"({hours:,.0f} h a year without the planned load), the target is {plain(figure.target_percent)} %",
            _more_available(facts, figure),
            value=f"{figure.percent:.3f}",
            of_key=True,
        )


def _below(percent: float) -> str:
    """Three digits behind the point, more where they would round to 100."""
    for digits in range(3, 10):
        shown = f"{percent:.{digits}f}"
        if float(shown) < 100:
            return shown
    return "100"


def _more_available(facts: Facts, figure: AvailabilityPlan) -> str:
    """What would reach the target, tried out: replicas at all, less load, more cells, or else a lower target."""
    target = figure.target_percent or 0.0
    pools = [p for p in facts.fleet.pools if p.tier == figure.tier and figure.model in p.models]
    cells = capacities(facts, pools)
    lower = at_most(figure.percent, 3)
    promise_less = (
        f"write `availability_percent: {lower}`" if figure.percent > 0 else "leave `availability_percent` at 0"
    )
    if not any(c.share for c in cells):
        return either("raise `desired`: at the desired size nothing runs", promise_less)
    utilization = max(p.workload.utilization for p in pools)
    spills = facts.tier(figure.tier).spill != "never"

    def reaches(cells: tuple[CellCapacity, ...], busy: float) -> bool:
        plan = plan_availability(
            figure.tier, figure.model, cells, utilization=busy, target_percent=target, spills=spills
        )
        return plan.reaches_target

    ways = []
    steps = [n / 20 for n in range(19, 0, -1) if n / 20 < utilization]
    if steps and reaches(cells, steps[-1]):
        ways.append(f"lower `utilization` to {plain(next(u for u in steps if reaches(cells, u)))}")
    if spills:
        like = max(cells, key=lambda c: c.share)
        for more in (1, 2, 3):
            added = tuple(like.model_copy(update={"cell": f"+{n}", "region": f"+{n}"}) for n in range(more))
            if reaches((*cells, *added), utilization):
                ways.append(f"add {more} cell{'s' if more > 1 else ''} like `{like.cell}` in other regions")
                break
    return either(*ways, promise_less)


def capacities(facts: Facts, pools: list[PoolPlan]) -> tuple[CellCapacity, ...]:
    """What failures leave of these pools, cell by cell, as the plan counts it."""
    found = []
    gpus = {c.name: 0 for c in facts.fleet.cells}
    roles: dict[str, list[RoleNodes]] = {}
    for pool in pools:
        for group in facts.fleet.node_groups:
            if group.cell == pool.cell and group.pool == pool.name:
                gpus[pool.cell] += group.gpus.desired
                replicas = next((r.workers.desired for r in pool.roles if r.role == group.role), group.nodes.desired)
                roles.setdefault(pool.cell, []).append(
                    RoleNodes(
                        replicas=replicas,
                        nodes=group.nodes.desired,
                        gpus_per_node=group.gpus_per_node,
                        nodes_per_worker=group.nodes_per_worker,
                    )
                )
    whole = sum(gpus.values())
    for cell in facts.fleet.cells:
        if cell.name in roles:
            share = gpus[cell.name] / whole if whole else 0.0
            region = f"{cell.cloud}:{cell.region}"
            found.append(CellCapacity(cell=cell.name, region=region, share=share, roles=tuple(roles[cell.name])))
    return tuple(found)


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
    # A cell has one share: of the tiers and models that it is too large for, the busiest is named.
    worst: dict[str, tuple[float, Problem]] = {}
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
                if busy > 1 + 1e-9 and busy > worst.get(cell, (0.0,))[0]:
                    problem = Problem(
                        ("cells", cell, "traffic_share"),
                        f"`{cell}` gets {share / offered:.0%} of `{model}`'s traffic in tier `{route.tier}` with "
                        f"{by_cell[cell] / whole:.0%} of its capacity: {busy:.0%} busy at the planned utilization of "
                        f"{utilization:.0%}",
                        f"write at most {math.floor(share / busy * 100) / 100:.2f}, or add replicas there"
                        if everywhere
                        else f"move traffic to {', '.join(f'`{c}`' for c in shares if c != cell)}, or add replicas",
                        value=f"{share:g}",
                    )
                    worst[cell] = (busy, problem)
    yield from (problem for _, problem in worst.values())


@rule(
    "IF-PRM-007",
    "a promise of which nothing is known",
    severity="warning",
    joins=("engine", "promise"),
    why="how fast models are that share GPUs depends on what runs beside them; the plan works out no times for them.",
    do="measure before relying on it, serve promised tiers from pools of one model, or promise nothing there.",
    source="scope of the plan: rooflines are of workers that have their GPUs alone",
)
def shared_promises_known(facts: Facts) -> Iterator[Problem]:
    for name, pool in facts.environment.pools.items():
        tier = facts.tier(pool.tier)
        if isinstance(pool, SharedPool) and tier.promises:
            yield Problem(
                ("pools", name, "tier"),
                f"tier `{tier.name}` promises {'; '.join(map(str, tier.promises))}, and `{name}` is shared",
                "serve the tier from an aggregated or disaggregated pool, or name a tier without promises",
            )


@rule(
    "IF-PRM-008",
    "a plan without headroom",
    severity="warning",
    joins=("environment", "promise"),
    why="the nearer to fully busy, the longer the queue: at 95 % requests wait many times as long as they take.",
    do="plan for 0.7 or less where latency is promised, and for at most 0.95 elsewhere.",
    source="queueing: the mean wait grows with utilization / (1 - utilization)",
)
def headroom_planned(facts: Facts) -> Iterator[Problem]:
    places: list[tuple[YamlPath, float]] = [
        (("tiers", name, "workload", "utilization"), tier.workload.utilization)
        for name, tier in (facts.environment.tiers or {}).items()
        if tier.workload is not None
    ]
    places += [
        (("pools", name, "workload", "utilization"), pool.workload.utilization)
        for name, pool in facts.environment.pools.items()
        if pool.workload is not None
    ]
    for path, share in places:
        if share > _BUSIEST:
            yield Problem(
                path, f"{plain(share * 100)} % busy is planned, which leaves no room for a queue", "write at most 0.95"
            )


_BUSIEST = 0.95


@rule(
    "IF-PRM-009",
    "promises of one tier that do not go together",
    severity="warning",
    stage="reference",
    joins=("environment", "promise"),
    why="the stricter one decides, so the other says nothing, and usually one of the two was mistyped.",
    do="keep one promise a metric and percentile; higher percentiles have higher bounds.",
    source="definition of a percentile: what 95 % of requests keep, 50 % keep too",
)
def promises_go_together(facts: Facts) -> Iterator[Problem]:
    for name, tier in (facts.environment.tiers or {}).items():
        promises = tier.promises or ()
        for position, one in enumerate(promises):
            path: YamlPath = ("tiers", name, "promises", position)
            for other in promises[:position]:
                if (one.metric, one.answers_up_to_tokens) != (other.metric, other.answers_up_to_tokens):
                    continue
                if one.percentile == other.percentile:
                    same = one.at_most_ms == other.at_most_ms
                    yield Problem(
                        path,
                        f"{_words(one)} stands beside {_words(other)}",
                        "remove one of the two",
                        value=plain(one.percentile),
                        severity="warning" if same else "error",
                    )
                    break
                high, low = (one, other) if one.percentile > other.percentile else (other, one)
                if high.at_most_ms < low.at_most_ms:
                    yield Problem(
                        ("tiers", name, "promises", promises.index(low), "at_most_ms"),
                        f"{_words(high)} is stricter than {_words(low)}, which is then kept anyway",
                        f"write at most {plain(high.at_most_ms)} for p{plain(low.percentile)}, or remove it",
                    )
                    break


def _words(promise: Promise) -> str:
    return f"{promise.metric} p{plain(promise.percentile)} of {exactly(promise.at_most_ms)}"
