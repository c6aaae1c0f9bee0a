"""Who may reach Prometheus and Alertmanager."""

from urllib.parse import urlsplit

from inferfab.catalog.charts import charts
from inferfab.plan.fleet import CellPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.prometheus import prometheus_url
from inferfab.render.templates import render


def metrics_policies(cell: CellPlan) -> str:
    """NetworkPolicies of the namespace in which metrics are kept."""
    asking = [
        {"namespace": SERVING_NAMESPACE, "why": "Dynamo's planner"},
        {"namespace": charts()["keda"].namespace, "why": "KEDA"},
        {"namespace": charts()["dynamo-platform"].namespace, "why": "Dynamo's operator"},
    ]
    if cell.cloud == "gcp":
        # GKE's API server reaches pods by agents in the cluster (konnectivity).
        asking.append({"namespace": "kube-system", "why": "the API server's agents"})
    return render(
        "observability/network_policies.yaml.j2",
        namespace=charts()["kube-prometheus-stack"].namespace,
        asking=asking,
        api_server=_api_server(cell),
        port=urlsplit(prometheus_url()).port,
    )


def _api_server(cell: CellPlan) -> tuple[str, ...]:
    """Where EKS's API server calls from. In a network of somebody else's its subnets are not known, only the whole."""
    if cell.cloud != "aws":
        return ()
    return cell.network.cidrs("control-plane") or (cell.network.cidr,)
