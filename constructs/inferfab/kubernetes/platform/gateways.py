"""What makes gateways of Gateway objects: Envoy Gateway, and Envoy AI Gateway as its extension."""

from inferfab.catalog.charts import charts, image
from inferfab.record import Record
from inferfab.render.values import Value, Values

_EXTENSION_PORT = 1063
"""On which the AI gateway's controller answers Envoy Gateway (ai-gateway-helm, service ports)."""


class EnvoyGatewaySpec(Record):
    """What Envoy Gateway gets."""

    replicas: int = 2
    """Controllers; proxies go on without them. Default: 2."""
    redis: str | None = None
    """Host and port of what global rate limits count in. Default: none, and no global limits."""
    refuse_when_down: bool = False
    """Refuse requests while nobody can count. Default: serve them."""

    def values(self) -> Values:
        ai = charts()["ai-gateway"]
        everything: Value = {"includeAll": True}
        config: dict[str, Value] = {
            "gateway": {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"},
            # Proxies stand in their Gateway's namespace, with its policies and Secrets, and not among the controllers.
            "provider": {"type": "Kubernetes", "kubernetes": {"deploy": {"type": "GatewayNamespace"}}},
            "extensionApis": {"enableBackend": True},
            # As ai-gateway's manifests/envoy-gateway-values.yaml has it.
            "extensionManager": {
                "hooks": {
                    "xdsTranslator": {
                        "translation": {
                            "listener": everything,
                            "route": everything,
                            "cluster": everything,
                            "secret": everything,
                        },
                        "post": ["Translation", "Cluster", "Route"],
                    }
                },
                "service": {
                    "fqdn": {
                        "hostname": f"ai-gateway-controller.{ai.namespace}.svc.cluster.local",
                        "port": _EXTENSION_PORT,
                    }
                },
            },
        }
        if self.redis:
            config["rateLimit"] = {
                "backend": {"type": "Redis", "redis": {"url": self.redis}},
                "failClosed": self.refuse_when_down,
            }
        return {
            # The one owner of the Gateway API CRDs; AI gateway has those of its own.
            "crds": {"enabled": True},
            "deployment": {"replicas": self.replicas},
            "podDisruptionBudget": {"minAvailable": 1 if self.replicas > 1 else 0},
            "global": {"images": {"ratelimit": {"image": image("ratelimit").reference}}},
            "config": {"envoyGateway": config},
        }


class AiGatewaySpec(Record):
    """What Envoy AI Gateway gets."""

    tenant_header: str = "x-inferfab-tenant"
    """Header by which its metrics tell tenants apart; set by the gateway itself."""

    def values(self) -> Values:
        return {
            "endpointConfig": {"rootPrefix": "/"},
            "extProc": {
                "logLevel": "warn",
                "logFormat": "json",
                # Also where somebody turns debugging on: no prompt in a log.
                "enableRedaction": True,
                "extraEnvVars": [{"name": "DISABLE_PPROF", "value": "true"}],
            },
            "controller": {
                "logFormat": "json",
                "metricsRequestHeaderAttributes": f"{self.tenant_header}:tenant",
                # The default would log a client's session id.
                "logRequestHeaderAttributes": "",
                "mutatingWebhook": {"certManager": {"enable": True}},
            },
            "envoyGateway": {"namespace": charts()["envoy-gateway"].namespace},
        }
