"""The files of a cell's observability release."""

from inferfab.catalog.charts import charts
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.observability.observability import EFA_EXPORTER_PORT, ObservabilityPlan
from inferfab.render.observability.alerts import alert_group
from inferfab.render.observability.dashboards import dashboards
from inferfab.render.observability.fact_rules import fact_group
from inferfab.render.observability.monitors import monitors_file
from inferfab.render.observability.network_policies import metrics_policies
from inferfab.render.observability.recording_rules import cost_group, recording_group
from inferfab.render.observability.rule import Group
from inferfab.render.observability.slo_rules import slo_groups
from inferfab.render.templates import render


def rule_groups(cell: CellPlan, plan: ObservabilityPlan) -> dict[str, tuple[Group, ...]]:
    """By PrometheusRule, in the order in which they build on each other."""
    return {
        "inferfab-facts": (fact_group(cell, plan),),
        "inferfab-recording": (recording_group(), *slo_groups(cell, plan)),
        "inferfab-cost": (cost_group(),),
        "inferfab-alerts": (alert_group(cell, plan),),
    }


_TITLES = {
    "inferfab-facts": "What the plan knows and Prometheus cannot.",
    "inferfab-recording": "Series that dashboards, alerts and cost read.",
    "inferfab-cost": "Dollars per million tokens, idle time included.",
    "inferfab-alerts": "Alerts; each has a runbook page of its name.",
}


def observability_files(fleet: FleetPlan, cell: CellPlan) -> dict[str, str]:
    """Relative path to YAML text; empty for a plan of an earlier release."""
    plan = cell.observability
    if plan is None:
        return {}
    monitoring = charts()["kube-prometheus-stack"].namespace
    files = {"monitors.yaml": monitors_file(cell, plan), "network-policies.yaml": metrics_policies(cell)}
    for name, groups in rule_groups(cell, plan).items():
        files[f"rules/{name.removeprefix('inferfab-')}.yaml"] = render(
            "observability/rules.yaml.j2", title=_TITLES[name], name=name, namespace=monitoring, groups=groups
        )
    if plan.page or plan.ticket or plan.dead_mans_switch:
        files["routes.yaml"] = render(
            "observability/routes.yaml.j2",
            namespace=monitoring,
            receivers=plan.receivers,
            page=plan.page,
            ticket=plan.ticket,
            dead_mans_switch=plan.dead_mans_switch,
        )
    if plan.efa_exporter_image is not None and cell.fabric.kind == "efa":
        files["efa-exporter.yaml"] = render(
            "observability/efa_exporter.yaml.j2",
            namespace=SERVING_NAMESPACE,
            cell=cell.name,
            pools=[p.name for p in cell.pools],
            image=plan.efa_exporter_image,
            port=EFA_EXPORTER_PORT,
        )
    return files


def dashboard_files(cell: CellPlan) -> dict[str, str]:
    """A ConfigMap a dashboard, which Grafana's sidecar finds by its label."""
    if cell.observability is None:
        return {}
    return {
        f"{board.uid.removeprefix('inferfab-')}.yaml": render(
            "observability/dashboard.yaml.j2",
            name=f"{board.uid}-dashboard",
            namespace=charts()["kube-prometheus-stack"].namespace,
            file=f"{board.uid}.json",
            text=board.to_json(),
        )
        for board in dashboards(cell, cell.observability)
    }


def preview_page(cell: CellPlan) -> str | None:
    """The dashboards as a page for people without a Grafana; None for a plan of an earlier release."""
    if cell.observability is None:
        return None
    boards = dashboards(cell, cell.observability)
    return render("observability/preview.html.j2", cell=cell.name, boards=boards)
