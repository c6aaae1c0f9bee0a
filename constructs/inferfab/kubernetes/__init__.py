"""Constructs of what runs in a cell's cluster: pinned Helm releases, and the objects of our own."""

from inferfab.kubernetes.local_chart import LocalChart, LocalChartSpec
from inferfab.kubernetes.provider import ClusterConnection, cluster_provider
from inferfab.kubernetes.release import ChartRelease, ChartReleaseSpec
from inferfab.kubernetes.scheduling import Toleration

__all__ = [
    "ChartRelease",
    "ChartReleaseSpec",
    "ClusterConnection",
    "LocalChart",
    "LocalChartSpec",
    "Toleration",
    "cluster_provider",
]
