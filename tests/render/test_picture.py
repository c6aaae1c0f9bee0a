"""The fleet's picture: everything has its place, says what the plan says, and cannot be broken by a name."""

import copy
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.environment.environment import Environment
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.render.picture import render_mermaid, render_svg
from inferfab.render.picture.layout import lay_out
from inferfab.render.picture.shapes import Box, Picture, Rect
from inferfab.render.picture.text import FONTS, clean, shorten, width, wrap
from inferfab.render.templates import NoTemplates, template_folder

REPO = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
README_WIDTH = 1000
Tree = dict[str, Any]
Make = Callable[[], Tree]


def prod() -> Tree:
    tree: Tree = yaml.safe_load((REPO / "environments/prod.yaml").read_text(encoding="utf-8"))
    return tree


def planned(tree: Tree) -> FleetPlan:
    return plan(Environment.model_validate(copy.deepcopy(tree)))


def one_cell() -> Tree:
    """One cell with one pool and no names in DNS."""
    tree = prod()
    tree["pools"] = {"chat-priority": tree["pools"]["chat-priority"]}
    tree["cells"] = {"use1-a": tree["cells"]["use1-a"] | {"pools": {"chat-priority": None}, "traffic_share": None}}
    del tree["routing"]
    return tree


def forty_cells() -> Tree:
    """Forty cells in two regions with ten pools each."""
    tree = prod()
    kinds = list(tree["pools"].items())
    tree["pools"] = {f"{kinds[n % 4][0]}-{n}": kinds[n % 4][1] for n in range(10)}
    regions = ("us-east-1", "us-west-2")
    tree["cells"] = {
        f"cell-{n}": {
            "cloud": "aws", "region": regions[n % 2], "zone": f"{regions[n % 2]}a",
            "network": {"kind": "new", "cidr": f"10.{n + 100}.0.0/16"}, "pools": dict.fromkeys(tree["pools"]),
        }
        for n in range(40)
    }  # fmt: skip
    return tree


def crowded() -> Tree:
    """Every kind of pool, long names, seven tiers, a fabric that is too slow, and an owner full of syntax."""
    tree = prod()
    tree["owner"] = 'Team "R&D" <ml> [end] # ünïcødé 日本語 `x` {y} | %%{init}%% end; --> style a:b#c;\''
    tree["tags"] = {"cost-center": "inference: a+b @ c", "note": "x" * 200}
    tree["tiers"] |= {f"tier-{letter}": {} for letter in "abcd"}
    shared = {"topology": "shared", "instance": "p5en.48xlarge", "max_sequences": 2}
    long = "a-very-long-pool-name-that-goes-on-fore"
    tree["pools"] |= {
        "mig": shared | {
            "sharing": "mig", "tier": "batch", "nodes": {"desired": 1, "max": 2},
            "models": [{"model": "llama-8b", "instances": 3}, {"model": "qwen-32b", "instances": 30}],
        },
        long: shared | {
            "sharing": "sleep", "tier": "standard", "nodes": {"desired": 1},
            "models": [{"model": "llama-8b"}, {"model": "qwen-32b"}, {"model": "llama-70b"}],
        },
        "chat-slow": tree["pools"]["chat-priority"] | {"fabric": "tcp"},
    }  # fmt: skip
    tree["cells"]["use1-b"]["pools"] |= {"mig": None, long: None, "chat-slow": None}
    tree["cells"]["use1-b"]["gateways"] = {"replicas": 1, "public": False}
    return tree


def spread(cells: int) -> Make:
    """So many cells like use1-a, most of them in the first of three regions."""

    def make() -> Tree:
        tree = prod()
        like = tree["cells"]["use1-a"] | {"traffic_share": None}
        regions = ["us-east-1", "us-west-2", "us-east-1", "us-east-2"]
        tree["cells"] = {f"c{n}": like | {"region": (r := regions[n % 4]), "zone": f"{r}b"} for n in range(cells)}
        return tree

    make.__name__ = f"{cells}_cells"
    return make


FLEETS: list[Make] = [prod, one_cell, forty_cells, crowded]
ENVIRONMENTS = [pytest.param(make, marks=pytest.mark.slow) if make is forty_cells else make for make in FLEETS]
SHAPES = [*ENVIRONMENTS, *(spread(n) for n in (2, 3, 4, 5, 7, 13))]


def boxes_in(box: Box) -> Iterator[Box]:
    yield box
    for inner in box.boxes:
        yield from boxes_in(inner)


@cache
def picture(tree: Make) -> Picture:
    return lay_out(planned(tree()))


def boxes(tree: Make, kind: str) -> list[Box]:
    return [b for b in boxes_in(picture(tree).page) if b.kind == kind]


def words(box: Box) -> list[str]:
    return [t.full for b in boxes_in(box) for t in b.texts]


def overlapping(rects: list[Rect]) -> list[tuple[Rect, Rect]]:
    return [(a, b) for n, a in enumerate(rects) for b in rects[n + 1 :] if a.overlaps(b)]


# --- geometry


@pytest.mark.parametrize("tree", SHAPES)
def test_nothing_in_a_box_overlaps_and_all_of_it_lies_inside(tree: Make) -> None:
    """Boxes and texts that share a parent are apart from each other and inside the parent."""
    for box in boxes_in(picture(tree).page):
        parts = [b.rect for b in box.boxes] + [t.rect for t in box.texts]
        assert overlapping(parts) == [], box.says
        outside = [p for p in parts if not box.rect.holds(p)]
        assert outside == [], (box.kind, box.rect, box.says)


@pytest.mark.parametrize("tree", SHAPES)
def test_links_stay_on_the_page_and_run_along_the_axes(tree: Make) -> None:
    """A line never leaves the page; arrow heads are drawn for horizontal and vertical lines only."""
    page = picture(tree).page
    for link in (link for box in boxes_in(page) for link in box.links):
        for (x0, y0), (x1, y1) in zip(link.points, link.points[1:], strict=False):
            assert page.rect.holds(Rect(min(x0, x1), min(y0, y1), abs(x1 - x0), abs(y1 - y0)))
            assert (x0 == x1) != (y0 == y1)


@pytest.mark.parametrize("tree", SHAPES)
def test_no_text_lies_under_a_line(tree: Make) -> None:
    """Lines and arrows cross no text, in whatever box the text is."""
    page = picture(tree).page
    texts = [t.rect for b in boxes_in(page) for t in b.texts]
    for box in boxes_in(page):
        for link in box.links:
            for (x0, y0), (x1, y1) in zip(link.points, link.points[1:], strict=False):
                line = Rect(min(x0, x1) - 2, min(y0, y1) - 2, abs(x1 - x0) + 4, abs(y1 - y0) + 4)
                assert [t for t in texts if t.overlaps(line)] == [], link


def test_three_cells_are_as_wide_as_a_readme_and_no_text_is_small() -> None:
    """prod is shown at its own size in a README; its smallest text has 11 px there."""
    page = picture(prod).page
    assert page.rect.w == README_WIDTH
    assert min(font.size for font in FONTS.values()) >= 11


def test_prod_shows_every_text_in_whole() -> None:
    """Shortening is for names that are too long; an ordinary environment needs none."""
    cut = [t.full for b in boxes_in(picture(prod).page) for t in b.texts if t.shown != t.full]
    assert cut == []


def test_a_large_fleet_wraps_its_cells_and_is_no_strip() -> None:
    """40 cells stand in several rows, in a picture at most about twice as high as wide."""
    page = picture(forty_cells).page
    assert len({b.rect.y for b in boxes(forty_cells, "cell")}) == 4
    assert page.rect.h < 2.2 * page.rect.w


# --- text


@pytest.mark.parametrize("kind", FONTS)
@pytest.mark.parametrize("text", ["", "a", "W" * 300, "日本語" * 50, "two words and a long-long-long-name"])
def test_a_shortened_text_fits_and_is_a_beginning(text: str, kind: str) -> None:
    """Whatever the width, what is shown fits in it; it is the text, or a beginning of it with an ellipsis."""
    for limit in (0.0, 5.0, 20.0, 77.7, 500.0):
        shown = shorten(text, kind, limit)
        assert width(shown, kind) <= limit
        assert shown == text or text.startswith(shown.removesuffix("…"))


def test_wrapping_keeps_all_words() -> None:
    """Lines joined again are the text; each fits unless it is a single word."""
    text = "whole answer p95 ≤ 5,000 ms (answers of up to 128 tokens)"
    lines = wrap(text, "plain", 150)
    assert " ".join(lines) == text
    assert len(lines) > 1
    assert all(width(line, "plain") <= 150 for line in lines)


def test_clean_text_has_one_line_and_nothing_that_xml_forbids() -> None:
    """Control characters, surrogates and direction marks become U+FFFD, any space becomes one blank."""
    assert clean(" a\n\tb\x00\x1b\ud800\u202ec ") == "a b\ufffd\ufffd\ufffd\ufffdc"


# --- what it says


def test_the_kv_link_of_prod_shows_the_rate_worked_out_by_hand() -> None:
    """70B at FP8: 2 x 80 layers x 8 heads x 128 = 163,840 bytes a token. 1,500 tokens are 245.76 MB, which
    must move in 20 % of the 200 ms promise: 245.76 MB x 8 / 40 ms = 49.2 Gbit/s. Half of p5en's 3,200 Gbit/s
    is usable, and 4 of 8 GPUs get half of that: 800."""
    needed = 1500 * 163_840 * 8 / (0.200 * 0.20) / 1e9
    assert needed == pytest.approx(49.152)
    pool = next(b for b in boxes(prod, "pool") if "chat-priority in use1-a" in b.says)
    prefill, decode = (b for b in pool.boxes if b.kind == "role")
    assert (words(prefill)[0], words(decode)[0]) == ("prefill", "decode")
    assert f"KV cache: needed {needed:.0f} of 800 Gbit/s" in words(pool)
    (link,) = pool.links
    assert link.kind == "kv"
    assert link.points[0][1] == prefill.rect.bottom
    assert link.points[-1][1] == decode.rect.y


def test_a_role_shows_workers_gpus_nodes_and_machine() -> None:
    """4 workers of 4 GPUs are 16 GPUs, on 8-GPU nodes 2 nodes; at most 8 workers, twice of each."""
    pool = next(b for b in boxes(prod, "pool") if "chat-priority in use1-a" in b.says)
    assert words(pool.boxes[1]) == ["prefill", "16 GPUs (16–32)", "4 (4–8) × TP4", "2 (2–4) × p5en.48xlarge"]
    assert "llama-70b · disaggregated · reserved" in words(pool)


def test_a_transfer_over_tcp_is_shown_as_broken() -> None:
    """8 Gbit/s do not carry what needs 49: the link has its own look and says so in words."""
    pool = next(b for b in boxes(crowded, "pool") if "chat-slow" in b.says)
    assert [link.kind for link in pool.links] == ["kv-broken"]
    assert "KV cache: needed 49 of 8 Gbit/s: too slow" in " ".join(words(pool))


def test_a_shared_pool_shows_instances_of_each_model_and_what_has_no_place() -> None:
    """30 instances of the 32B were asked; the picture adds up to them, placed or not."""
    said = words(next(b for b in boxes(crowded, "pool") if "mig in" in b.says))
    at = said.index("qwen-32b")
    placed = re.fullmatch(r"(\d+) × mig-3g.71gb", said[at + 1])
    missing = re.fullmatch(r"(\d+) more without a place", said[at + 2])
    assert placed and missing
    assert int(placed[1]) + int(missing[1]) == 30


def test_the_top_shows_owner_totals_hostnames_and_promises() -> None:
    """200 GPUs: use1-a 16 + 16 + 8 + 8 + 16 + 8 = 72, both others without batch 64."""
    assert words(boxes(prod, "header")[0])[:2] == [
        "prod",
        "owner ml-platform · Dynamo 1.6.1 + vLLM 0.31.0 · budget $1.20M a month",
    ]
    assert words(boxes(prod, "stat")[0]) == [f"{72 + 64 + 64} GPUs", "196 min – 416 max"]
    routing = words(boxes(prod, "routing")[0])
    assert routing[0] == "DNS: latency policy, answers kept 60 s"
    assert {"priority.llm.example.com", "TTFT p50 ≤ 200 ms", "ITL p95 ≤ 40 ms"} <= set(routing)


def test_gateways_show_the_cells_share_of_each_tier_that_it_serves() -> None:
    """Only use1-a serves batch, so all of batch comes to it; the rest is split as the file says."""
    first, second, _ = boxes(prod, "gateway")
    assert words(first) == ["2 gateways, public", "priority 40 %", "standard 40 %", "batch 100 %"]
    assert words(second) == ["2 gateways, public", "priority 25 %", "standard 25 %"]
    assert words(boxes(crowded, "gateway")[1])[0] == "1 gateway, internal"


def test_pools_chips_and_cards_of_a_tier_share_its_colour() -> None:
    """A tier has one colour everywhere, and tiers have different ones."""
    found: dict[str, set[str]] = {"priority": set(), "standard": set(), "batch": set()}
    for box in boxes_in(picture(prod).page):
        for tier, colours in found.items():
            named = box.says == f"Tier {tier}" or f": tier {tier}," in box.says
            if box.colour and (named or (box.kind == "chip" and words(box)[0].startswith(tier))):
                colours.add(box.colour.line)
    assert [len(colours) for colours in found.values()] == [1, 1, 1]
    assert len(set.union(*found.values())) == 3


# --- SVG


@pytest.mark.parametrize("tree", ENVIRONMENTS)
def test_the_svg_is_valid_scales_and_is_named(tree: Make) -> None:
    """Well-formed, sized by its viewBox alone, with a title and a description for screen readers."""
    root = ET.fromstring(render_svg(planned(tree())))
    assert root.tag == f"{SVG}svg"
    assert "viewBox" in root.attrib
    assert "width" not in root.attrib
    assert root.attrib["role"] == "img"
    ids = [root.find(f"{SVG}title"), root.find(f"{SVG}desc")]
    assert root.attrib["aria-labelledby"].split() == [e.attrib["id"] for e in ids if e is not None]


def test_the_svg_is_self_contained() -> None:
    """No script, no style sheet, no image, no address but the namespace."""
    text = render_svg(planned(crowded()))
    assert re.findall(r"https?://[^\"' ]+", text) == ["http://www.w3.org/2000/svg"]
    assert {e.tag.removeprefix(SVG) for e in ET.fromstring(text).iter()} == {
        "svg", "title", "desc", "g", "rect", "path", "text",
    }  # fmt: skip


def test_names_full_of_markup_stay_text() -> None:
    """Owner and tags with <, & and quotes come back whole from the parsed picture."""
    fleet = planned(crowded())
    # No file has such tags, but a plan may be read from anywhere.
    own = fleet.ownership.model_copy(update={"tags": {"a<b": "\"quoted\" & 'single'"}})
    root = ET.fromstring(render_svg(fleet.model_copy(update={"ownership": own})))
    said = " ".join("".join(e.itertext()) for e in root.iter(f"{SVG}text"))
    assert 'owner Team "R&D" <ml> [end] # ünïcødé 日本語' in said
    assert "a<b: \"quoted\" & 'single'" in said


def test_a_shortened_text_keeps_the_whole_in_its_title() -> None:
    """The 200 letters of the tag are shown with an ellipsis and are whole in the tooltip."""
    root = ET.fromstring(render_svg(planned(crowded())))
    cut = [
        e for e in root.iter(f"{SVG}text") if (t := e.find(f"{SVG}title")) is not None and "x" * 200 in (t.text or "")
    ]
    assert len(cut) == 1
    assert "".join(cut[0].itertext()).endswith("…")


@pytest.mark.parametrize("tree", ENVIRONMENTS)
def test_the_same_plan_gives_the_same_bytes(tree: Make) -> None:
    """Twice from the file to the text: no clock, no chance, no order of a set."""
    assert render_svg(planned(tree())) == render_svg(planned(tree()))
    assert render_mermaid(planned(tree())) == render_mermaid(planned(tree()))


def test_the_committed_picture_is_the_one_of_prod() -> None:
    """docs/prod.svg is what today's code draws of environments/prod.yaml."""
    assert (REPO / "docs/prod.svg").read_text(encoding="utf-8") == render_svg(planned(prod()))


# --- Mermaid


@pytest.mark.parametrize("tree", ENVIRONMENTS)
def test_every_mermaid_label_is_quoted_and_holds_no_syntax(tree: Make) -> None:
    """Outside of quotes there are only our own ids and arrows; inside, what could be syntax is a number."""
    for line in render_mermaid(planned(tree())).splitlines():
        assert line.count('"') in (0, 2), line
        bare = re.sub(r'"[^"]*"', '""', line)
        assert re.fullmatch(r"[\w\s.,:;#\[\]()|>\"-]*", bare, re.ASCII), line
        for label in re.findall(r'"([^"]*)"', line):
            plain = re.sub(r"<br/>|#\d+;", "", label)
            assert not set(plain) & set("\"'`[]{}<>|#;:%&*_\\"), label
            assert all(c.isascii() or c in "–·×≤" for c in plain), label


def test_mermaid_turns_the_numbers_back_into_the_owner() -> None:
    """Numbers in `#…;` are code points, so what is drawn is what stands in the file."""
    tree = crowded()
    text = render_mermaid(planned(tree))
    assert tree["owner"] in re.sub(r"#(\d+);", lambda m: chr(int(m[1])), text)


def test_mermaid_links_prefill_to_decode_with_the_rate() -> None:
    """The same figure as in the SVG, worked out by hand above; a broken one is named and has its own look."""
    assert 'c0p0r0 -->|"needed 49 of 800 Gbit/s"| c0p0r1' in render_mermaid(planned(prod()))
    broken = render_mermaid(planned(crowded()))
    edges = [line for line in broken.splitlines() if "-->" in line]
    (slow,) = [n for n, line in enumerate(edges) if "too slow" in line]
    assert f"linkStyle {slow} " in broken
    assert "linkStyle" not in render_mermaid(planned(prod()))


def test_mermaid_subgraphs_are_closed_and_large_fleets_stay_within_its_limits() -> None:
    """GitHub refuses more than 50,000 characters or 500 edges: 400 pools are shown by tier instead."""
    for tree in FLEETS:
        text = render_mermaid(planned(tree()))
        lines = [line.strip() for line in text.splitlines()]
        assert sum(line.startswith("subgraph ") for line in lines) == lines.count("end")
        assert len(text) < 50_000
        assert text.count("-->") < 500


# --- templates


def test_templates_are_found_in_the_package_first_then_in_a_checkout(tmp_path: Path) -> None:
    """A wheel carries them inside; a checkout has them at its top; anything else is an error that says so."""
    package = tmp_path / "constructs" / "inferfab"
    package.mkdir(parents=True)
    with pytest.raises(NoTemplates, match=r"inferfab/templates"):
        template_folder(package)
    (tmp_path / "templates").mkdir()
    assert template_folder(package) == tmp_path / "templates"
    (package / "templates").mkdir()
    assert template_folder(package) == package / "templates"
    elsewhere = tmp_path / "site-packages" / "inferfab"
    elsewhere.mkdir(parents=True)
    with pytest.raises(NoTemplates):
        template_folder(elsewhere)


def texts(picture: Picture) -> list[str]:
    return [text.full for box in boxes_in(picture.page) for text in box.texts]


def test_sleeping_models_have_no_gpu_of_their_own() -> None:
    """Three models on eight GPUs of sleep mode: so many residents, one awake a GPU; slices are counted as slices."""
    fleet = planned(crowded())
    said = texts(lay_out(fleet))
    assert not [text for text in said if text.endswith("× gpu")]
    assert any(re.fullmatch(r"sleep: \d+ resident, 8 awake", text) for text in said)
    assert any(text.endswith(" resident") for text in said)
    assert any("× mig-" in text for text in said)
    assert " gpu" not in render_mermaid(fleet)
    assert "resident, 8 awake" in render_mermaid(fleet)


def test_an_unknown_price_is_not_one_a_month() -> None:
    """Where no price is known there is nothing to say by the month."""
    tree = one_cell()
    block = {"kind": "capacity_block", "id": "cr-0a1b2c3d4e5f60010", "ends_at": "2027-01-31T11:30:00Z"}
    tree["pools"]["chat-priority"]["capacity"] = block
    fleet = planned(tree)
    said = [*texts(lay_out(fleet)), render_mermaid(fleet), render_svg(fleet)]
    assert "price unknown" in said
    assert not [text for text in said if "unknown a month" in text]


def test_the_legend_tells_what_is_drawn() -> None:
    """An aggregated pool has no KV transfer, one tier no colours to tell apart, slices no tensor parallelism."""
    told = texts(lay_out(planned(prod())))
    assert "KV cache transfer" in told
    assert "too slow for the TTFT promise" not in told
    assert "too slow for the TTFT promise" in texts(lay_out(planned(crowded())))
    tree = one_cell()
    tree["tiers"] = {"batch": {}}
    tree["pools"] = {
        "mig": {
            "topology": "shared", "sharing": "mig", "tier": "batch", "instance": "p5en.48xlarge",
            "nodes": {"desired": 1}, "models": [{"model": "llama-8b"}],
        }
    }  # fmt: skip
    tree["cells"]["use1-a"]["pools"] = {"mig": None}
    told = texts(lay_out(planned(tree)))
    assert "requests" in told
    assert not {"KV cache transfer", "one colour a tier"} & set(told)
    assert not [text for text in told if "TP4" in text]
