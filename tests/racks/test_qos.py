"""The QoS overlay on a leaf, merged by its own tool, held against SONiC's models and against rules that they lack."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .hybrid import cell, files
from .sonic import Config, before, merged, yanglint

LEAVES = ("leaf-a", "leaf-b")


def part(leaf: str, name: str) -> str:
    return files()[f"dc1/leaves/{leaf}/{name}"]


def overlay(leaf: str = "leaf-a") -> Config:
    made: Config = json.loads(part(leaf, "qos.json"))
    return made


def expected(leaf: str = "leaf-a") -> dict[str, Any]:
    made: dict[str, Any] = json.loads(part(leaf, "expected.json"))
    return made


class Switch:
    """The tool as it runs on the switch."""

    def __init__(self, folder: Path, running: Config, leaf: str = "leaf-a") -> None:
        self.folder = folder
        for name in ("qos_tool.py", "qos.json", "expected.json"):
            (folder / name).write_text(part(leaf, name), encoding="utf-8")
        self.has(running)

    def has(self, running: Config) -> None:
        (self.folder / "running.json").write_text(json.dumps(running), encoding="utf-8")

    def tool(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "qos_tool.py", *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def check(self) -> list[str]:
        run = self.tool("check", "running.json", "qos.json", "expected.json")
        assert (run.returncode == 0) == (not run.stderr), run
        return run.stderr.splitlines()

    def verify(self) -> list[str]:
        run = self.tool("verify", "running.json", "qos.json", "expected.json")
        assert (run.returncode == 0) == (not run.stderr), run
        return run.stderr.splitlines()

    def apply(self, running: Config) -> Config:
        deleted = self.tool("delete", "running.json", "qos.json").stdout.splitlines()
        load = json.loads(self.tool("load", "running.json", "qos.json").stdout)
        made = merged(running, deleted, load)
        self.has(made)
        return made


@cache
def _after(leaf: str, folder: Path) -> tuple[Config, list[str]]:
    running = before(expected(leaf))
    switch = Switch(folder, running, leaf)
    return switch.apply(running), switch.verify()


@pytest.mark.parametrize("leaf", LEAVES)
def test_the_merged_configuration_is_sonics(leaf: str, tmp_path: Path) -> None:
    """yanglint with SONiC's models takes the whole, and the tool finds everything there."""
    after, differences = _after(leaf, tmp_path)
    assert differences == []
    assert yanglint(after, tmp_path) == ""


def test_yanglint_sees_a_fault(tmp_path: Path) -> None:
    """The proof above can fail: a port that points at a map that is not there."""
    after, _ = _after("leaf-a", tmp_path)
    after["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"] = "NOWHERE"
    assert "NOWHERE" in yanglint(after, tmp_path)


def test_nothing_but_qos_is_in_it() -> None:
    """No interface, no route, no management, no port settings: those are the switch owner's."""
    assert set(overlay()) == {
        "LOSSLESS_TRAFFIC_PATTERN", "CABLE_LENGTH", "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP",
        "MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "SCHEDULER", "WRED_PROFILE",
        "BUFFER_PROFILE", "PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE", "PFC_WD",
    }  # fmt: skip


def test_what_was_there_stays(tmp_path: Path) -> None:
    """Other tables are untouched, and of a split range the other number keeps its profile."""
    after, _ = _after("leaf-a", tmp_path)
    was = before(expected())
    for table in ("DEVICE_METADATA", "PORT", "BUFFER_POOL", "BGP_NEIGHBOR", "MGMT_INTERFACE", "LOOPBACK_INTERFACE"):
        assert after[table] == was[table]
    assert "Ethernet0|3-4" not in after["BUFFER_PG"]
    assert after["BUFFER_PG"]["Ethernet0|4"] == {"profile": "pg_lossless_stock"}
    assert after["BUFFER_PG"]["Ethernet0|3"] == {"profile": "INFERFAB_LOSSLESS_400000_40m"}
    assert after["SCHEDULER"]["scheduler.0"] == {"type": "DWRR", "weight": "14"}


def test_the_path_of_a_packet(tmp_path: Path) -> None:
    """DSCP 26 comes to one class, queue and group, which alone is paused, watched, buffered and marked; DSCP 48 is
    served first. What YANG does not see: all four faults that the facts name pass yanglint.
    """
    after, _ = _after("leaf-a", tmp_path)
    for port in expected()["speed_mbps"]:
        maps = after["PORT_QOS_MAP"][port]
        tc = after["DSCP_TO_TC_MAP"][maps["dscp_to_tc_map"]]["26"]
        queue = after["TC_TO_QUEUE_MAP"][maps["tc_to_queue_map"]][tc]
        group = after["TC_TO_PRIORITY_GROUP_MAP"][maps["tc_to_pg_map"]][tc]
        assert (tc, queue, group) == ("3", "3", "3")
        assert maps["pfc_enable"] == maps["pfcwd_sw_enable"] == "3"
        assert after["MAP_PFC_PRIORITY_TO_QUEUE"][maps["pfc_to_queue_map"]]["3"] == queue
        assert after["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"][maps["pfc_to_pg_map"]] == {"3": group}
        profile = after["BUFFER_PROFILE"][after["BUFFER_PG"][f"{port}|{group}"]["profile"]]
        assert int(profile["xoff"]) > 0
        assert after["BUFFER_QUEUE"][f"{port}|{queue}"]["profile"] == "egress_lossless_profile"
        assert after["WRED_PROFILE"][after["QUEUE"][f"{port}|{queue}"]["wred_profile"]]["ecn"] == "ecn_all"
        assert after["PFC_WD"][port]["action"] == "drop"
        cnp = after["DSCP_TO_TC_MAP"][maps["dscp_to_tc_map"]]["48"]
        assert cnp == "6"
        assert after["SCHEDULER"][after["QUEUE"][f"{port}|{cnp}"]["scheduler"]] == {"type": "STRICT"}
        lossy = {d for d, c in after["DSCP_TO_TC_MAP"]["INFERFAB"].items() if c == "0"}
        assert lossy == {str(d) for d in range(64)} - {"26", "48"}


def test_buffers_are_the_vendors() -> None:
    """SN5600, 400G: uplinks of 20 m take the row for 40 m (pg_profile_lookup.ini: 303104 19456 283648 0)."""
    assert overlay()["BUFFER_PROFILE"] == {
        "INFERFAB_LOSSLESS_400000_40m": {
            "pool": "ingress_lossless_pool", "size": "303104", "xon": "19456", "xoff": "283648", "dynamic_th": "0",
        }
    }  # fmt: skip


def test_the_mtu_chain() -> None:
    """4096 bytes of payload and 96 of headers fit 9000 on the NIC, which fits 9216 on the port."""
    marking = cell().fabric.marking
    assert marking is not None and marking.switch is not None
    assert (marking.ib_mtu, marking.mtu, marking.switch.mtu) == (4096, 9000, 9216)
    assert overlay()["LOSSLESS_TRAFFIC_PATTERN"]["AZURE"] == {"mtu": "4192", "small_packet_percentage": "100"}


def test_the_tool_refuses_another_switch(tmp_path: Path) -> None:
    """Other hardware, a port at another speed or with a small MTU, and a switch without buffer pools: each is said."""
    running = before(expected())
    running["DEVICE_METADATA"]["localhost"]["hwsku"] = "ACS-MSN4700"
    running["PORT"]["Ethernet0"]["speed"] = "100000"
    running["PORT"]["Ethernet4"]["mtu"] = "9100"
    del running["PORT"]["Ethernet8"]
    del running["BUFFER_POOL"]["ingress_lossless_pool"]
    assert Switch(tmp_path, running).check() == [
        "hwsku is ACS-MSN4700, the inventory says Mellanox-SN5600-O128",
        "Ethernet0 runs at 100000 Mbit/s, the inventory says 400000",
        "Ethernet4 has MTU 9100; at least 9216 is needed",
        "there is no port Ethernet8",
        "there is no BUFFER_POOL ingress_lossless_pool: run `config qos reload` once, which makes the vendor's",
    ]


def test_verify_names_what_is_not_there(tmp_path: Path) -> None:
    """Before the merge nothing of it is there; afterwards one changed field is named."""
    running = before(expected())
    switch = Switch(tmp_path, running)
    assert "PFC_WD|Ethernet0 is missing" in switch.verify()
    after = switch.apply(running)
    after["WRED_PROFILE"]["INFERFAB_LOSSLESS"]["ecn"] = "ecn_none"
    switch.has(after)
    marks = [line for line in switch.verify() if not line.endswith("queue 3 marks nothing")]
    assert marks == ["WRED_PROFILE|INFERFAB_LOSSLESS ecn is ecn_none, not ecn_all"]


def _lossy_class(after: Config) -> None:
    after["DSCP_TO_TC_MAP"]["INFERFAB"]["26"] = "0"


def _other_pause(after: Config) -> None:
    after["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = "4"


def _no_group(after: Config) -> None:
    del after["BUFFER_PG"]["Ethernet0|3"]


def _no_marks(after: Config) -> None:
    after["WRED_PROFILE"]["INFERFAB_LOSSLESS"]["ecn"] = "ecn_none"


def _other_queue(after: Config) -> None:
    after["MAP_PFC_PRIORITY_TO_QUEUE"]["INFERFAB"]["3"] = "4"


def _small_pattern(after: Config) -> None:
    after["LOSSLESS_TRAFFIC_PATTERN"]["AZURE"]["mtu"] = "1024"


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (_lossy_class, "Ethernet0: DSCP 26 is in class 0, and 3 is lossless"),
        (_other_pause, "Ethernet0: DSCP 26 is in class 3, and 4 is lossless"),
        (_other_pause, "Ethernet0: the watchdog looks at 3, pauses are for 4"),
        (_no_group, "Ethernet0: priority group 3 has no lossless buffer"),
        (_no_marks, "Ethernet0: queue 3 marks nothing"),
        (_other_queue, "Ethernet0: a pause of priority 3 does not stop queue 3"),
        (_small_pattern, "lossless traffic is counted with 1024 bytes, packets have 4192"),
    ],
)
def test_what_the_models_do_not_see(break_it: Callable[[Config], None], says: str, tmp_path: Path) -> None:
    """Each part is right and the whole is wrong: yanglint takes it, our tool names the port."""
    after, _ = _after("leaf-a", tmp_path)
    after = json.loads(json.dumps(after))
    break_it(after)
    switch = Switch(tmp_path, after)
    assert says in switch.verify()
    assert yanglint(after, tmp_path) == ""


def test_applying_twice_changes_nothing(tmp_path: Path) -> None:
    running = before(expected())
    switch = Switch(tmp_path, running)
    once = switch.apply(running)
    assert switch.apply(once) == once


def test_the_scripts_are_bash() -> None:
    for name in ("apply", "verify", "rollback"):
        script = part("leaf-b", f"{name}.sh")
        run = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
        assert run.returncode == 0, run.stderr
