"""The platform of a cell's cluster: a spec a chart, and the construct that installs them in order."""

from inferfab.kubernetes.platform.capacity import CapacityPublisherSpec, FreeCapacity
from inferfab.kubernetes.platform.cell_objects import CellObjectsSpec, ServingTier
from inferfab.kubernetes.platform.cert_manager import CertManagerSpec
from inferfab.kubernetes.platform.cilium import CiliumSpec
from inferfab.kubernetes.platform.cluster_autoscaler import ClusterAutoscalerSpec
from inferfab.kubernetes.platform.dynamo import DynamoPlatformSpec
from inferfab.kubernetes.platform.edge import GatewayBinding, SecretStore
from inferfab.kubernetes.platform.efa import EfaSpec
from inferfab.kubernetes.platform.external_secrets import ExternalSecretsSpec
from inferfab.kubernetes.platform.gateways import AiGatewaySpec, EnvoyGatewaySpec
from inferfab.kubernetes.platform.gpu_operator import GpuOperatorSpec, MigSpec
from inferfab.kubernetes.platform.keda import KedaSpec, ScalableKind
from inferfab.kubernetes.platform.load_balancer_controller import LoadBalancerControllerSpec
from inferfab.kubernetes.platform.network_operator import NetworkOperatorSpec
from inferfab.kubernetes.platform.observed import prometheus_of
from inferfab.kubernetes.platform.platform import EfaPlugin, Platform, PlatformSpec
from inferfab.kubernetes.platform.prometheus import PrometheusSpec, RemoteWriteSpec
from inferfab.plan.prometheus import prometheus_url
from inferfab.render.mig import MigDevices

__all__ = [
    "AiGatewaySpec",
    "CapacityPublisherSpec",
    "CellObjectsSpec",
    "CertManagerSpec",
    "CiliumSpec",
    "ClusterAutoscalerSpec",
    "DynamoPlatformSpec",
    "EfaPlugin",
    "EfaSpec",
    "EnvoyGatewaySpec",
    "ExternalSecretsSpec",
    "FreeCapacity",
    "GatewayBinding",
    "GpuOperatorSpec",
    "KedaSpec",
    "LoadBalancerControllerSpec",
    "MigDevices",
    "MigSpec",
    "NetworkOperatorSpec",
    "Platform",
    "PlatformSpec",
    "PrometheusSpec",
    "RemoteWriteSpec",
    "ScalableKind",
    "SecretStore",
    "ServingTier",
    "prometheus_of",
    "prometheus_url",
]
