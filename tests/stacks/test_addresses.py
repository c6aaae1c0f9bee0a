"""Resource addresses are an interface: Terraform destroys what is at an old one and makes what is at a new one."""

import copy
from pathlib import Path
from typing import Any

import pytest
from synthesized import ENVIRONMENTS, FABRICS, addresses, body_of, changed, stacks

GOLDEN = Path(__file__).parent / "addresses"
ADVICE = """
The addresses of {name} changed. Terraform destroys and remakes what is at a changed address; for a node group that
recreates its GPU nodes, for a cluster or the model store everything in it. Where the resource stays the same one,
give it `moved_from`. When the change is wanted: python tools/update_addresses.py
gone: {gone}
new: {new}"""


@pytest.mark.parametrize("name", (*ENVIRONMENTS, *FABRICS))
def test_addresses_are_the_golden_ones(name: str) -> None:
    """One ``stack address`` a line, sorted; tools/update_addresses.py writes the list."""
    golden = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    now = sorted(addresses(stacks(name)))
    gone, new = sorted(set(golden) - set(now)), sorted(set(now) - set(golden))
    assert now == golden, ADVICE.format(name=name, gone="\n  ".join(["", *gone]), new="\n  ".join(["", *new]))


def test_every_address_is_there_once_and_names_its_construct() -> None:
    """CDKTF appends a digest of the path, so that two constructs never meet; a path is read off the address."""
    for name in ENVIRONMENTS:
        golden = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        assert golden == sorted(set(golden))
        assert all(line.startswith(f"{name}-") for line in golden)


def lost(before: dict[str, Any], after: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Addresses that went, and addresses that came."""
    old, new = addresses(changed(before)), addresses(changed(after))
    return old - new, new - old


@pytest.mark.slow
def test_a_pool_taken_from_the_middle_takes_only_its_own() -> None:
    """Neither its neighbours in the file nor those after it move."""
    before, after = body_of("prod"), body_of("prod")
    assert list(after["pools"]).index("chat-standard") == 1
    del after["pools"]["chat-standard"]
    for cell in after["cells"].values():
        del cell["pools"]["chat-standard"]
    gone, new = lost(before, after)
    assert new == set()
    assert len([address for address in gone if " aws_eks_node_group." in address]) == 6
    assert all(".chat-standard-" in address for address in gone), gone


@pytest.mark.slow
def test_a_cell_taken_from_the_middle_takes_only_its_own() -> None:
    """Its stacks, and its records, checks and alarms in the global one."""
    before, after = body_of("prod"), body_of("prod")
    assert list(after["cells"]).index("use1-b") == 1
    del after["cells"]["use1-b"]
    # What is left still has to be sound: shares that are a whole, and promises that two cells can keep.
    after["cells"]["use1-a"]["traffic_share"] = 0.65
    for tier in ("priority", "standard"):
        after["tiers"][tier]["availability_percent"] = 98
    gone, new = lost(before, after)
    assert new == set()
    assert all("use1-b" in address for address in gone), [address for address in gone if "use1-b" not in address]
    assert any(address.startswith("prod-global ") for address in gone)


@pytest.mark.slow
def test_a_cell_added_at_the_end_moves_nothing() -> None:
    """Growth leaves alone what is there."""
    before, after = body_of("prod"), body_of("prod")
    cell = copy.deepcopy(after["cells"]["use1-b"])
    cell |= {"region": "us-west-2", "zone": "us-west-2a", "network": {"kind": "new", "cidr": "10.19.0.0/16"}}
    for pool in ("chat-priority", "chat-standard"):
        cell["pools"][pool] = {"capacity": {"kind": "reservation", "id": f"cr-0a1b2c3d4e5f{len(pool):05d}"}}
    after["budget"] = {"usd_per_month": 9_000_000}
    after["cells"]["use1-b"]["traffic_share"] = 0.15
    after["cells"]["usw2-a"] = {**cell, "traffic_share": 0.1}
    for tree in (before, after):
        # Of small cells each loses a larger part with a node, and its requests stay: 99.89 % over four of them.
        tree["tiers"]["priority"]["availability_percent"] = 99.5
    gone, new = lost(before, after)
    assert gone == set()
    assert all("usw2-a" in address for address in new)


@pytest.mark.slow
def test_the_order_of_the_file_means_nothing() -> None:
    """Cells, pools, models, tiers and keys may be sorted by whoever likes it: what a region's cells share is no cell's,
    and the global stack stands in the first region by name.
    """
    before, after = body_of("prod"), body_of("prod")
    for key in ("pools", "models", "cells"):
        after[key] = dict(reversed(after[key].items()))
    for cell in after["cells"].values():
        cell["pools"] = dict(reversed(cell["pools"].items()))
    after["kept_apart"]["training"] = list(reversed(after["kept_apart"]["training"]))
    after = dict(reversed(after.items()))
    assert lost(before, after) == (set(), set())
    documents = changed(after)
    assert documents["prod-global"]["provider"]["aws"][0]["region"] == "us-east-1"
    for stack in ("prod-us-east-1-region", "prod-us-west-2-region"):
        assert documents[stack] == stacks("prod")[stack]


@pytest.mark.slow
def test_what_is_only_shown_moves_nothing() -> None:
    """Owner, tags, sizes, promises, budget, a model's revision and where users are: none is part of an address."""
    before, after = body_of("prod"), body_of("prod")
    after["owner"] = "another-team"
    after["tags"] = {"cost-center": "research", "extra": "yes"}
    after["budget"]["usd_per_month"] = 1_300_000
    after["routing"]["users_near"] = ["aws:us-east-1"]
    after["models"]["qwen-32b"]["revision"] = "0" * 40
    after["models"]["qwen-32b"]["evaluations"][0]["revision"] = "0" * 40
    after["tiers"]["standard"]["availability_percent"] = 99
    after["pools"]["nightly"]["worker"]["replicas"] = {"min": 1, "desired": 4, "max": 16}
    after["accounts"]["aws"]["permissions_boundary"] = "another-boundary"
    assert lost(before, after) == (set(), set())
