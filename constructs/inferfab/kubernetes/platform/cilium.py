"""The CNI of hybrid nodes: AWS's build of Cilium. Nodes in AWS keep the VPC CNI."""

from pydantic import Field

from inferfab.record import Record
from inferfab.render.values import Value, Values


class CiliumSpec(Record):
    """What Cilium gets."""

    pod_cidr: str
    """Range of pods on hybrid nodes: the cluster's remote pod network."""
    mask_size: int = Field(default=24, ge=20, le=28)
    """Part of it that each node has. Default: 24."""

    def values(self) -> Values:
        hybrid: Value = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": "eks.amazonaws.com/compute-type", "operator": "In", "values": ["hybrid"]}
                            ]
                        }
                    ]
                }
            }
        }
        anywhere: Value = [{"operator": "Exists"}]
        return {
            "affinity": hybrid,
            "tolerations": anywhere,
            "ipam": {
                "mode": "cluster-pool",
                "operator": {"clusterPoolIPv4PodCIDRList": [self.pod_cidr], "clusterPoolIPv4MaskSize": self.mask_size},
            },
            "operator": {"affinity": hybrid, "tolerations": anywhere, "unmanagedPodWatcher": {"restart": False}},
            "envoy": {"enabled": False},
            # Multus puts its own configuration first; Cilium would rename it away.
            "cni": {"exclusive": False},
        }
