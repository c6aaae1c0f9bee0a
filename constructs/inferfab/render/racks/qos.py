"""QoS of one leaf as a SONiC overlay: what RoCE needs, to merge into the configuration that is there.

Nothing else is in it: no interface, no route, no management. Map and profile names begin with INFERFAB, so that what
the switch's owner has stays as it is; ports that are not in the inventory keep their own maps.
"""

import json

from inferfab.catalog.roce import roce
from inferfab.catalog.switches import platforms
from inferfab.plan.marking import Marking, SwitchMarking
from inferfab.plan.racks.headroom import LosslessBuffer
from inferfab.plan.racks.leaves import LeafPlan, LeafPort

Table = dict[str, dict[str, str]]
NAME = "INFERFAB"
LOSSLESS, LOSSY, CNP = f"{NAME}_LOSSLESS", f"{NAME}_LOSSY", f"{NAME}_CNP"
INGRESS_POOL, EGRESS_PROFILE = "ingress_lossless_pool", "egress_lossless_profile"
"""Of every SONiC with a QoS configuration (files/build_templates/buffers_config.j2); what they hold is the vendor's."""
_CLASSES = [str(n) for n in range(8)]


def qos_overlay(leaf: LeafPlan, marking: Marking) -> dict[str, Table]:
    """The tables of one leaf, in the order in which one refers to the other."""
    asked = marking.switch
    assert asked is not None
    lossless, model = str(asked.priority), platforms().get(leaf.platform)
    identity = {n: n for n in _CLASSES}
    overlay: dict[str, Table] = {
        "LOSSLESS_TRAFFIC_PATTERN": {
            "AZURE": {"mtu": str(asked.lossless_packet_bytes), "small_packet_percentage": "100"}
        },
        "CABLE_LENGTH": {"AZURE": {p.port: _length(leaf, p) for p in leaf.ports}},
        "DSCP_TO_TC_MAP": {NAME: _dscp_to_tc(marking, asked)},
        "TC_TO_QUEUE_MAP": {NAME: identity},
        # All that is lossy shares priority group 0, as in SONiC's own template.
        "TC_TO_PRIORITY_GROUP_MAP": {NAME: {n: n if n == lossless else "0" for n in _CLASSES}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {NAME: identity},
    }
    if model is not None and model.pfc_to_pg_map:
        overlay["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = {NAME: {lossless: lossless}}
    overlay |= {
        "SCHEDULER": {
            LOSSLESS: {"type": "DWRR", "weight": str(roce("lossless_weight"))},
            LOSSY: {"type": "DWRR", "weight": str(roce("lossy_weight"))},
            CNP: {"type": "STRICT"},
        },
        **({"WRED_PROFILE": {LOSSLESS: _wred(asked)}} if asked.ecn else {}),
        "BUFFER_PROFILE": {buffer_name(b): _profile(b) for b in leaf.buffers},
        "PORT_QOS_MAP": {
            p.port: _port_maps(lossless, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP" in overlay) for p in leaf.ports
        },
        "QUEUE": {k: v for p in leaf.ports for k, v in _queues(p, asked).items()},
        "BUFFER_PG": {
            f"{p.port}|{lossless}": {"profile": buffer_name(b)} for p in leaf.ports if (b := leaf.buffer(p)) is not None
        },
        "BUFFER_QUEUE": {f"{p.port}|{lossless}": {"profile": EGRESS_PROFILE} for p in leaf.ports},
        "PFC_WD": {
            "GLOBAL": {"POLL_INTERVAL": str(roce("pfcwd_poll_ms"))},
            **{
                p.port: {
                    "action": "drop",
                    "detection_time": str(roce("pfcwd_detection_ms")),
                    "restoration_time": str(roce("pfcwd_restoration_ms")),
                }
                for p in leaf.ports
            },
        },
    }
    return overlay


def overlay_text(overlay: dict[str, Table]) -> str:
    return json.dumps(overlay, indent=2) + "\n"


def expectations_text(leaf: LeafPlan, marking: Marking) -> str:
    """What must be there before anything is merged: read by the tool beside it, and never loaded."""
    assert marking.switch is not None
    expected = {
        "leaf": leaf.name,
        "platform": leaf.platform,
        "hwsku": leaf.hwsku,
        "dscp": marking.dscp,
        "lossless_priority": marking.switch.priority,
        "lossless_packet_bytes": marking.switch.lossless_packet_bytes,
        "ecn": marking.switch.ecn is not None,
        "least_mtu": max(marking.mtu, marking.switch.mtu),
        "speed_mbps": {p.port: p.gbps * 1000 for p in leaf.ports},
        "pools": [INGRESS_POOL],
        "profiles": [EGRESS_PROFILE],
    }
    return json.dumps(expected, indent=2) + "\n"


def buffer_name(buffer: LosslessBuffer) -> str:
    return f"{LOSSLESS}_{buffer.gbps}000_{buffer.table_metres}m"


def _length(leaf: LeafPlan, port: LeafPort) -> str:
    buffer = leaf.buffer(port)
    # The table's length, not the cable's: SONiC looks its own tables up by the exact text.
    return f"{buffer.table_metres if buffer else round(port.length_m + 0.5)}m"


def _dscp_to_tc(marking: Marking, asked: SwitchMarking) -> dict[str, str]:
    found = {str(dscp): "0" for dscp in range(64)}
    found[str(marking.dscp)] = str(asked.priority)
    found[str(asked.cnp_dscp)] = str(asked.cnp_priority)
    return found


def _wred(asked: SwitchMarking) -> dict[str, str]:
    assert asked.ecn is not None
    ecn, made = asked.ecn, {"ecn": "ecn_all"}
    for colour in ("green", "yellow", "red"):
        made |= {
            f"wred_{colour}_enable": "true",
            f"{colour}_min_threshold": str(ecn.min_bytes),
            f"{colour}_max_threshold": str(ecn.max_bytes),
            f"{colour}_drop_probability": str(ecn.mark_percent),
        }
    return made


def _profile(buffer: LosslessBuffer) -> dict[str, str]:
    made = {
        "pool": INGRESS_POOL,
        "size": str(buffer.size),
        "xon": str(buffer.xon),
        "xoff": str(buffer.xoff),
        "dynamic_th": str(buffer.dynamic_th),
    }
    return made | ({"xon_offset": str(buffer.xon_offset)} if buffer.xon_offset is not None else {})


def _port_maps(lossless: str, pfc_to_pg: bool) -> dict[str, str]:
    return {
        "dscp_to_tc_map": NAME,
        "tc_to_queue_map": NAME,
        "tc_to_pg_map": NAME,
        "pfc_to_queue_map": NAME,
        **({"pfc_to_pg_map": NAME} if pfc_to_pg else {}),
        "pfc_enable": lossless,
        "pfcwd_sw_enable": lossless,
    }


def _queues(port: LeafPort, asked: SwitchMarking) -> Table:
    wred = {"wred_profile": LOSSLESS} if asked.ecn else {}
    return {
        f"{port.port}|0": {"scheduler": LOSSY},
        f"{port.port}|{asked.priority}": {"scheduler": LOSSLESS, **wred},
        f"{port.port}|{asked.cnp_priority}": {"scheduler": CNP},
    }
