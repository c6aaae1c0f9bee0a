"""One marking plan: what is changed in one place changes on the switch, the NIC and in the pods."""

import json
from typing import Any

import pytest
import yaml

from inferfab.render.rendering import rendered_files

from .hybrid import changed, fabric_of, fleet, fleet_of, racks_of


def sides(**change: Any) -> dict[str, Any]:
    """What each side says, read from the files that it gets."""
    files = rendered_files(fleet_of(changed(lambda tree: fabric_of(tree).update(change))))
    switch = json.loads(files["dc1/leaves/leaf-b/qos.json"])
    nic = yaml.safe_load(files["dc1/fabric/nic-template.yaml"])["spec"]["template"]
    raw = {one["name"]: one["value"] for one in nic["rawNvConfig"]}
    graph = next(iter(yaml.safe_load_all(files["dc1/serving/graphs/chat.yaml"])))
    pods = [
        {one["name"]: one.get("value") for one in part["podTemplate"]["spec"]["containers"][0]["env"]}
        for part in graph["spec"]["components"]
        if part["name"] in ("prefill", "decode")
    ]
    classes = switch["DSCP_TO_TC_MAP"]["INFERFAB"]
    return {
        "switch data": [(d, c) for d, c in classes.items() if c == switch["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"]],
        "switch cnp": [(d, c) for d, c in classes.items() if c == raw["CNP_802P_PRIO_P1"]],
        "nic tos": nic["roceOptimized"]["qos"]["tos"],
        "nic pfc": nic["roceOptimized"]["qos"]["pfc"],
        "nic cnp": raw["CNP_DSCP_P1"],
        "nic mask": raw["ROCE_CC_PRIO_MASK_P1"],
        "pods": {(env["UCX_IB_TRAFFIC_CLASS"], env["NCCL_IB_TC"]) for env in pods},
        "pg": sorted({key.split("|")[1] for key in switch["BUFFER_PG"]}),
        "wred": "WRED_PROFILE" in switch,
    }


def test_the_defaults() -> None:
    """DSCP 26 is 104, with ECN-capable transport 106; priority 3; notifications 48 and 6 (NVIDIA, Mellanox KB)."""
    assert sides() == {
        "switch data": [("26", "3")],
        "switch cnp": [("48", "6")],
        "nic tos": 106,
        "nic pfc": "0,0,0,1,0,0,0,0",
        "nic cnp": "48",
        "nic mask": "8",
        "pods": {("106", "106")},
        "pg": ["3"],
        "wred": True,
    }


def test_every_side_follows() -> None:
    """DSCP 34 is 136 and 138; priority 4 is the fifth of eight and bit 16; notifications 40 and 7."""
    assert sides(dscp=34, priority=4, cnp_dscp=40, cnp_priority=7) == {
        "switch data": [("34", "4")],
        "switch cnp": [("40", "7")],
        "nic tos": 138,
        "nic pfc": "0,0,0,0,1,0,0,0",
        "nic cnp": "40",
        "nic mask": "16",
        "pods": {("138", "138")},
        "pg": ["4"],
        "wred": True,
    }


def test_pauses_alone() -> None:
    """Without DCQCN nothing marks, and no NIC slows down by marks."""
    made = sides(congestion_control="pfc_only")
    assert (made["wred"], made["nic mask"], made["nic pfc"]) == (False, "0", "0,0,0,1,0,0,0,0")


@pytest.mark.parametrize(
    ("gbps", "metres", "xoff"),
    [(400, 3, 231424), (400, 5, 231424), (400, 5.5, 283648), (400, 41, 677888), (800, 40, 362496)],
)
def test_rows_of_the_vendor(gbps: int, metres: float, xoff: int) -> None:
    """SN5600: the next length up (device/mellanox/x86_64-nvidia_sn5600-r0/ACS-SN5600/pg_profile_lookup.ini)."""
    from inferfab.plan.racks.headroom import plan_buffer

    buffer = plan_buffer("x86_64-nvidia_sn5600-r0", "Mellanox-SN5600-O128", gbps, metres, lossless_mtu=4192)
    assert buffer is not None
    assert (buffer.xoff, buffer.basis) == (xoff, "vendor table")
    # The formula is below the table: 3 to 14 % by the probe for packets of 1,024 bytes.
    assert buffer.formula_xoff is not None and buffer.formula_xoff < xoff * 1.03


def test_the_formula_by_hand() -> None:
    """400G, 40 m, cell 192: cable 2 x 40 x 400000 x 1e9 / 198e6 / 8192 = 19728.5; pause 905 x 64 = 57920; MAC 819.2;
    with an MTU of 9100: 87567.7, three times that for small packets, and 1024: 263727 in whole KiB is 264192.
    """
    from inferfab.catalog.switches import switch_file
    from inferfab.plan.racks.headroom import formula

    asic = switch_file().asics["spectrum-4"]
    assert formula(asic, 400, 40, lossless_mtu=1024) == (264192 + 19456, 19456, 264192)
    # With eight lanes the pipeline counts twice, less a KiB, and a port MTU comes on top of the size.
    assert formula(asic, 400, 40, lossless_mtu=1024, lanes=8) == (311296, 37888, 264192)


def test_what_is_apart() -> None:
    """NICs of their own, or queues of one weight: then half of a rail is left, and the transfer table says so."""
    assert {line.traffic: line.kept_apart for line in fleet().cells[0].fabric.separation} == {
        "storage": "yes", "training": "yes", "model loading": "yes", "other tenants": "yes",
    }  # fmt: skip
    shared = fleet_of(changed(lambda tree: racks_of(tree).update(storage_on_rails=True))).cells[0]
    assert [line.kept_apart for line in shared.fabric.separation if line.traffic == "storage"] == ["partly"]
    alone, beside = (c.pools[0].kv_transfer for c in (fleet().cells[0], shared))
    assert alone is not None and beside is not None
    # 4 x 400 at 50 %, over leaves of 2 : 1; half of it beside a burst.
    assert (alone.available_gbps, beside.available_gbps) == (400, 200)
    assert (alone.burst_can_reach_fabric, beside.burst_can_reach_fabric) == (False, True)


def test_locality_is_required_where_it_can_be() -> None:
    """Both racks hold both roles: required. With one prefill server one of them does not: preferred."""
    policy = fleet().cells[0].serving.graphs[0].kv_transfer_policy
    assert policy is not None
    assert (policy.label_key, policy.enforcement, policy.preferred_weight) == ("inferfab/rack", "required", None)
    lacking = fleet_of(changed(lambda tree: tree["pools"]["chat"]["prefill"].update(replicas={"desired": 2})))
    policy = lacking.cells[0].serving.graphs[0].kv_transfer_policy
    assert policy is not None and policy.enforcement == "preferred"


def test_spill_goes_to_the_neighbour_first() -> None:
    """Of five racks in a row, the third spills to the second and fourth before the outer ones."""

    def five(tree: dict[str, Any]) -> None:
        racks = racks_of(tree)["racks"]
        for n in range(3, 6):
            ports = [f"Ethernet{16 * n + 64 + 4 * p}" for p in range(4)]
            cables = [{"leaf": leaf, "ports": list(ports), "length_m": 5} for leaf in ("leaf-a", "leaf-b")]
            racks[f"rack-{n}"] = {"servers": {f"r{n}-gpu-1": {"cables": cables}}}

    cell = fleet_of(changed(five)).cells[0]
    planned = cell.racks
    assert planned is not None
    # A frontend for each rack, though two are asked for.
    frontend = cell.serving.graphs[0].component("frontend")
    assert (frontend.replicas, frontend.beside_gpus, frontend.node_group) == (5, True, None)
    assert planned.racks[2].spills_to == ("rack-2", "rack-4", "rack-1", "rack-5")
