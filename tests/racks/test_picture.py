"""Racks in the picture: leaves, NICs, link speeds and gateways, with one rack and with eight."""

import re
from typing import Any

import pytest

from inferfab.environment.loading import load_text
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.render.picture import render_mermaid, render_svg
from inferfab.render.picture.layout import lay_out
from inferfab.render.picture.shapes import Box

from .hybrid import changed, racks_of


def fleet(count: int) -> FleetPlan:
    """So many racks of four servers, half of them for each role."""

    def change(tree: dict[str, Any]) -> None:
        racks = racks_of(tree)
        racks["racks"] = {}
        for n in range(count * 4):
            ports = [f"Ethernet{16 * n + 4 * port}" for port in range(4)]
            cables = [{"leaf": leaf, "ports": list(ports), "length_m": 10.0} for leaf in ("leaf-a", "leaf-b")]
            rack = racks["racks"].setdefault(f"rack-{n // 4 + 1}", {"servers": {}})
            rack["servers"][f"gpu-{n + 1}"] = {"cables": cables}
        for leaf in racks["leaves"].values():
            leaf["uplinks"]["ports"] = [f"Ethernet{4 * (128 + n)}" for n in range(32)]
        for role in ("prefill", "decode"):
            tree["pools"]["chat"][role]["replicas"] = {"desired": count * 4}

    environment = load_text(changed(change)).environment
    assert environment is not None
    return plan(environment)


def boxes(box: Box) -> list[Box]:
    return [box, *(inner for each in box.boxes for inner in boxes(each))]


@pytest.mark.parametrize("count", [1, 2, 8])
def test_everything_is_shown_in_whole(count: int) -> None:
    """Each rack with its gateways, NICs and roles, each leaf with ports and speeds; nothing is cut or overlaps."""
    page = lay_out(fleet(count)).page
    racks = [box for box in boxes(page) if box.kind == "rack"]
    leaves = [box for box in boxes(page) if box.kind == "leaf"]
    assert [text.shown for text in leaves[0].texts] == [
        "leaf-a", "Mellanox-SN5600-O128", f"{16 * count} × 400G to servers", "32 × 400G up", f"{count / 2:g} : 1",
    ]  # fmt: skip
    assert len(racks) == count and len(leaves) == 2
    for n, rack in enumerate(racks, start=1):
        shown = [text.shown for text in rack.texts]
        assert shown[:4] == [f"rack-{n}", "2 gateways", "4 × dgx-h200", "8 × 400G ConnectX-7 each"]
        assert set(re.findall(r"chat \w+ \d", shown[4])) == {"chat prefill 2", "chat decode 2"}
    assert all(text.shown == text.full for box in (*racks, *leaves) for text in box.texts)
    drawn = [*racks, *leaves]
    assert not any(a.rect.overlaps(b.rect) for n, a in enumerate(drawn) for b in drawn[:n])
    cells = [box for box in boxes(page) if box.kind == "cell"]
    assert all(cells[0].rect.holds(box.rect) for box in drawn)


def test_both_pictures_draw() -> None:
    """SVG has the line of rails in its key; Mermaid has a node a rack and one for the leaves."""
    svg, mermaid = render_svg(fleet(2)), render_mermaid(fleet(2))
    assert "RDMA NICs to the leaves" in svg
    assert mermaid.count("rack rack#45;") + mermaid.count("rack rack-") == 2
    assert "leaf-a" in mermaid.replace("#45;", "-")
