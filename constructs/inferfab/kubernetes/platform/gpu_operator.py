"""GPUs as resources of nodes, their metrics, and MIG."""

from typing import Literal

from pydantic import model_validator

from inferfab.catalog.metrics import dcgm_counters
from inferfab.kubernetes.scheduling import GPU_NODES, Toleration
from inferfab.record import Record
from inferfab.render.mig import WHOLE, MigDevices, mig_config
from inferfab.render.values import Value, Values


class MigSpec(Record):
    """MIG on the cluster's nodes. A node says by its label ``nvidia.com/mig.config`` which layout it has."""

    strategy: Literal["single", "mixed"] = "mixed"
    """``single``: instances of one size, asked for as ``nvidia.com/gpu``; ``mixed``: each profile is a resource."""
    layouts: dict[str, tuple[MigDevices, ...]]
    """Layout by name."""

    @model_validator(mode="after")
    def _has_a_layout(self) -> "MigSpec":
        if not self.layouts:
            raise ValueError("layouts: name at least one, or leave MIG out")
        if WHOLE in self.layouts:
            raise ValueError('layouts: "all-disabled" is the layout of nodes without a label and always there')
        return self

    def config(self) -> str:
        """The file that the MIG manager reads."""
        return mig_config(self.layouts)


class GpuOperatorSpec(Record):
    """What the GPU operator gets."""

    driver_on_image: bool = True
    """Default: the machine image brings driver and container toolkit, as EKS AL2023 NVIDIA images do."""
    efa: bool = False
    """The nodes have EFA interfaces: another plugin hands them out. Default: no."""
    dra: bool = False
    """Pods take GPUs by claims (Dynamic Resource Allocation) instead of the device plugin; never both. Experimental in
    the operator. Default: no.
    """
    cos: bool = False
    """Nodes run Google's Container-Optimized OS, whose driver lies in a folder of its own. Default: no."""
    node_feature_discovery: bool = True
    """False where something else, such as the network operator, brings it: a cluster has one."""
    mig: MigSpec | None = None
    """Default: GPUs stay whole."""
    tolerations: tuple[Toleration, ...] = GPU_NODES

    @model_validator(mode="after")
    def _cut_by_one(self) -> "GpuOperatorSpec":
        if self.dra and self.mig:
            raise ValueError("dra and mig: the MIG manager belongs to the device plugin's way")
        return self

    def values(self) -> Values:
        tolerations: list[Value] = [one.values() for one in self.tolerations]
        # Since 0.19 the device plugin mounts every RDMA device by default, beside the one that the pod was given.
        mofed: list[Value] = [{"name": "MOFED_ENABLED", "value": "false"}] if self.efa else []
        node: Value = {
            "action": "replace", "sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node",
        }  # fmt: skip
        values: Values = {
            "driver": {"enabled": not self.driver_on_image},
            "toolkit": {"enabled": not self.driver_on_image},
            "devicePlugin": {"env": mofed},
            "daemonsets": {"tolerations": tolerations},
            "nfd": {"enabled": self.node_feature_discovery},
            "node-feature-discovery": {"worker": {"tolerations": tolerations}},
            "dcgmExporter": {
                # Node names, by which series join the pool of the node.
                "serviceMonitor": {"enabled": True, "interval": "15s", "relabelings": [node]},
                "config": {"create": True, "name": "inferfab-dcgm-counters", "data": dcgm_counters()},
                "env": [{"name": "DCGM_EXPORTER_COLLECTORS", "value": "/etc/dcgm-exporter/dcgm-metrics.csv"}],
            },
            # It would turn confidential computing on, which resets the GPU, on any node that can.
            "ccManager": {"enabled": False},
            "mig": {"strategy": self.mig.strategy if self.mig else "none"},
            "migManager": {"enabled": self.mig is not None},
        }
        if self.cos:
            # Where GKE's installer puts it (Google Cloud: NVIDIA GPU Operator on GKE).
            values["hostPaths"] = {"driverInstallDir": "/home/kubernetes/bin/nvidia"}
            values["toolkit"] = {"enabled": False, "installDir": "/home/kubernetes/bin/nvidia"}
            values["cdi"] = {"enabled": True, "default": True}
        if self.dra:
            values["clusterPolicy"] = {"deployCR": False}
            values["gpuCluster"] = {"deployCR": True}
        if self.mig:
            values["migManager"] = {
                "enabled": True,
                "config": {
                    "create": True,
                    "name": "inferfab-mig-layouts",
                    "default": WHOLE,
                    "data": {"config.yaml": self.mig.config()},
                },
            }
        return values
