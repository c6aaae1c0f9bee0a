"""The questions to Prometheus of which a step is judged, and what the frontends can be held to."""

from collections.abc import Iterator

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.observability.slos import BEHIND_ROUTER
from inferfab.plan.rollout.judgement import PromiseToKeep
from inferfab.record import Record

TTFT = "dynamo_frontend_time_to_first_token_seconds_bucket"
ITL = "dynamo_frontend_inter_token_latency_seconds_bucket"
STARTED = "dynamo_frontend_requests_started_total"
FINISHED = "dynamo_frontend_requests_total"
LOST = "dynamo_frontend_failures_total"
FAILURES = ("cancelled", "internal", "overload", "response_timeout", "unavailable")
"""Values of ``error_type`` that are ours, or a sender's who waited too long; not ``validation`` and ``not_found``."""


class Signals(Record):
    """PromQL for one model in one cell."""

    started: str
    failed: str
    behind_router: str
    """Failures beside those, where a router over tiers stands before the workers."""
    ttft: str
    itl: str


def signals(model: str, minutes: int, pods: str | None = None, *, ago_minutes: int = 0) -> Signals:
    """Counts over the window.

    :param pods: regular expression of the pods that are meant; None: all of the cell.
    :param ago_minutes: the window ends so long ago.
    """
    pick = f'model="{model}"' + (f',pod=~"{pods}"' if pods else "")
    window = f"[{minutes}m]" + (f" offset {ago_minutes}m" if ago_minutes else "")
    return Signals(
        started=f"sum(increase({STARTED}{{{pick}}}{window}))",
        failed=f'sum(increase({FINISHED}{{{pick},error_type=~"{"|".join(FAILURES)}"}}{window}))',
        # It has no label of the model, but its pods have one model each.
        behind_router=f'sum(sum by (pod) (increase({LOST}{{reason="{BEHIND_ROUTER}"}}{window})) '
        f"and on (pod) increase({STARTED}{{{pick}}}{window}))",
        ttft=f"sum by (le) (increase({TTFT}{{{pick}}}{window}))",
        itl=f"sum by (le) (increase({ITL}{{{pick}}}{window}))",
    )


def planned_frontends(cell: CellPlan, model: str) -> str:
    """Pods of the frontends that the plan has for a model: those of a graph that is being replaced are not meant."""
    graphs = [g for g in cell.serving.graphs if g.model == model and g.entry is not None]
    # Names of graphs are letters, digits and dashes, none of which means anything in a regular expression.
    return "|".join(sorted(f"{g.name}-.*" for g in graphs))


def judged_models(cell: CellPlan) -> tuple[str, ...]:
    """Models that frontends of the cell answer for. Lanes of models that take turns have no such metrics."""
    return tuple(dict.fromkeys(g.model for g in cell.serving.graphs if g.entry is not None))


def behind_router(cell: CellPlan, model: str) -> bool:
    """Whether a router over tiers stands before the model's workers."""
    return any(g.global_router is not None and g.model == model for g in cell.serving.graphs)


def is_promised(fleet: FleetPlan, cell: CellPlan, model: str) -> bool:
    """Whether a tier that the model is sold in promises anything."""
    tiers = {e.tier for e in cell.serving.entries if e.model == model}
    return any(t.promises or t.availability_target_percent for t in fleet.tiers if t.name in tiers)


def promises_of(fleet: FleetPlan, cell: CellPlan, model: str) -> tuple[PromiseToKeep, ...]:
    """Promises of the tier whose frontends are its own; frontends over several tiers mix their requests."""
    return tuple(_promises(fleet, cell, model))


def _promises(fleet: FleetPlan, cell: CellPlan, model: str) -> Iterator[PromiseToKeep]:
    entries = [e for e in cell.serving.entries if e.model == model]
    if len(entries) != 1:
        return
    tier = next(t for t in fleet.tiers if t.name == entries[0].tier)
    for promise in tier.promises:
        if promise.metric in ("ttft", "itl"):
            yield PromiseToKeep(
                tier=tier.name,
                metric="ttft" if promise.metric == "ttft" else "itl",
                percentile=promise.percentile,
                at_most_ms=promise.at_most_ms,
            )
