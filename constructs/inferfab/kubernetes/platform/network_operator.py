"""NVIDIA's network operator: NICs, their drivers and networks on owned racks."""

from inferfab.kubernetes.scheduling import GPU_NODES, Toleration
from inferfab.plan.racks.cables import RDMA_PREFIX
from inferfab.record import Record
from inferfab.render.values import Value, Values


class NetworkOperatorSpec(Record):
    """What the network operator gets."""

    sriov: bool = False
    """Pods get virtual functions. Default: no, they share devices."""
    tolerations: tuple[Toleration, ...] = GPU_NODES

    def values(self) -> Values:
        tolerations: list[Value] = [one.values() for one in self.tolerations]
        return {
            # The GPU operator brings it: a cluster has one.
            "nfd": {"enabled": False, "deployNodeFeatureRules": True},
            "upgradeCRDs": True,
            "sriovNetworkOperator": {"enabled": self.sriov},
            "sriov-network-operator": {"operator": {"resourcePrefix": RDMA_PREFIX, "tolerations": tolerations}},
            "maintenanceOperator": {"enabled": False},
        }
