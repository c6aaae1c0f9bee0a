"""Where the gateway finds a tier's model."""

from pydantic import PositiveInt

from inferfab.plan.aws_names import fit
from inferfab.plan.serving.component import FRONTEND_PORT, GraphPlan
from inferfab.plan.serving.global_router import TierTarget
from inferfab.plan.serving.lanes import LanePlan
from inferfab.record import Record

_SERVICE_LENGTH = 63
"""Of a Service's name: it becomes a DNS label (RFC 1035)."""


class EntryPlan(Record):
    """One stable Service for a model of a tier. It selects frontends of whatever graph, so an old and a new one serve
    together while one replaces the other.
    """

    tier: str
    model: str
    service: str
    port: PositiveInt = FRONTEND_PORT
    selects: dict[str, str]
    """Labels of the pods that answer: frontends of whatever graph, or lanes that hold the model."""
    target: TierTarget | None
    """What the gateway tags requests with; None where the tier's own frontends answer."""


def entry_name(tier: str, model: str) -> str:
    return fit(f"{tier}-{model}", _SERVICE_LENGTH)


def plan_entries(graphs: tuple[GraphPlan, ...], lanes: tuple[LanePlan, ...]) -> tuple[EntryPlan, ...]:
    """One for each model of each tier; the frontends of a router over pools answer for all its tiers."""
    found: dict[tuple[str, str], EntryPlan] = {}
    for graph in graphs:
        if graph.entry is None:
            continue
        targets: dict[str, TierTarget | None] = {}
        if graph.global_router is not None:
            targets |= {target.tier: target for target in graph.global_router.targets}
        elif graph.tier is not None:
            targets[graph.tier] = None
        for tier, target in targets.items():
            found[tier, graph.model] = EntryPlan(
                tier=tier,
                model=graph.model,
                service=entry_name(tier, graph.model),
                selects={"inferfab/entry": graph.entry, "inferfab/component": "frontend"},
                target=target,
            )
    for lane in lanes:
        for engine in lane.engines:
            found[lane.tier, engine.model] = EntryPlan(
                tier=lane.tier,
                model=engine.model,
                service=entry_name(lane.tier, engine.model),
                selects={"inferfab/component": "lane", f"inferfab/holds-{engine.model}": "true"},
                target=None,
            )
    return tuple(found[key] for key in sorted(found))
