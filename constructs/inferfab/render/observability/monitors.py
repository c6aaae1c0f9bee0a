"""Who is scraped, and which labels its series get."""

from inferfab.plan.fleet import CellPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.observability.observability import ObservabilityPlan
from inferfab.plan.serving.component import SYSTEM_PORT
from inferfab.record import Record
from inferfab.render.templates import render


class Monitor(Record):
    """One PodMonitor."""

    name: str
    comment: str
    key: str = "inferfab/component"
    values: tuple[str, ...]
    namespace: str | None = None
    """Default: its own."""
    path: str = "/metrics"
    port: str | None = None
    """Name of the container's port."""
    address_port: int | None = None
    interval: str = "5s"
    """Default: 5 s, as often as the planner looks."""
    node: bool = False
    sidecar: bool = False
    """The port may be that of an init container that stays."""


def monitors_of(cell: CellPlan, plan: ObservabilityPlan) -> tuple[Monitor, ...]:
    kinds = {part.kind for graph in cell.serving.graphs for part in graph.components}
    found = [
        Monitor(name="inferfab-frontends", comment="What users meet.", values=("frontend",), port="http"),
        Monitor(
            name="inferfab-workers",
            comment="Engines: vLLM's series and the runtime's, on one port.",
            values=("prefill", "decode", "worker"),
            port="system",
        ),
        Monitor(
            name="inferfab-routers",
            comment="Routers over workers and over tiers.",
            values=("router", "global-router"),
            address_port=SYSTEM_PORT,
        ),
        Monitor(
            name="inferfab-planners", comment="What the planner saw and wants.", values=("planner",), port="metrics"
        ),
    ]
    found = [m for m in found if kinds.intersection(m.values)]
    found.append(
        Monitor(
            name="inferfab-gateway",
            comment="Envoy's proxy pods, which Envoy Gateway labels.",
            key="app.kubernetes.io/managed-by",
            values=("envoy-gateway",),
            namespace=cell.gateway.namespace,
            path="/stats/prometheus",
            port="metrics",
            interval="15s",
        )
    )
    if cell.gateway.tiers:
        found.append(
            Monitor(
                name="inferfab-gateway-tokens",
                comment="The AI gateway's processor beside Envoy: tokens and latency by model and tenant (gen_ai_*).",
                key="app.kubernetes.io/managed-by",
                values=("envoy-gateway",),
                namespace=cell.gateway.namespace,
                port="aigw-admin",
                interval="15s",
                # Envoy AI Gateway 1.1 puts it in as a native sidecar: an init container that goes on running.
                sidecar=True,
            )
        )
    if plan.efa_exporter_image is not None and cell.fabric.kind == "efa":
        found.append(
            Monitor(
                name="inferfab-efa",
                comment="EFA counters of nodes.",
                key="inferfab/exporter",
                values=("efa",),
                port="efa",
                interval="15s",
                node=True,
            )
        )
    return tuple(found)


def monitors_file(cell: CellPlan, plan: ObservabilityPlan) -> str:
    return render(
        "observability/monitors.yaml.j2",
        monitors=monitors_of(cell, plan),
        namespace=SERVING_NAMESPACE,
        cell=cell.name,
    )
