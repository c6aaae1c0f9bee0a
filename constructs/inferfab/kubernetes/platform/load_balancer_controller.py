"""The controller that puts the gateway's pods into the target group that Terraform made."""

from pydantic import Field

from inferfab.plan.service_accounts import service_accounts
from inferfab.record import Record
from inferfab.render.values import Values


class LoadBalancerControllerSpec(Record):
    """What the AWS load balancer controller gets."""

    cluster_name: str
    region: str
    vpc_id: str
    """Named, because the pods cannot ask the instance's metadata service."""
    service_account: str = Field(default_factory=lambda: service_accounts().load_balancer_controller.name)
    gateway_api: bool = False
    """Also serve Gateways; the Gateway API CRDs must then be there before it starts. Default: no."""

    def values(self) -> Values:
        gates: Values = {
            "NLBGatewayAPI": self.gateway_api,
            "ALBGatewayAPI": self.gateway_api,
            "GatewayListenerSet": self.gateway_api,
            # Terraform owns every load balancer: one that a Service made would outlive the cluster.
            "EnableServiceController": False,
        }
        return {
            "clusterName": self.cluster_name,
            "region": self.region,
            "vpcId": self.vpc_id,
            "serviceAccount": {"create": True, "name": self.service_account},
            "enableServiceMutatorWebhook": False,
            "keepTLSSecret": True,
            "controllerConfig": {"featureGates": gates},
            # No Ingress is served, so no class is offered and no rights on shields and firewalls are needed.
            "createIngressClassResource": False,
            "ingressClassParams": {"create": False},
            "enableShield": False,
            "enableWaf": False,
            "enableWafv2": False,
            "serviceMonitor": {"enabled": True},
        }
