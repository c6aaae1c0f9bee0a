"""Whether the promised availability is reached, and what would."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.promises import promise_path
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import at_most, either, plain
from inferfab.environment.rollout import Rollout
from inferfab.environment.tiers import Spill
from inferfab.plan.availability import AvailabilityPlan, CellCapacity, RoleNodes
from inferfab.plan.pools import PoolPlan
from inferfab.plan.tier_availability import OperationsOf, operations_of, tier_availability


@rule(
    "IF-PRM-004",
    "an availability that is not reached",
    joins=("cloud", "promise"),
    why="with the stated failure rates, so much of the time the planned load does not fit on what is up, or does not "
    "reach it.",
    do="add cells or replicas, lower the planned utilization, let the tier spill, or lower the target.",
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
            f"({hours:,.0f} h a year are lost, most to {_worst(figure)}), "
            f"the target is {plain(figure.target_percent)} %",
            _more_available(facts, figure),
            value=f"{figure.percent:.3f}",
            of_key=True,
        )


def _worst(figure: AvailabilityPlan) -> str:
    return max(figure.factors, key=lambda f: f.unavailability).name


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
    spill = facts.tier(figure.tier).spill
    operations = operations_of(
        facts.environment,
        figure.model,
        {c.name: c.serving for c in facts.fleet.cells if c.name in {p.cell for p in pools}},
    )

    def reaches(
        cells: tuple[CellCapacity, ...], busy: float, spill: Spill = spill, operations: OperationsOf = operations
    ) -> bool:
        like = max(operations.gateways.values(), default=0)
        return tier_availability(
            figure.tier,
            figure.model,
            cells,
            utilization=busy,
            target_percent=target,
            spill=spill,
            operations=operations.model_copy(
                update={"gateways": {c.cell: operations.gateways.get(c.cell, like) for c in cells}}
            ),
        ).reaches_target

    ways = []
    if spill != "any" and len(cells) > 1 and facts.fleet.routing.domain and reaches(cells, utilization, "any"):
        ways.append("write `spill: any`")
    if operations.judge_minutes is None and len(facts.fleet.cells) > 1:
        first = min(c.traffic_share for c in facts.fleet.cells)
        judged = {"judge_minutes": Rollout().judge_minutes, "first_share": first}
        if reaches(cells, utilization, operations=operations.model_copy(update=judged)):
            ways.append("write `rollout:`, so that changes are judged in one cell first")
    steps = [n / 20 for n in range(19, 0, -1) if n / 20 < utilization]
    if steps and reaches(cells, steps[-1]):
        ways.append(f"lower `utilization` to {plain(next(u for u in steps if reaches(cells, u)))}")
    if spill != "never":
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
