"""Objects of NVIDIA's operators: drivers and plugins, settings of NICs, a network and an address pool a rail."""

import json

from inferfab.catalog.charts import charts, network_operator_images
from inferfab.catalog.nics import nics
from inferfab.plan.images import ImageSource
from inferfab.plan.marking import Marking
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.racks.cables import RDMA_PREFIX
from inferfab.plan.racks.racks import RacksPlan, RailPlan
from inferfab.render.templates import render

PODS_OF_A_DEVICE = 63
"""Pods that may hold a shared device at once; the network operator's own examples say as much."""


def operator_files(cell: str, racks: RacksPlan, marking: Marking, source: ImageSource) -> dict[str, str]:
    """Relative path to YAML text."""
    shared = racks.attach == "macvlan"
    return {
        "nic-cluster-policy.yaml": render(
            "fabric/nic_cluster_policy.yaml.j2",
            images=network_operator_images(),
            repository=source.repository(network_operator_images().repository),
            pull_secret=source.pull_secret,
            shared_devices=shared_devices(racks) if shared else None,
        ),
        "nic-template.yaml": nic_template(cell, racks, marking),
        "rail-networks.yaml": render(
            "fabric/rail_networks.yaml.j2",
            cell=cell,
            rails=racks.rails,
            attach=racks.attach,
            nic=nics()[racks.nic],
            namespace=SERVING_NAMESPACE,
            operator_namespace=charts()["network-operator"].namespace,
            addresses_per_node=racks.addresses_per_node,
            num_vfs=racks.vfs_per_nic,
            mtu=marking.mtu,
            ipam=ipam,
            # Multi-homed pods answer by the rail that was asked; the RDMA device moves into the pod with the function.
            meta_plugins=_json({"type": "rdma"}) + "," + _json({"type": "sbr"}),
        ),
    }


def nic_template(cell: str, racks: RacksPlan, marking: Marking) -> str:
    switch = marking.switch
    assert switch is not None
    longest = max(port.length_m for leaf in racks.leaves for port in leaf.ports if port.kind == "server")
    return render(
        "fabric/nic_template.yaml.j2",
        cell=cell,
        namespace=charts()["network-operator"].namespace,
        nic=nics()[racks.nic],
        pci_addresses=[rail.pci_address for rail in racks.rails if rail.pci_address],
        num_vfs=racks.vfs_per_nic if racks.attach == "sriov" else 0,
        pfc=",".join("1" if n == switch.priority else "0" for n in range(8)),
        dscp=marking.dscp,
        tos=marking.traffic_class,
        priority=switch.priority,
        cable_metres=max(1, round(longest)),
        ecn=switch.ecn is not None,
        raw=(
            ("CNP_DSCP_P1", str(switch.cnp_dscp)),
            ("CNP_802P_PRIO_P1", str(switch.cnp_priority)),
            ("ROCE_CC_PRIO_MASK_P1", str(1 << switch.priority if switch.ecn is not None else 0)),
        ),
    )


def shared_devices(racks: RacksPlan) -> str:
    """The device plugin's configuration: JSON in a text, which the CRD's schema does not look into."""
    nic = nics()[racks.nic]
    (resource,) = {rail.resource for rail in racks.rails}
    entry = {
        "resourceName": resource.removeprefix(f"{RDMA_PREFIX}/"),
        "resourcePrefix": RDMA_PREFIX,
        "rdmaHcaMax": PODS_OF_A_DEVICE,
        "selectors": {
            "vendors": [nic.vendor_id],
            "deviceIDs": [nic.device_id],
            "ifNames": [rail.interface for rail in racks.rails],
        },
    }
    return _json({"periodicUpdateInterval": 300, "configList": [entry]})


def ipam(rail: RailPlan) -> str:
    """IPAM of a rail's network: JSON in a text."""
    return _json({"type": "nv-ipam", "poolName": rail.network, "poolType": "ippool"})


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
