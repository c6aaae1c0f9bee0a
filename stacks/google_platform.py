"""What a Google cell's cluster gets before the fleet. Needs the foundation to be there."""

from inferfab.gcp.projection import names_of
from inferfab.kubernetes.google_provider import google_cluster_provider
from inferfab.kubernetes.platform import (
    AiGatewaySpec,
    CellObjectsSpec,
    DynamoPlatformSpec,
    GpuOperatorSpec,
    Platform,
    PlatformSpec,
    ServingTier,
    prometheus_of,
    prometheus_url,
)
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.render.google import google_files
from inferfab.terraform import App

from .cluster_platform import envoy_gateway_of, mig_of
from .google_base import GoogleStack

_STORAGE_CLASS = "balanced-encrypted"


class GooglePlatformStack(GoogleStack):
    """The platform of a cell. Nodes are scaled by GKE, and the gateway's Service takes the cell's own address."""

    def __init__(self, app: App, fleet: FleetPlan, cell: CellPlan) -> None:
        super().__init__(app, f"{fleet.ownership.name}-{cell.name}-platform", fleet, cell.region)
        names = names_of(cell)
        google_cluster_provider(self, names.cluster, cell.zone, self.project)
        served = {pool.tier for pool in cell.pools}
        ring = f"projects/{self.project}/locations/{cell.region}/keyRings/{names.key_ring}"
        Platform(
            self,
            "platform",
            PlatformSpec(
                kubernetes=cell.kubernetes,
                cell_objects=CellObjectsSpec(
                    tiers=tuple(
                        ServingTier(name=tier.name, priority=tier.pod_priority)
                        for tier in fleet.tiers
                        if tier.name in served
                    ),
                    namespaces=(SERVING_NAMESPACE, cell.gateway.namespace),
                    storage_class=_STORAGE_CLASS,
                    cloud="gcp",
                    google_kms_key=f"{ring}/cryptoKeys/{names.cluster_key}",
                ),
                prometheus=prometheus_of(fleet, cell, _STORAGE_CLASS),
                dynamo=DynamoPlatformSpec(prometheus_url=prometheus_url()),
                external_secrets=None,
                envoy_gateway=envoy_gateway_of(cell),
                ai_gateway=AiGatewaySpec() if cell.gateway.groups else None,
                gpu_operator=GpuOperatorSpec(dra=bool(cell.serving.claims), cos=True, mig=mig_of(cell)),
                images=cell.images,
                fabric_objects=google_files(cell),
            ),
        )
