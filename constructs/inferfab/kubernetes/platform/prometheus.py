"""Metrics: Prometheus, its operator and rules, and Grafana where there is a secret for it."""

from pydantic import PositiveInt

from inferfab.catalog.charts import image
from inferfab.record import Record
from inferfab.render.values import Value, Values

_NODE_EXPORTER_ARGUMENTS = (
    "--collector.filesystem.mount-points-exclude=^/(dev|proc|sys|run/containerd/.+|var/lib/docker/.+|var/lib/kubelet/.+)"
    "($|/)",
    "--collector.filesystem.fs-types-exclude=^(autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|fusectl"
    "|hugetlbfs|iso9660|mqueue|nsfs|overlay|proc|procfs|pstore|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tracefs"
    "|erofs)$",
)
"""The chart's own, which a list of ours takes the place of."""
_RDMA_ARGUMENTS = (
    "--collector.ethtool",
    # All of them would be a series a queue.
    "--collector.ethtool.metrics-include=^(rx|tx)_prio[0-7]_|_phy$|_vport_rdma_|pci_",
)
RECORDED = "inferfab:.+"
"""Series that go to a remote store."""


class RemoteWriteSpec(Record):
    """A store that takes recorded series."""

    url: str
    secret: str | None = None
    """Secret in the release's namespace. Default: no credentials."""
    key: str = "token"


class PrometheusSpec(Record):
    """What kube-prometheus-stack gets."""

    storage_class: str
    """Class of the volumes; encrypted by the class."""
    storage_gib: PositiveInt = 200
    retention_days: PositiveInt = 15
    """How long series are kept, if the volume holds them. Default: 15 days."""
    memory_gib: PositiveInt = 8
    """Memory of Prometheus, requested and at most. Default: 8 GiB."""
    replicas: PositiveInt = 1
    """Servers, each with every series. Default: 1."""
    external_labels: dict[str, str] = {}
    """What tells this cluster's series and alerts from others'. Default: nothing."""
    remote_write: RemoteWriteSpec | None = None
    """Default: nowhere."""
    rdma_counters: bool = False
    """Read the NICs' PFC counters, too. Default: no."""
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
            "replicas": self.replicas,
            "externalLabels": dict(self.external_labels),
            "resources": {
                "requests": {"cpu": "1", "memory": f"{self.memory_gib}Gi"},
                "limits": {"memory": f"{self.memory_gib}Gi"},
            },
        }
        if self.remote_write:
            prometheus["remoteWrite"] = [self._remote(self.remote_write)]
        node: Value = {
            "action": "replace", "sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node",
        }  # fmt: skip
        arguments: list[Value] = [*_NODE_EXPORTER_ARGUMENTS, *(_RDMA_ARGUMENTS if self.rdma_counters else ())]
        values: Values = {
            "crds": {
                "enabled": True,
                "upgradeJob": {"enabled": True, "image": {"busybox": {"tag": image("busybox").tag}}},
            },
            "defaultRules": {"rules": dict.fromkeys(hidden_rules, False)},
            "prometheus": {"prometheusSpec": prometheus},
            "alertmanager": {
                "alertmanagerSpec": {
                    "storage": self._volume(5),
                    # By default a route in one namespace hears only of alerts that carry that namespace's label.
                    "alertmanagerConfigMatcherStrategy": {"type": "None"},
                }
            },
            "prometheus-node-exporter": {
                "extraArgs": arguments,
                "prometheus": {"monitor": {"relabelings": [node]}},
            },
            # By which nodes and what they cost belong to a pool.
            "kube-state-metrics": {"metricLabelsAllowlist": ["nodes=[inferfab/cell,inferfab/pool,inferfab/role]"]},
            "grafana": self._grafana(),
        }
        return values | {part: {"enabled": False} for part in hidden}

    @staticmethod
    def _remote(store: RemoteWriteSpec) -> Value:
        keep: Value = {"action": "keep", "sourceLabels": ["__name__"], "regex": RECORDED}
        found: Values = {"url": store.url, "writeRelabelConfigs": [keep]}
        if store.secret:
            found["authorization"] = {"credentials": {"name": store.secret, "key": store.key}}
        return found

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
