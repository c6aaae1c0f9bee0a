"""Prometheus of a cell, from its plan."""

from inferfab.kubernetes.platform.prometheus import PrometheusSpec, RemoteWriteSpec
from inferfab.plan.fleet import CellPlan, FleetPlan


def prometheus_of(fleet: FleetPlan, cell: CellPlan, storage_class: str) -> PrometheusSpec:
    """With the spec's own defaults for a plan of an earlier release."""
    plan = cell.observability
    if plan is None:
        return PrometheusSpec(storage_class=storage_class)
    remote = plan.remote_write
    return PrometheusSpec(
        storage_class=storage_class,
        storage_gib=plan.storage_gib,
        retention_days=plan.retention_days,
        replicas=plan.prometheus_replicas,
        external_labels={"environment": fleet.ownership.name, "cell": cell.name},
        remote_write=RemoteWriteSpec(url=remote.url, secret=remote.secret, key=remote.key) if remote else None,
        rdma_counters=cell.fabric.kind == "roce",
        grafana_admin_secret=plan.grafana_admin_secret,
    )
