"""What NVIDIA's operators and Multus get: closed CRDs, and the JSON in their texts, which no schema looks into."""

import json
from typing import Any

import pytest
import yaml

from conformance.kinds import schema_problems
from inferfab.plan.fleet import CellPlan
from inferfab.render.racks import rack_files

from .hybrid import cell, changed, files, fleet_of, racks_of

Documents = list[dict[str, Any]]


def documents(rendered: dict[str, str], under: str) -> Documents:
    return [
        one for path, text in rendered.items() if under in path and path.endswith(".yaml")
        for one in yaml.safe_load_all(text) if one
    ]  # fmt: skip


def rendered(attach: str) -> tuple[CellPlan, dict[str, str]]:
    fleet = fleet_of(changed(lambda tree: racks_of(tree).update(attach=attach)))
    return fleet.cells[0], rack_files(fleet, fleet.cells[0])


def of_kind(found: Documents, kind: str) -> Documents:
    return [one for one in found if one["kind"] == kind]


@pytest.mark.parametrize("attach", ["macvlan", "sriov"])
def test_closed_schemas_take_every_object(attach: str) -> None:
    """No unknown key, nothing missing."""
    _, made = rendered(attach)
    found = documents(made, "fabric/")
    assert [problem for one in found for problem in schema_problems(one)] == []
    networks = {"macvlan": ["MacvlanNetwork"], "sriov": ["SriovNetwork", "SriovNetworkNodePolicy"]}[attach]
    counts = {kind: len(of_kind(found, kind)) for kind in ("NicClusterPolicy", "IPPool", *networks)}
    assert counts == {"NicClusterPolicy": 1, "IPPool": 8, **dict.fromkeys(networks, 8)}


def test_a_wrong_key_is_seen() -> None:
    """The schemas are closed: the proof above can fail."""
    [policy] = of_kind(documents(files(), "fabric/"), "NicClusterPolicy")
    policy["spec"]["nvIpam"]["imagee"] = "x"
    assert any("imagee" in problem for problem in schema_problems(policy))


def test_exactly_one_template_matches_a_nic() -> None:
    """The operator applies none where two match. Each rail's NIC: its model, its address, its node's label."""
    templates = of_kind(documents(files(), "fabric/"), "NicConfigurationTemplate")
    racks = cell().racks
    assert racks is not None
    for server in racks.servers:
        [node] = documents(files(), f"nodes/{server.name}.")
        labels = dict(pair.split("=") for pair in node["spec"]["kubelet"]["flags"][0].split("=", 1)[1].split(","))
        for rail in racks.rails:
            matching = [
                t for t in templates
                if t["spec"]["nicSelector"]["nicType"] == "1021"
                and rail.pci_address in t["spec"]["nicSelector"]["pciAddresses"]
                and t["spec"]["nodeSelector"].items() <= labels.items()
            ]  # fmt: skip
            assert len(matching) == 1


def test_json_inside_the_texts() -> None:
    """The plugin hands out one resource for all rails; each network takes addresses from a pool that is there."""
    found = documents(files(), "fabric/")
    [policy] = of_kind(found, "NicClusterPolicy")
    config = json.loads(policy["spec"]["rdmaSharedDevicePlugin"]["config"])
    assert config["configList"] == [
        {
            "resourceName": "roce",
            "resourcePrefix": "rdma",
            "rdmaHcaMax": 63,
            "selectors": {"vendors": ["15b3"], "deviceIDs": ["1021"], "ifNames": [f"rail{n}" for n in range(8)]},
        }
    ]
    pools = {one["metadata"]["name"] for one in of_kind(found, "IPPool")}
    for network in of_kind(found, "MacvlanNetwork"):
        ipam = json.loads(network["spec"]["ipam"])
        assert ipam == {"type": "nv-ipam", "poolName": network["metadata"]["name"], "poolType": "ippool"}
        assert ipam["poolName"] in pools
        # Not the examples' 1500, which is InfiniBand MTU 1024.
        assert network["spec"]["mtu"] == 9000


def test_virtual_functions_agree() -> None:
    """Resource of policy, network and pod: rdma/rail_0 to rdma/rail_7; two functions for each of two workers."""
    planned, made = rendered("sriov")
    found = documents(made, "fabric/")
    offered = {f"rdma/{one['spec']['resourceName']}" for one in of_kind(found, "SriovNetworkNodePolicy")}
    assert offered == {f"rdma/{one['spec']['resourceName']}" for one in of_kind(found, "SriovNetwork")}
    assert {one["spec"]["numVfs"] for one in of_kind(found, "SriovNetworkNodePolicy")} == {4}
    [template] = of_kind(found, "NicConfigurationTemplate")
    assert template["spec"]["template"]["numVfs"] == 4
    for worker in ("prefill", "decode"):
        assert planned.serving.graphs[0].component(worker).resources == dict.fromkeys(offered, 1)
        env = {one.name for one in planned.serving.graphs[0].component(worker).env}
        assert "UCX_NET_DEVICES" not in env


def test_pods_ask_for_networks_that_are_there() -> None:
    """Multus' annotation names every rail's network in the namespace of the pods."""
    [graph] = cell().serving.graphs
    names = {f"serving/{one['metadata']['name']}" for one in of_kind(documents(files(), "fabric/"), "MacvlanNetwork")}
    for worker in ("prefill", "decode"):
        asked = graph.component(worker).annotations["k8s.v1.cni.cncf.io/networks"]
        assert set(asked.split(",")) == names
        assert graph.component(worker).resources == {"rdma/roce": 1}
    assert graph.component("frontend").annotations == {}


def test_nodes_come_with_their_place() -> None:
    """Pool, role, rack; and as zone the rack, by which Services prefer near endpoints."""
    [node] = documents(files(), "nodes/r2-gpu-1.")
    assert node["spec"]["kubelet"]["flags"] == [
        "--node-labels=inferfab/cell=dc1,inferfab/pool=chat,inferfab/role=decode,inferfab/rack=rack-2,"
        "topology.kubernetes.io/zone=rack-2"
    ]
    entries = [one for one in documents(files(), "serving/entries") if one["kind"] == "Service"]
    assert entries
    assert all(one["spec"]["trafficDistribution"] == "PreferClose" for one in entries)
