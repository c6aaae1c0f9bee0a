"""Nodes follow pods, within the bounds of their node groups."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from inferfab.catalog.kubernetes import kubernetes_versions
from inferfab.plan.autoscaling.provisioning import AUTOSCALER_REPLICAS
from inferfab.plan.draining import DRAIN_SECONDS
from inferfab.plan.service_accounts import service_accounts
from inferfab.record import Record
from inferfab.render.values import Values


class ClusterAutoscalerSpec(Record):
    """What the cluster autoscaler gets."""

    cluster_name: str
    region: str
    group_tag: str | None = None
    """Key of a tag that its Auto Scaling groups have; others of the cluster it neither grows nor shrinks. Default: the
    chart's, every managed node group of the cluster.
    """
    kubernetes: str
    """Minor version of the cluster; the autoscaler's must be the same."""
    service_account: str = Field(default_factory=lambda: service_accounts().autoscaler.name)
    expander: Literal["least-waste", "most-pods", "priority", "random"] = "least-waste"
    """Which of several fitting node groups grows. GPU pods select exactly one, so this decides for others only."""
    new_pod_scale_up_delay_seconds: Annotated[int, Field(ge=0)] = 10
    """Default: 10 s, so that the pods of a gang are counted together instead of one node at a time."""
    scale_down_unneeded_minutes: PositiveInt = 20
    """How long a node must be empty before it goes. Default: 20 minutes, for a GPU node takes about as long to come
    back with its model loaded.
    """
    max_node_provision_minutes: PositiveInt = 30
    """When a node that was asked for counts as failed. Default: 30 minutes; large EFA machines take long to boot."""
    max_graceful_termination_seconds: PositiveInt = DRAIN_SECONDS
    """How long a pod may finish its streams when its node goes. Default: half an hour."""

    def values(self) -> Values:
        """
        :raises ValueError: if no autoscaler is known for the Kubernetes version.
        """
        known = kubernetes_versions()
        if self.kubernetes not in known:
            raise ValueError(
                f"no cluster autoscaler is known for Kubernetes {self.kubernetes}, only {', '.join(known)}"
            )
        return {
            # The name that the service account of the Pod Identity association is looked for under.
            "fullnameOverride": "cluster-autoscaler",
            "cloudProvider": "aws",
            "awsRegion": self.region,
            # Both tags must be there: the first is EKS's own, on every managed node group of any cluster.
            "autoDiscovery": {
                "clusterName": self.cluster_name,
                **({"tags": ["k8s.io/cluster-autoscaler/enabled", self.group_tag]} if self.group_tag else {}),
            },
            "image": {"tag": known[self.kubernetes].autoscaler_image_tag},
            "rbac": {"serviceAccount": {"create": True, "name": self.service_account}},
            "replicaCount": AUTOSCALER_REPLICAS,
            "extraArgs": {
                "expander": self.expander,
                # Off is a text: a chart that drops the value of a plain false would turn the flag on.
                # Node groups are alike only by accident: each belongs to one pool and one reservation.
                "balance-similar-node-groups": "false",
                # Engines keep shared memory in an emptyDir; otherwise no GPU node would ever be given back.
                "skip-nodes-with-local-storage": "false",
                "skip-nodes-with-system-pods": "false",
                "new-pod-scale-up-delay": f"{self.new_pod_scale_up_delay_seconds}s",
                "scale-down-unneeded-time": f"{self.scale_down_unneeded_minutes}m",
                "scale-down-delay-after-add": f"{self.scale_down_unneeded_minutes}m",
                # A node counts as idle only below this share of its GPUs. Zero would mean never, so just above it:
                # only empty GPU nodes go, and no worker is moved to save a node.
                "scale-down-gpu-utilization-threshold": 0.01,
                "max-node-provision-time": f"{self.max_node_provision_minutes}m",
                "max-graceful-termination-sec": self.max_graceful_termination_seconds,
            },
            "serviceMonitor": {"enabled": True, "namespace": "monitoring", "interval": "30s"},
        }
