"""Networks that pods ask for by annotation: rails of owned racks, and Google's RDMA networks without DRANET."""

import json

from inferfab.plan.fabric import NicPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.racks.racks import RacksPlan


def rail_annotation(racks: RacksPlan) -> dict[str, str]:
    """Multus: one further interface for each rail (k8snetworkplumbingwg/multus-cni, annotation of networks)."""
    names = ",".join(f"{SERVING_NAMESPACE}/{rail.network}" for rail in racks.rails)
    return {"k8s.v1.cni.cncf.io/networks": names}


def google_annotations(layout: tuple[NicPlan, ...]) -> dict[str, str]:
    """GKE multi-networking: the pod's own interface stays eth0, further ones by the Network objects of the cell.

    The gVNICs beyond the first and then the RDMA NICs, in the order of the node's (cluster-toolkit
    examples/gke-a3-ultragpu).
    """
    interfaces = [{"interfaceName": "eth0", "network": "default"}]
    interfaces += [{"interfaceName": f"eth{n}", "network": nic.subnet} for n, nic in enumerate(layout) if n]
    return {
        "networking.gke.io/default-interface": "eth0",
        "networking.gke.io/interfaces": json.dumps(interfaces, separators=(",", ":")),
    }
