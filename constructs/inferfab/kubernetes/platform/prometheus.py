"""Metrics: Prometheus, its operator and rules, and Grafana where there is a secret for it."""

from pydantic import PositiveInt

from inferfab.catalog.charts import image
from inferfab.record import Record
from inferfab.render.values import Value, Values


class PrometheusSpec(Record):
    """What kube-prometheus-stack gets."""

    storage_class: str
    """Class of the volumes; encrypted by the class."""
    storage_gib: PositiveInt = 200
    retention_days: PositiveInt = 15
    """How long series are kept, if the volume holds them. Default: 15 days."""
    memory_gib: PositiveInt = 8
    """Memory of Prometheus, requested and at most. Default: 8 GiB."""
    grafana_admin_secret: str | None = None
    """Secret in the release's namespace with ``admin-user`` and ``admin-password``. Default: no Grafana."""

    def values(self) -> Values:
        # What EKS runs out of sight can be neither scraped nor alerted on.
        hidden = ("kubeControllerManager", "kubeEtcd", "kubeScheduler", "kubeProxy")
        hidden_rules = ("etcd", "kubeControllerManager", "kubeProxy", "kubeSchedulerAlerting", "kubeSchedulerRecording")
        kinds = ("podMonitor", "probe", "rule", "scrapeConfig", "serviceMonitor")
        prometheus: Values = {f"{kind}SelectorNilUsesHelmValues": False for kind in kinds}
        prometheus |= {
            "retention": f"{self.retention_days}d",
            # The older end goes before the volume is full.
            "retentionSize": f"{self.storage_gib * 85 // 100}GiB",
            "storageSpec": self._volume(self.storage_gib),
            "resources": {
                "requests": {"cpu": "1", "memory": f"{self.memory_gib}Gi"},
                "limits": {"memory": f"{self.memory_gib}Gi"},
            },
        }
        values: Values = {
            "crds": {
                "enabled": True,
                "upgradeJob": {"enabled": True, "image": {"busybox": {"tag": image("busybox").tag}}},
            },
            "defaultRules": {"rules": dict.fromkeys(hidden_rules, False)},
            "prometheus": {"prometheusSpec": prometheus},
            "alertmanager": {"alertmanagerSpec": {"storage": self._volume(5)}},
            "grafana": self._grafana(),
        }
        return values | {part: {"enabled": False} for part in hidden}

    def _grafana(self) -> Value:
        if self.grafana_admin_secret is None:
            return {"enabled": False}
        return {"enabled": True, "admin": {"existingSecret": self.grafana_admin_secret}}

    def _volume(self, gib: int) -> Value:
        return {
            "volumeClaimTemplate": {
                "spec": {
                    "storageClassName": self.storage_class,
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": f"{gib}Gi"}},
                }
            }
        }
