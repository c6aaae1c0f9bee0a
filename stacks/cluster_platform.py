"""What a cell's cluster gets before the fleet: controllers, operators, metrics. Needs the foundation to be there."""

from inferfab.aws.projection import names_of
from inferfab.kubernetes import cluster_provider
from inferfab.kubernetes.platform import (
    AiGatewaySpec,
    CapacityPublisherSpec,
    CellObjectsSpec,
    CiliumSpec,
    ClusterAutoscalerSpec,
    DynamoPlatformSpec,
    EfaSpec,
    EnvoyGatewaySpec,
    GatewayBinding,
    GpuOperatorSpec,
    LoadBalancerControllerSpec,
    MigSpec,
    NetworkOperatorSpec,
    Platform,
    PlatformSpec,
    SecretStore,
    ServingTier,
    prometheus_of,
    prometheus_url,
)
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.render.mig import mig_layouts
from inferfab.render.racks import rack_chart_files
from inferfab.terraform import App

from .base import AwsStack


class PlatformStack(AwsStack):
    """The platform of a cell."""

    def __init__(self, app: App, fleet: FleetPlan, cell: CellPlan) -> None:
        super().__init__(app, f"{fleet.ownership.name}-{cell.name}-platform", fleet, cell.region)
        cluster = cluster_provider(self, cell.cluster, cell.region)
        names, gateway = names_of(cell), cell.gateway
        served = {pool.tier for pool in cell.pools}
        tiers = [tier for tier in fleet.tiers if tier.name in served]
        efa = {"device-plugin": "aws-efa-k8s-device-plugin", "dranet": "aws-dranet", None: None}[cell.fabric.plugin]
        Platform(
            self,
            "platform",
            PlatformSpec.model_validate(
                {
                    "kubernetes": cell.kubernetes,
                    "cell_objects": CellObjectsSpec(
                        tiers=tuple(ServingTier(name=tier.name, priority=tier.pod_priority) for tier in tiers),
                        namespaces=(SERVING_NAMESPACE, gateway.namespace),
                        # Somebody else's EBS driver may not use our key.
                        kms_key_arn=None
                        if cell.cluster_exists
                        else f"arn:aws:kms:{cell.region}:{self.account_id}:{names.cluster_key}",
                    ),
                    "load_balancer_controller": LoadBalancerControllerSpec(
                        cluster_name=cell.cluster, region=cell.region, vpc_id=cluster.vpc_id
                    ),
                    "cluster_autoscaler": ClusterAutoscalerSpec(
                        cluster_name=cell.cluster,
                        group_tag=names.autoscaler_tag or None,
                        region=cell.region,
                        kubernetes=cell.kubernetes,
                        max_graceful_termination_seconds=cell.drain_seconds,
                    ),
                    "prometheus": prometheus_of(fleet, cell, "gp3-encrypted"),
                    "dynamo": DynamoPlatformSpec(prometheus_url=prometheus_url()),
                    "gateway": GatewayBinding(
                        namespace=gateway.namespace, service=gateway.service, target_group_name=names.target_group
                    ),
                    "secret_store": SecretStore(region=cell.region, namespaces=fleet.secret_namespaces(cell))
                    if fleet.secrets
                    else None,
                    "envoy_gateway": envoy_gateway_of(cell),
                    "ai_gateway": AiGatewaySpec() if gateway.groups else None,
                    "capacity": CapacityPublisherSpec(
                        cell=cell.name,
                        region=cell.region,
                        graphs_by_tier={tier.name: cell.serving.pods_of_tier(tier.name) for tier in tiers},
                        prometheus_url=prometheus_url(),
                        log_group=names.capacity_log_group,
                        metric_namespace=fleet.ownership.aws.capacity_namespace,
                        metric_name=fleet.ownership.aws.capacity_metric,
                        images=cell.images,
                    ),
                    "gpu_operator": GpuOperatorSpec(
                        # Images of EKS bring the driver; servers of one's own run another system.
                        driver_on_image=cell.racks is None,
                        efa=efa is not None,
                        dra=bool(cell.serving.claims),
                        mig=mig_of(cell),
                    ),
                    "efa_plugin": efa,
                    "efa": EfaSpec(),
                    "network_operator": NetworkOperatorSpec(sriov=cell.racks.attach == "sriov") if cell.racks else None,
                    "cilium": CiliumSpec(pod_cidr=cell.racks.pod_cidr) if cell.racks else None,
                    "images": cell.images,
                    "fabric_objects": rack_chart_files(cell),
                }
            ),
        )


def envoy_gateway_of(cell: CellPlan) -> EnvoyGatewaySpec | None:
    limits = cell.gateway.limits
    if not cell.gateway.groups:
        return None
    return EnvoyGatewaySpec(redis=limits.redis, refuse_when_down=limits.refuse_when_down)


def mig_of(cell: CellPlan) -> MigSpec | None:
    layouts = mig_layouts(cell)
    return MigSpec(layouts=layouts) if layouts else None
