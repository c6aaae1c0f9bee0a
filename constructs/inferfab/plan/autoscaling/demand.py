"""Which series tell a pool's demand: requests that were started, whether or not they were answered."""

from typing import Literal

from inferfab.plan.serving.component import GraphPlan
from inferfab.record import Record


class DemandPlan(Record):
    """Where the rate of a pool's requests is read."""

    source: Literal["frontend", "router"]
    """Its own frontends; behind a router over tiers the pool's router, for there the frontends count the requests of
    all tiers together.
    """
    metric: str
    pods: str
    """Regular expression of the pods that export it: those of a graph and of the one that takes its place, together.
    The ``pod`` label is Prometheus' own; the frontend's ``dynamo_namespace`` needs the chart's relabelling.
    """
    model: str | None
    """Model label, which routers do not have."""


def plan_demand(graph: GraphPlan) -> DemandPlan:
    """:param graph: the one in which a request arrives: that of a pool, or of its prefill workers."""
    if graph.entry is None:
        return DemandPlan(
            source="router",
            # "Admitted legs": the router of a graph with one role sees each request once. It has no other count of
            # started requests (metrics of ai-dynamo 1.6.1).
            metric="dynamo_component_router_requests_started_total",
            pods=f"{graph.pods_regex}-.*",
            model=None,
        )
    return DemandPlan(
        source="frontend",
        metric="dynamo_frontend_requests_started_total",
        pods=f"{graph.pods_regex}-.*",
        model=graph.model,
    )
