"""A SONiC switch for tests: what its configuration holds before, and SONiC's models to hold the merged one against."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

Config = dict[str, dict[str, dict[str, str]]]
MODELS = Path(os.environ.get("SONIC_YANG") or Path(__file__).resolve().parents[3] / "shared" / "data" / "sonic-yang")
"""sonic-net/sonic-buildimage src/sonic-yang-models; never copied into the repository (its licence is not clear)."""
_MAPS = {
    "DSCP_TO_TC_MAP": ("sonic-dscp-tc-map", "dscp", "tc"),
    "TC_TO_QUEUE_MAP": ("sonic-tc-queue-map", "tc", "qindex"),
    "TC_TO_PRIORITY_GROUP_MAP": ("sonic-tc-priority-group-map", "tc", "pg"),
    "MAP_PFC_PRIORITY_TO_QUEUE": ("sonic-pfc-priority-queue-map", "pfc_priority", "qindex"),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": ("sonic-pfc-priority-priority-group-map", "pfc_priority", "pg"),
    "CABLE_LENGTH": ("sonic-cable-length", "port", "length"),
}
"""Tables of names to pairs: module, and the names of both leaves."""
_LISTS: dict[str, tuple[str, tuple[str, ...], set[str]]] = {
    "PORT": ("sonic-port", ("name",), {"speed", "mtu", "index"}),
    "SCHEDULER": ("sonic-scheduler", ("name",), {"weight"}),
    "WRED_PROFILE": ("sonic-wred-profile", ("name",), set()),
    "PORT_QOS_MAP": ("sonic-port-qos-map", ("ifname",), set()),
    "QUEUE": ("sonic-queue", ("ifname", "qindex"), set()),
    "PFC_WD": ("sonic-pfcwd", ("ifname",), {"detection_time", "restoration_time", "POLL_INTERVAL"}),
    "BUFFER_POOL": ("sonic-buffer-pool", ("name",), set()),
    "BUFFER_PROFILE": ("sonic-buffer-profile", ("name",), {"dynamic_th"}),
    "BUFFER_PG": ("sonic-buffer-pg", ("port", "pg_num"), set()),
    "BUFFER_QUEUE": ("sonic-buffer-queue", ("port", "qindex"), set()),
    "LOSSLESS_TRAFFIC_PATTERN": ("sonic-lossless-traffic-pattern", ("name",), {"mtu", "small_packet_percentage"}),
}
"""Lists: module, keys, and the leaves whose JSON is a number (RFC 7951: 64-bit ones are texts)."""
_WRED_SWITCHES = {"wred_green_enable", "wred_yellow_enable", "wred_red_enable"}


def before(expected: dict[str, Any], *, mtu: str = "9216") -> Config:
    """A leaf with SONiC's stock QoS: ranges 3-4 lossless, DSCP 26 lossy, and tables that are none of our business."""
    ports = list(expected["speed_mbps"])
    return {
        "DEVICE_METADATA": {
            "localhost": {
                "hostname": expected["leaf"],
                "hwsku": expected["hwsku"],
                "platform": expected["platform"],
                "mac": "00:11:22:33:44:55",
                "type": "LeafRouter",
                "buffer_model": "traditional",
            }
        },
        "PORT": {
            port: {
                "lanes": ",".join(str(4 * n + lane) for lane in range(4)),
                "alias": f"etp{n + 1}",
                "index": str(n + 1),
                "speed": str(expected["speed_mbps"][port]),
                "mtu": mtu,
                "admin_status": "up",
                "fec": "rs",
            }
            for n, port in enumerate(ports)
        },
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "52161690"},
            "egress_lossless_pool": {"type": "egress", "mode": "dynamic", "size": "158229504"},
        },
        "BUFFER_PROFILE": {
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "dynamic_th": "7"},
            "pg_lossless_stock": {
                "pool": "ingress_lossless_pool", "size": "1", "xon": "1", "xoff": "1", "dynamic_th": "0",
            },
        },
        "BUFFER_PG": {f"{port}|3-4": {"profile": "pg_lossless_stock"} for port in ports},
        "BUFFER_QUEUE": {f"{port}|3-4": {"profile": "egress_lossless_profile"} for port in ports},
        "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}},
        "QUEUE": {f"{port}|3": {"scheduler": "scheduler.0"} for port in ports},
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}},
        "BGP_NEIGHBOR": {"10.0.0.1": {"asn": "65100", "name": "spine-1"}},
        "MGMT_INTERFACE": {"eth0|10.1.1.2/24": {"gwaddr": "10.1.1.1"}},
    }  # fmt: skip


def merged(running: Config, deleted: list[str], load: Config) -> Config:
    """What CONFIG_DB holds after the tool's deletions and `config load`, which sets fields and removes none."""
    made: Config = json.loads(json.dumps(running))
    for line in deleted:
        table, _, key = line.partition("|")
        del made[table][key]
    for table, rows in load.items():
        for key, fields in rows.items():
            made.setdefault(table, {}).setdefault(key, {}).update(fields)
    return made


def yang_json(config: Config) -> dict[str, Any]:
    """CONFIG_DB in the JSON of SONiC's models; tables that the models of this test do not need are left out."""
    made: dict[str, Any] = {
        "sonic-device_metadata:sonic-device_metadata": {"DEVICE_METADATA": config["DEVICE_METADATA"]}
    }
    for table, rows in config.items():
        if table in _MAPS:
            module, *leaves = _MAPS[table]
            made[f"{module}:{module}"] = {
                table: {
                    f"{table}_LIST": [
                        {
                            "name": name,
                            table: [dict(map(_leaf, leaves, pair)) for pair in pairs.items()],
                        }
                        for name, pairs in rows.items()
                    ]
                }
            }
        elif table in _LISTS:
            module, keys, numbers = _LISTS[table]
            body: dict[str, Any] = {f"{table}_LIST": []}
            for row, fields in rows.items():
                entry = {k: _value(k, v, numbers) for k, v in fields.items()}
                body[f"{table}_LIST"].append({**dict(zip(keys, row.split("|"), strict=True)), **entry})
            made[f"{module}:{module}"] = {table: body}
    return made


def _leaf(name: str, text: str) -> tuple[str, object]:
    """Traffic classes are numbers in the models, all other members of pairs are texts."""
    return name, int(text) if name == "tc" else text


def _value(name: str, text: str, numbers: set[str]) -> object:
    if name in numbers:
        return int(text)
    return text == "true" if name in _WRED_SWITCHES else text


def yanglint(config: Config, folder: Path) -> str:
    """What yanglint has against a configuration; empty if nothing. Skips the test where it or the models are not."""
    if not MODELS.is_dir():
        pytest.skip(f"no SONiC models: SONIC_YANG names their folder, or {MODELS}")
    program = shutil.which("yanglint")
    if program is None:
        pytest.skip("no yanglint: apt-get install yang-tools (libyang2-tools)")
    data = yang_json(config)
    file = folder / "config.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    modules = [str(MODELS / f"{name.partition(':')[0]}.yang") for name in data]
    run = subprocess.run(
        [program, "-p", str(MODELS), "-f", "json", "-t", "config", *modules, str(file)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return "" if run.returncode == 0 else run.stderr.strip() or f"exit {run.returncode}"
