"""Who acts in AWS from inside a cell's cluster: Pod Identity grants to the accounts that the charts make."""

from functools import cache

from inferfab.catalog.charts import charts
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.record import Record


class ServiceAccount(Record):
    """A Kubernetes service account."""

    namespace: str
    name: str


class ServiceAccounts(Record):
    """Those of the platform that have a role in AWS."""

    autoscaler: ServiceAccount
    load_balancer_controller: ServiceAccount
    external_secrets: ServiceAccount
    capacity_publisher: ServiceAccount
    cert_manager: ServiceAccount
    model_cache: ServiceAccount
    """Fetches models to the nodes."""


@cache
def service_accounts() -> ServiceAccounts:
    """Each in its chart's namespace; the capacity publisher beside the Prometheus that it reads."""

    def of(chart: str, name: str) -> ServiceAccount:
        return ServiceAccount(namespace=charts()[chart].namespace, name=name)

    return ServiceAccounts(
        autoscaler=of("cluster-autoscaler", "cluster-autoscaler"),
        load_balancer_controller=of("aws-load-balancer-controller", "aws-load-balancer-controller"),
        external_secrets=of("external-secrets", "external-secrets"),
        capacity_publisher=of("kube-prometheus-stack", "capacity-publisher"),
        cert_manager=of("cert-manager", "cert-manager"),
        model_cache=ServiceAccount(namespace=SERVING_NAMESPACE, name="model-cache"),
    )
