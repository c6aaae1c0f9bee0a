"""Devices that pods get by Dynamic Resource Allocation: GPUs and NICs in one claim, each NIC beside its GPU."""

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from inferfab.record import Record

NicClass = Literal["efa.networking.k8s.aws", "mrdma.google.com"]
"""DeviceClass of the NICs: the charts aws-dranet and GKE's managed DRANET bring them."""
GPU_CLASS = "gpu.nvidia.com"
"""DeviceClass of NVIDIA's DRA driver."""
SAME_ROOT = "resource.kubernetes.io/pcieRoot"
"""Attribute that a GPU and the NICs beside it share (ai-dynamo rdma-setup/dranet-on-aws)."""
MOST_DEVICES = 32
"""Of one claim (resource.k8s.io/v1 AllocationResultsMaxSize)."""


class ClaimPlan(Record):
    """One ResourceClaimTemplate: each pod of a role gets a claim of its own.

    One request a GPU with its NICs, so that each pair sits behind one PCIe root; a single request for all would ask
    that all GPUs of the pod share one.
    """

    name: str
    gpus: PositiveInt
    nic_class: NicClass
    nics: NonNegativeInt

    @property
    def nics_per_gpu(self) -> int:
        """Those beside each GPU; the rest of an uneven split stays unused."""
        return self.nics // self.gpus

    @property
    def devices(self) -> int:
        return self.gpus * (1 + self.nics_per_gpu)
