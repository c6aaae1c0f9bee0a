"""Secrets from AWS Secrets Manager, by reference."""

from pydantic import Field

from inferfab.plan.service_accounts import service_accounts
from inferfab.record import Record
from inferfab.render.values import Values


class ExternalSecretsSpec(Record):
    """What External Secrets gets."""

    service_account: str = Field(default_factory=lambda: service_accounts().external_secrets.name)
    """Service account that a Pod Identity association gives the right to read secrets."""

    def values(self) -> Values:
        return {
            "installCRDs": True,
            "crds": {"unsafeServeV1Beta1": False},
            "serviceAccount": {"create": True, "name": self.service_account},
            "leaderElect": True,
            "replicaCount": 2,
            # A namespace's own store would use the controller's role as well, past the limits of the cluster's store.
            "processSecretStore": False,
            # Whoever may edit or administer a namespace does not thereby choose which secrets come into it.
            "rbac": {"aggregateToEdit": False, "aggregateToAdmin": False},
            # Nothing in the fleet writes secrets back.
            "processPushSecret": False,
            "processClusterPushSecret": False,
            "serviceMonitor": {"enabled": True, "renderMode": "skipIfMissing"},
        }
