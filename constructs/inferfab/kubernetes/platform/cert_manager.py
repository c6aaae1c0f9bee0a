"""Certificates for webhooks and gateways."""

from pydantic import Field

from inferfab.plan.service_accounts import service_accounts
from inferfab.record import Record
from inferfab.render.values import Values


class CertManagerSpec(Record):
    """What cert-manager gets."""

    gateway_api: bool = False
    """Watch Gateways too; their CRDs must then be there before it starts. Default: no."""
    service_account: str = Field(default_factory=lambda: service_accounts().cert_manager.name)
    """Of the controller."""

    def values(self) -> Values:
        values: Values = {
            # Kept on uninstall, or every certificate of the cluster would go with the release.
            "crds": {"enabled": True, "keep": True},
            "prometheus": {"enabled": True, "podmonitor": {"enabled": False}},
            # A Pod Identity association gives it the right to prove names.
            "serviceAccount": {"create": True, "name": self.service_account},
        }
        if self.gateway_api:
            values["config"] = {
                "apiVersion": "controller.config.cert-manager.io/v1alpha1",
                "kind": "ControllerConfiguration",
                "enableGatewayAPI": True,
            }
        return values
