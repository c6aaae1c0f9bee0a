"""The files of a cell's serving release."""

from collections.abc import Iterator

from inferfab.catalog.charts import charts
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import SECRET_STORE, SERVING_NAMESPACE, token_secret_name
from inferfab.plan.observability.observability import EFA_EXPORTER_PORT
from inferfab.plan.racks.traffic import rack_traffic, system_ranges
from inferfab.plan.serving.claims import GPU_CLASS, SAME_ROOT
from inferfab.plan.serving.component import FRONTEND_PORT, SYSTEM_PORT
from inferfab.render.serving.graph import graph_file
from inferfab.render.serving.lanes import lane_file
from inferfab.render.serving.model_cache import model_cache_file
from inferfab.render.templates import render

METRICS_PORTS = (FRONTEND_PORT, SYSTEM_PORT, 9085, 19090)
"""Frontends and lanes; workers and routers; planners; NIXL (deploy/operator/internal/consts)."""


def serving_files(fleet: FleetPlan, cell: CellPlan) -> dict[str, str]:
    """Every object of the release, as files that ``kubectl apply`` takes: relative path to YAML text."""
    return dict(sorted(_files(fleet, cell, None)))


def chart_files(fleet: FleetPlan, cell: CellPlan) -> tuple[dict[str, str], dict[str, str]]:
    """The same for a Helm chart, with placeholders (and what Helm puts in their place) where a number has another
    owner once it is there.
    """
    live: dict[str, str] = {}
    files = {path.replace("/", "-"): text for path, text in sorted(_files(fleet, cell, live))}
    return files, live


def _across_the_link(cell: CellPlan) -> dict[str, tuple[str, ...]]:
    """Ranges by which policies know the pods of the other side, where the cell has nodes in AWS and in racks: each CNI
    enforces for its own nodes, and selects pods by label only among those."""
    racks = cell.racks
    if racks is None:
        return {"aws_cidrs": (), "rack_cidrs": (), "within_cidrs": ()}
    aws, outside = system_ranges(cell.network), (racks.node_cidr, racks.pod_cidr)
    mixed = any(t.name == "runtime" for t in rack_traffic(cell.serving, cell.gateway))
    return {
        "aws_cidrs": aws,
        "rack_cidrs": outside if mixed else (),
        "within_cidrs": (*aws, *outside) if mixed else (),
    }


def _files(fleet: FleetPlan, cell: CellPlan, live: dict[str, str] | None) -> Iterator[tuple[str, str]]:
    serving, variant = cell.serving, fleet.engine.variant
    for graph in serving.graphs:
        yield f"graphs/{graph.route}.yaml", graph_file(cell, graph, variant, live)
    for lane in serving.lanes:
        yield f"lanes/{lane.name}.yaml", lane_file(cell, lane)
    here = {"namespace": SERVING_NAMESPACE}
    yield (
        "entries.yaml",
        render("dynamo/entries.yaml.j2", variant, entries=serving.entries, prefer_close=cell.racks is not None, **here),
    )
    yield "model-cache.yaml", model_cache_file(cell)
    yield (
        "disruption-budgets.yaml",
        render("dynamo/disruption_budgets.yaml.j2", variant, budgets=_budgets(cell), **here),
    )
    yield (
        "network-policies.yaml",
        render(
            "dynamo/network_policies.yaml.j2",
            variant,
            gateway_namespace=cell.gateway.namespace,
            metrics_namespace=charts()["kube-prometheus-stack"].namespace,
            operator_namespace=charts()["dynamo-platform"].namespace,
            frontend_port=FRONTEND_PORT,
            system_port=SYSTEM_PORT,
            metrics_ports=_metrics_ports(cell),
            **_across_the_link(cell),
            **here,
        ),
    )
    if serving.claims:
        yield (
            "claims.yaml",
            render("dynamo/claims.yaml.j2", claims=serving.claims, gpu_class=GPU_CLASS, same_root=SAME_ROOT, **here),
        )
    adapters = _adapters(fleet, cell)
    if adapters:
        yield "adapters.yaml", render("dynamo/adapters.yaml.j2", variant, adapters=adapters, **here)
    secrets = [{"name": token_secret_name(key), "key": key} for key in fleet.tokens_of(cell)]
    if secrets:
        yield "model-tokens.yaml", render("dynamo/model_tokens.yaml.j2", secrets=secrets, store=SECRET_STORE, **here)


def _metrics_ports(cell: CellPlan) -> tuple[int, ...]:
    plan = cell.observability
    exporter = plan is not None and plan.efa_exporter_image is not None and cell.fabric.kind == "efa"
    return (*METRICS_PORTS, EFA_EXPORTER_PORT) if exporter else METRICS_PORTS


def _budgets(cell: CellPlan) -> list[dict[str, str]]:
    return [
        {"name": f"{graph.name}-{part.name}", "graph": graph.name, "component": part.name}
        for graph in cell.serving.graphs
        for part in graph.components
        if part.disruption_budget
    ]


def _adapters(fleet: FleetPlan, cell: CellPlan) -> list[dict[str, str]]:
    served = {model for pool in cell.pools for model in pool.models}
    return [
        {
            "model": model.name,
            "name": adapter.name,
            "object": f"{model.name}-{adapter.name}",
            "uri": f"hf://{adapter.source}@{adapter.revision}",
        }
        for model in fleet.models
        if model.name in served
        for adapter in model.adapters
    ]
