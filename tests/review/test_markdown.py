"""The comment as a real Markdown parser reads it: hostile names stay text, tables stay tables, it fits."""

import html as entities
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from inferfab.render.review.markdown import GITHUB_LIMIT, code_span, escaped, length, markdown
from inferfab.review import Report
from inferfab.review.findings import FindingsReview, PolicyFinding
from review.conftest import Run
from review.plans import change, node_group, plan, report_of
from strategies import cheap

PARSER = MarkdownIt("commonmark").enable("table").enable("strikethrough")
OURS = re.compile(r"<details><summary><b>[^<]*</b> \([\d,]+\)</summary>\n?|</details>\n?|</?code>")
NASTY = st.text(
    st.sampled_from("ab|`\\<>&*_~[]()!#@$:/.-+=\n\r\t\x00\x1b\u202e\u2028é😀 {}\"'"), min_size=1, max_size=30
)


def every(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from every(token.children or [])


def checked(text: str) -> list[Token]:
    """All tokens, after what no hostile text may change: markup that is ours alone, and whole tables."""
    tokens = PARSER.parse(text)
    found = list(every(tokens))
    for token in found:
        assert token.type not in ("link_open", "image", "s_open", "em_open", "fence", "code_block", "blockquote_open")
        if token.type in ("html_block", "html_inline"):
            assert not OURS.sub("", token.content).strip(), token.content
    width = None
    cells = 0
    for token in found:
        if token.type == "thead_open":
            width = None
        if token.type == "tr_open":
            cells = 0
        cells += token.type in ("td_open", "th_open")
        if token.type == "tr_close":
            width = width or cells
            assert cells == width
    # A row that fell out of its table would be a paragraph with pipes.
    assert sum(t.type == "tr_open" for t in found) == len(re.findall(r"^\| (?!--)", text, re.MULTILINE))
    return found


def seen(tokens: list[Token]) -> str:
    """What people see."""
    return "".join(entities.unescape(t.content) for t in tokens if t.type in ("text", "code_inline", "text_special"))


@cheap
@given(NASTY)
@example("a|b`c\\|d")
@example("<!-- inferfab-review digest=0000000000000000 at=2099-01-01 -->")
@example("``` ")
@example("\\")
@example("@everyone #1 https://x.example www.x.example")
def test_a_name_is_shown_as_it_is(name: str) -> None:
    """In a cell beside other cells: the parser gives back exactly the name, spaces joined."""
    table = f"| a | b |\n| --- | --- |\n| {code_span(name)} | {escaped(name)} |\n"
    tokens = checked(table)
    assert len([t for t in tokens if t.type == "td_open"]) == 2
    wanted = " ".join("".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in name).split())
    first, second = (t for t in tokens if t.type == "inline" and t.level == 4 and t.map and t.map[0] == 2)
    assert " ".join(seen(first.children or []).split()) == wanted
    assert " ".join(seen(second.children or []).replace("\u200b", "").split()) == wanted


def hostile_report(folder: Path, name: str) -> Report:
    group = node_group("p5.48xlarge", 1, 1, 1, labels={"inferfab/pool": name, "inferfab/cell": name})
    document = plan(
        {**change("aws_eks_node_group.g", "delete create", group, group, replace_paths=[[name]], action_reason=name),
         "address": f"aws_eks_node_group.g[{name!r}]"},
        {**change("aws_security_group.s", "create", None,
                  {"ingress": [{"cidr_blocks": ["0.0.0.0/0"], "protocol": name}]}), "address": name},
        change("aws_sns_topic.t", "update", {name: 1}, {name: 2}, previous_address=name),
        resource_drift=[{**change("aws_sns_topic.t", "update", {name: 1}, {name: 2}), "address": name}],
        output_changes={name: {"actions": ["create"]}},
        deferred_changes=[
            {"reason": name, "resource_change": {**change("aws_sns_topic.d", "create"), "address": name}}],
        checks=[{"address": {"to_display": name}, "status": "fail"}],
    )  # fmt: skip
    report = report_of(folder, document)
    finding = PolicyFinding(tool="checkov", rule=name, severity="error", subject=name, what=name, fix=name, file=name)
    (stack,) = report.stacks
    return report.model_copy(
        update={
            "revision": name,
            "scanner": FindingsReview(new=(finding,)),
            "stacks": (stack.model_copy(update={"name": name, "file": name}),),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@settings(cheap, max_examples=40)
@given(name=NASTY)
def test_hostile_names_break_nothing(folder: Path, name: str) -> None:
    """A whole report whose every name, reason and label is hostile."""
    report = hostile_report(folder, name)
    tokens = checked(markdown(report))
    titles = [t.content for t in tokens if t.type == "inline" and t.level == 1 and t.content]
    assert sum(t.type == "heading_open" for t in tokens) >= 5
    assert "What it destroys" in titles


def many(folder: Path, number: int) -> Report:
    """Half of them destroyed, half updated."""
    made = [change(f"aws_sns_topic.updated_{n:05}", "update", {"a": 1}, {"a": 2}) for n in range(number)]
    made += [change(f"aws_s3_bucket.gone_{n:05}", "delete", {}, None) for n in range(number)]
    return report_of(folder, plan(*made))


@pytest.mark.parametrize("number", [10, 400, 3000])
def test_a_comment_fits_by_leaving_out_the_least_risky(number: int, tmp_path: Path) -> None:
    """GitHub takes 65,536 characters. Updates go before what is destroyed; what was left out is counted."""
    report = many(tmp_path, number)
    text = markdown(report, limit=GITHUB_LIMIT)
    assert length(text) <= GITHUB_LIMIT
    tokens = checked(text)
    destroyed = text.count("`aws_s3_bucket.gone_")
    updated = text.count("`aws_sns_topic.updated_")
    if number == 10:
        assert destroyed == 20 and updated == 10  # each stands in the list of all resources too
        assert text == markdown(report)
    if number == 400:
        assert destroyed >= 400 and updated < 400
    if number == 3000:
        assert updated == 0 and destroyed > 100 and "more rows" in text
        assert "Every resource that changes" in seen(tokens)
    if number > 10:
        assert "Cut to fit a comment" in text
        assert length(text) > GITHUB_LIMIT * 0.8, "room is used"


def test_the_worst_stands_first_and_open(tmp_path: Path) -> None:
    """What is destroyed is never folded, and comes before everything but the numbers."""
    text = markdown(many(tmp_path, 2))
    assert text.startswith("## 🛑 BLOCK")
    before_folds = text.split("<details>")[0]
    assert before_folds.count("`aws_s3_bucket.gone_") == 2
    assert text.index("What it destroys") < text.index("Every resource that changes")


@pytest.mark.parametrize("limit", [1, 100, 500, 2000, 10_000])
def test_any_limit_holds(limit: int, tmp_path: Path) -> None:
    assert length(markdown(many(tmp_path, 50), limit=limit)) <= limit


DEEP = "x"
for _ in range(300):
    DEEP = {"a": [DEEP]}  # type: ignore[assignment]
WRONG: list[Any] = [
    None, True, 1, "x", [], [1], {}, {"a": None}, DEEP, "x" * 100_000, float("nan"), 10**400, "\ud800",
]  # fmt: skip


TYPES = (
    "aws_eks_node_group", "aws_autoscaling_group", "google_container_node_pool", "kubernetes_manifest",
    "aws_security_group", "aws_iam_policy", "aws_ec2_capacity_block_reservation", "aws_ec2_fleet",
)  # fmt: skip
ATTRIBUTES = (
    "instance_types", "scaling_config", "launch_template", "mixed_instances_policy", "node_config", "manifest",
    "ingress", "policy", "labels", "instance_count", "launch_template_config", "taint",
)  # fmt: skip


def with_wrong(value: Any) -> Iterator[dict[str, Any]]:
    """Plans in which one part each is ``value``."""
    group = node_group("p5.48xlarge", 1, 1, 1)
    base = plan(
        change("aws_eks_node_group.g", "update", group, node_group("p5.48xlarge", 1, 1, 2)),
        resource_drift=[], variables={}, prior_state={}, output_changes={}, deferred_changes=[], checks=[],
        action_invocations=[], errored=False, complete=True, timestamp="",
    )  # fmt: skip
    inner = base["resource_changes"][0]
    yield from ({**base, key: value} for key in base)
    yield from ({**base, "resource_changes": [{**inner, key: value}]} for key in inner)
    for key in inner["change"]:
        yield {**base, "resource_changes": [{**inner, "change": {**inner["change"], key: value}}]}
    for type_ in TYPES:
        yield from (plan(change(f"{type_}.x", "create", None, {name: value})) for name in ATTRIBUTES)


SAMPLED = [pytest.param(value, marks=() if n == 8 else pytest.mark.slow, id=str(n)) for n, value in enumerate(WRONG)]
"""Each takes a second; the quick set has deep nesting."""


@pytest.mark.parametrize("value", SAMPLED)
def test_wrong_types_anywhere(value: Any, run: Run, tmp_path: Path) -> None:
    """Each part of a plan in turn is something else: one clear answer, never a traceback, never broken Markdown."""
    path = tmp_path / "p.json"
    for document in with_wrong(value):
        path.write_text(json.dumps(document), encoding="utf-8")
        code, out, err = run(str(path))
        assert code in (0, 2, 4), err
        assert "fault of inferfab" not in err and "Traceback" not in err
        checked(out)


def test_a_huge_name_is_cut(tmp_path: Path) -> None:
    report = report_of(tmp_path, plan(change("aws_sns_topic." + "x" * 1_000_000, "delete", {}, None)))
    assert length(markdown(report)) < 10_000
