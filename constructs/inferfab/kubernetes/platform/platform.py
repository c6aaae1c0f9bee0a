"""Everything that a cell's cluster gets before the fleet, in the order in which one needs the other."""

from typing import Literal

from pydantic import model_validator

from inferfab.catalog.charts import chart_problems, charts
from inferfab.kubernetes.local_chart import LocalChart, LocalChartSpec
from inferfab.kubernetes.platform.capacity import CapacityPublisherSpec
from inferfab.kubernetes.platform.cell_objects import CellObjectsSpec
from inferfab.kubernetes.platform.cert_manager import CertManagerSpec
from inferfab.kubernetes.platform.cilium import CiliumSpec
from inferfab.kubernetes.platform.cluster_autoscaler import ClusterAutoscalerSpec
from inferfab.kubernetes.platform.dynamo import DynamoPlatformSpec
from inferfab.kubernetes.platform.edge import GatewayBinding, SecretStore
from inferfab.kubernetes.platform.efa import EfaSpec
from inferfab.kubernetes.platform.external_secrets import ExternalSecretsSpec
from inferfab.kubernetes.platform.gateways import AiGatewaySpec, EnvoyGatewaySpec
from inferfab.kubernetes.platform.gpu_operator import GpuOperatorSpec
from inferfab.kubernetes.platform.keda import KedaSpec
from inferfab.kubernetes.platform.load_balancer_controller import LoadBalancerControllerSpec
from inferfab.kubernetes.platform.network_operator import NetworkOperatorSpec
from inferfab.kubernetes.platform.prometheus import PrometheusSpec
from inferfab.kubernetes.release import ChartRelease, ChartReleaseSpec
from inferfab.plan.images import ImageSource
from inferfab.record import Record
from inferfab.render.values import Values
from inferfab.terraform import Construct

EfaPlugin = Literal["aws-efa-k8s-device-plugin", "aws-dranet"]


class PlatformSpec(Record):
    """What a cell's cluster gets."""

    kubernetes: str
    """Minor version of the cluster (``1.36``)."""
    cell_objects: CellObjectsSpec
    load_balancer_controller: LoadBalancerControllerSpec | None = None
    """AWS. Default: not installed."""
    cluster_autoscaler: ClusterAutoscalerSpec | None = None
    """AWS; GKE has its own. Default: not installed."""
    prometheus: PrometheusSpec
    dynamo: DynamoPlatformSpec
    gateway: GatewayBinding | None = None
    """AWS: puts the gateway's pods into a target group. Default: the gateway's Service has an address of its own."""
    secret_store: SecretStore | None = None
    """Where External Secrets takes secrets from. It is never ready while its role may read none. Default: no store."""
    envoy_gateway: EnvoyGatewaySpec | None = None
    """Makes proxies of Gateways, and brings the Gateway API. Default: not installed."""
    ai_gateway: AiGatewaySpec | None = None
    """Its extension for models and tokens. Default: not installed."""
    capacity: CapacityPublisherSpec | None = None
    """AWS: publishes free capacity to CloudWatch. Default: nobody hears of it."""
    cert_manager: CertManagerSpec = CertManagerSpec()
    external_secrets: ExternalSecretsSpec | None = ExternalSecretsSpec()
    """None: not installed. Default: installed."""
    gpu_operator: GpuOperatorSpec = GpuOperatorSpec()
    keda: KedaSpec | None = KedaSpec()
    """None: not installed. Default: installed."""
    efa_plugin: EfaPlugin | None = None
    """What hands EFA interfaces to pods; the two exclude each other. Default: no EFA in this cluster."""
    efa: EfaSpec = EfaSpec()
    network_operator: NetworkOperatorSpec | None = None
    """Owned racks: NVIDIA's network operator. Default: not installed."""
    cilium: CiliumSpec | None = None
    """Owned racks: the CNI of hybrid nodes. Default: not installed."""
    images: ImageSource = ImageSource()
    """Where charts and their images come from. Default: their own registries."""
    fabric_objects: dict[str, str] = {}
    """Objects that set the RoCE fabric up, by file name: of racks, or of Google's networks. Default: none."""

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> "PlatformSpec":
        problems = chart_problems(self.chart_values(), self.kubernetes)
        if self.gpu_operator.efa != (self.efa_plugin is not None):
            problems.append(
                "gpu_operator.efa and efa_plugin must agree: both plugins would hand out the same RDMA devices"
            )
        if self.cluster_autoscaler and self.cluster_autoscaler.kubernetes != self.kubernetes:
            problems.append("cluster_autoscaler.kubernetes is not the cluster's version")
        if self.gateway and self.gateway.namespace not in self.cell_objects.namespaces:
            problems.append(f'cell_objects.namespaces lacks the gateway\'s "{self.gateway.namespace}"')
        if self.ai_gateway and not self.envoy_gateway:
            problems.append("ai_gateway is an extension of envoy_gateway, which is not installed")
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def chart_values(self) -> dict[str, Values]:
        """Values by chart of the catalog."""
        values = {
            "cert-manager": self.cert_manager.values(),
            "kube-prometheus-stack": self.prometheus.values(),
            "gpu-operator": self.gpu_operator.values(),
            "dynamo-platform": self.dynamo.values(),
        }
        if self.external_secrets:
            values["external-secrets"] = self.external_secrets.values()
        if self.load_balancer_controller:
            values["aws-load-balancer-controller"] = self.load_balancer_controller.values()
        if self.envoy_gateway:
            values["envoy-gateway"] = self.envoy_gateway.values()
        if self.ai_gateway:
            values["ai-gateway-crds"] = {}
            values["ai-gateway"] = self.ai_gateway.values()
        if self.cluster_autoscaler:
            values["cluster-autoscaler"] = self.cluster_autoscaler.values()
        if self.network_operator:
            values["network-operator"] = self.network_operator.values()
        if self.cilium:
            values["cilium"] = self.cilium.values()
        if self.keda:
            values["keda"] = self.keda.values()
        if self.efa_plugin:
            values[self.efa_plugin] = self.efa.values()
        return values


class Platform(Construct):
    """All releases of a cell's cluster.

    Order: our namespaces and storage class; cert-manager; Prometheus with the monitoring CRDs that every later chart
    looks for; controllers, GPU and EFA; Dynamo; and last our objects of the kinds that those brought.

    Example::

        from inferfab.kubernetes import cluster_provider
        from inferfab.kubernetes.platform import (
            CapacityPublisherSpec, CellObjectsSpec, ClusterAutoscalerSpec, DynamoPlatformSpec, GatewayBinding,
            LoadBalancerControllerSpec, Platform, PlatformSpec, PrometheusSpec, SecretStore, ServingTier,
            prometheus_url,
        )

        name, region = "prod-use1-a", "us-east-1"
        cluster = cluster_provider(stack, name, region)
        spec = PlatformSpec(
            kubernetes="1.36",
            cell_objects=CellObjectsSpec(
                tiers=(ServingTier(name="priority", priority=300_000),), namespaces=("gateway",)
            ),
            load_balancer_controller=LoadBalancerControllerSpec(
                cluster_name=name, region=region, vpc_id=cluster.vpc_id
            ),
            cluster_autoscaler=ClusterAutoscalerSpec(cluster_name=name, region=region, kubernetes="1.36"),
            prometheus=PrometheusSpec(storage_class="gp3-encrypted"),
            dynamo=DynamoPlatformSpec(prometheus_url=prometheus_url()),
            gateway=GatewayBinding(namespace="gateway", service="entrance", target_group_name="prod-use1-a-gateway"),
            secret_store=SecretStore(region=region, namespaces=("serving", "gateway")),
            capacity=CapacityPublisherSpec(
                cell="use1-a",
                region=region,
                graphs_by_tier={"priority": ("chat-[0-9a-f]{6}",)},
                prometheus_url=prometheus_url(),
                log_group="/inferfab/prod-use1-a/capacity",
            ),
        )
        Platform(stack, "platform", spec)
    """

    def __init__(self, scope: Construct, construct_id: str, spec: PlatformSpec) -> None:
        super().__init__(scope, construct_id)
        self._values, self._images = spec.chart_values(), spec.images
        objects = self._own("cell-objects", spec.cell_objects.chart())
        if spec.cilium:
            # Without it no hybrid node is ready.
            self._install("cilium", objects)
        cert_manager = self._install("cert-manager", objects)
        prometheus = self._install("kube-prometheus-stack", objects, cert_manager)
        edge = [prometheus]
        if spec.external_secrets:
            edge.append(self._install("external-secrets", prometheus))
        if spec.load_balancer_controller:
            edge.append(self._install("aws-load-balancer-controller", prometheus))
        if spec.envoy_gateway:
            gateway = self._install("envoy-gateway", cert_manager, prometheus)
            if spec.ai_gateway:
                self._install("ai-gateway", self._install("ai-gateway-crds", prometheus), gateway)
        if spec.cluster_autoscaler:
            self._install("cluster-autoscaler", prometheus)
        gpus = self._install("gpu-operator", prometheus)
        nodes = [gpus, self._install(spec.efa_plugin, gpus)] if spec.efa_plugin else [gpus]
        if spec.network_operator:
            nodes.append(self._install("network-operator", gpus))
        if spec.fabric_objects:
            words = "NICs, networks and addresses of the RoCE fabric"
            chart = LocalChartSpec(name="cell-fabric", description=words, files=spec.fabric_objects)
            nodes.append(self._own("cell-fabric", chart, *nodes))
        if spec.keda:
            self._install("keda", prometheus)
        self._install("dynamo-platform", cert_manager, prometheus, *nodes)
        files = {
            **(spec.gateway.files() if spec.gateway else {}),
            **(spec.secret_store.files() if spec.secret_store else {}),
            **(spec.capacity.files() if spec.capacity else {}),
        }
        if files:
            words = "Gateway binding, secret store, published capacity"
            self._own("cell-edge", LocalChartSpec(name="cell-edge", description=words, files=files), *edge)

    def _install(self, name: str, *after: ChartRelease) -> ChartRelease:
        # Its CRDs come by a hook, so on an upgrade the cluster does not know them when Helm checks the objects.
        hooked = name == "gpu-operator"
        release = ChartReleaseSpec.of(
            charts()[name], self._values[name], images=self._images, disable_openapi_validation=hooked
        )
        return ChartRelease(self, name, release, after=after)

    def _own(self, name: str, spec: LocalChartSpec, *after: ChartRelease) -> ChartRelease:
        chart = LocalChart(self, f"{name}-chart", spec)
        release = ChartReleaseSpec(
            name=name,
            chart=chart.path,
            version=chart.version,
            # What the release brings stands in namespaces of its own; only Helm's record of it is here.
            namespace="inferfab",
        )
        return ChartRelease(self, name, release, after=after)
