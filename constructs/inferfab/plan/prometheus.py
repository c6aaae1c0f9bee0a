"""Where the cell's Prometheus answers: autoscaler, planner and capacity publisher read one field."""

from inferfab.catalog.charts import charts

_CHART_NAME = "kube-prometheus-stack"
_NAME_LENGTH = 26
"""To which the chart cuts its names, so that what is derived from them still fits."""


def prometheus_url(release: str | None = None, namespace: str | None = None) -> str:
    """Where the stack's Prometheus answers within the cluster. Defaults: release and namespace of the catalog."""
    chart = charts()[_CHART_NAME]
    name = release or chart.release
    full = name if _CHART_NAME in name else f"{name}-{_CHART_NAME}"
    return f"http://{full[:_NAME_LENGTH].rstrip('-')}-prometheus.{namespace or chart.namespace}:9090"
