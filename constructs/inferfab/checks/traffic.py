"""Users, cells, and the traffic between them."""

import math
from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.promises import exactly
from inferfab.checks.registry import Problem, rule
from inferfab.plan.cell_load import FULL, cell_loads


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
        shares = {record.cell: record.share for record in route.cells}
        loads = list(cell_loads(facts.fleet.pools, route.tier, shares))
        for load in loads:
            with_it = [other.cell for other in loads if other.model == load.model]
            # Shares of the file are of all cells; where others do not serve the tier, they are not those below.
            everywhere = len(with_it) == len(facts.fleet.cells)
            cell, share = load.cell, shares[load.cell]
            if load.busy > FULL and load.busy > worst.get(cell, (0.0,))[0]:
                problem = Problem(
                    ("cells", cell, "traffic_share"),
                    str(load),
                    f"write at most {math.floor(share / load.busy * 100) / 100:.2f}, or add replicas there"
                    if everywhere
                    else f"move traffic to {', '.join(f'`{c}`' for c in with_it if c != cell)}, or add replicas",
                    value=f"{share:g}",
                )
                worst[cell] = (load.busy, problem)
    yield from (problem for _, problem in worst.values())
