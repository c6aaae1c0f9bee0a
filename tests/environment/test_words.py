"""Words for wrong values: every pattern has some, dates are real, contradictions tell what to do, guesses are near."""

import re
from pathlib import Path
from typing import Any

import pytest

import inferfab
from inferfab.catalog.instances import instances
from inferfab.catalog.regions import regions
from inferfab.checks.check import check
from inferfab.cli.locate import locate
from inferfab.environment.base import PATTERN_WORDS
from inferfab.environment.loading import load, load_text
from inferfab.environment.problems import closest
from inferfab.environment.schema import json_schema
from inferfab.findings import Finding

DEV = (Path(__file__).parent / "sound.yaml").read_text(encoding="utf-8")
AWS = [key.partition(":")[2] for key in regions() if key.startswith("aws:")]


def found(old: str, new: str) -> list[Finding]:
    assert old in DEV
    return [f for f in check(load_text(DEV.replace(old, new, 1))).findings if f.severity == "error"]


def patterns(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["pattern"]} if isinstance(node.get("pattern"), str) else set()
        keys = set(node.get("patternProperties", {}))
        return own | keys | {p for part in node.values() for p in patterns(part)}
    return {p for part in node for p in patterns(part)} if isinstance(node, list) else set()


def test_every_pattern_has_words() -> None:
    """No field of the format shows its regular expression to a person."""
    asked = patterns(json_schema())
    assert len(asked) > 10
    assert asked <= set(PATTERN_WORDS)
    for words in PATTERN_WORDS.values():
        assert not re.search(r"\^|\\|\[[a-z]|\$", words)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("owner:", 'observability: {efa_exporter_image: "a b\'c"}\nowner:', "registry.example.com/team/image:1"),
        ("owner:", "observability: {efa_exporter_image: Registry/efa}\nowner:", "`registry/efa`"),
        ("owner:", "observability: {efa_exporter_image: 'https://a.example/efa'}\nowner:", "as nodes pull it"),
        ("owner:", "observability: {efa_exporter_image: ''}\nowner:", "as nodes pull it"),
        ("  dynamo:", '  image_registry: "a b\'c"\n  dynamo:', "without scheme"),
        ("owner:", "routing: {domain: LLM.Example.com}\nowner:", "write `llm.example.com`"),
        ("owner:", f"routing: {{domain: {'a' * 64}.example.com}}\nowner:", "at most 63 letters"),
        ("owner:", "state: {bucket: A_b, region: us-east-1}\nowner:", "3 to 63 lower-case letters"),
        ("  aws:\n", "  gcp: {project: short}\n  aws:\n", "6 to 30 lower-case"),
        ("  aws:\n", "  aws:\n    deploy_role: a/b\n", "IAM role without path"),
        ("  aws:\n", '  aws:\n    admin_roles: ["arn:aws"]\n', "not its ARN"),
        ("    zone:", "    cluster: {ami_release: newest}\n    zone:", "1.36.1-20261014"),
        ("10.20.0.0/16", "10.20/16", "IPv4 range like"),
        (
            '"111122223333"',
            '"\\u0661\\u0661\\u0661\\u0661\\u0662\\u0662\\u0662\\u0662\\u0663\\u0663\\u0663\\u0663"',
            "twelve digits",
        ),
    ],
)
def test_words_of_patterns(old: str, new: str, says: str) -> None:
    """Text that does not match is answered with what to write; digits are 0 to 9 in every alphabet."""
    [finding] = found(old, new)
    assert (finding.rule, says in finding.fix) == ("IF-ENV-013", True), finding
    assert "^" not in finding.fix


BLOCK = "    capacity: {kind: capacity_block, id: cr-0a1b2c3d, ends_at: '%s'}\n    worker:"
PRICE = (
    "prices: {overlay: [{cloud: aws, instance: g6e.xlarge, kind: on_demand, usd_per_hour: 2, source: s, as_of: '%s'}]}"
    "\nowner:"
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2027-02-29T11:30:00Z", "ends on 2027-02-28"),
        ("2027-13-01T11:30:00Z", "2027-01-31T11:30:00Z"),
        ("2027-01-31T25:30:00Z", "00:00:00 to 23:59:59"),
        ("0000-01-31T11:30:00Z", "2027-01-31T11:30:00Z"),
        ("2028-02-29T11:30:00Z", ""),
        ("1999-12-31T23:59:59Z", ""),
    ],
)
def test_times_are_in_the_calendar(text: str, says: str) -> None:
    """A time that never comes is refused; one that is past is not: nothing here knows today."""
    findings = [f for f in found("    worker:", BLOCK % text) if f.rule.startswith("IF-ENV")]
    assert [(f.rule, says in f.fix) for f in findings] == ([("IF-ENV-013", True)] if says else [])


@pytest.mark.parametrize(("text", "says"), [("2026-04-31", "ends on 2026-04-30"), ("2026-00-10", "2026-11-01")])
def test_dates_are_in_the_calendar(text: str, says: str) -> None:
    """The same for days."""
    [finding] = found("owner:", PRICE % text)
    assert finding.dotted_path == "prices.overlay[0].as_of"
    assert says in finding.fix
    assert not found("owner:", PRICE % "2026-04-30")


@pytest.mark.parametrize(
    ("old", "new", "fix"),
    [
        ("{desired: 1}", "{min: 3, desired: 2}", "write `min: 2` or less, or `desired: 3`"),
        ("{desired: 1}", "{desired: 9, max: 4}", "write `max: 9` or more, or `desired: 4`"),
        ("    instance: g6e.xlarge\n", "", "add `gpu: …`, or `instance: …`"),
        (
            "    instance: g6e.xlarge\n",
            "    instance: g6e.xlarge\n    gpu: l40s\n",
            "remove `gpu: l40s`, or `instance`",
        ),
        ("    catalog: qwen3-8b\n", "", "add `catalog: …` (`inferfab catalog models` lists them)"),
        (
            "    context_tokens",
            "    speculative: {method: mtp, draft: {source: a/b, revision: '0123456'}}\n    context_tokens",
            "remove `draft`, or write the method that uses it: draft_model, eagle, eagle3",
        ),
    ],
)
def test_contradictions_tell_what_to_write(old: str, new: str, fix: str) -> None:
    """Fields that exclude each other: which one to change, and to what."""
    [finding] = found(old, new)
    assert (finding.rule, finding.fix) == ("IF-ENV-014", fix)


@pytest.mark.parametrize(
    ("word", "options", "meant"),
    [
        ("m7i.large", list(instances("aws")), None),
        ("cn-north-1", AWS, None),
        ("float99", ["float16", "float32", "bfloat16"], None),
        ("US-EAST-1", AWS, "us-east-1"),
        ("P5EN.48xlarge", list(instances("aws")), "p5en.48xlarge"),
        ("useast1", AWS, "us-east-1"),
        ("p5.48xlarg", list(instances("aws")), "p5.48xlarge"),
        ("eu-west-1", ["aws:eu-west-1", "aws:eu-west-2"], "aws:eu-west-1"),
        ("nwe", ["new", "existing"], "new"),
    ],
)
def test_guesses(word: str, options: list[str], meant: str | None) -> None:
    """A guess begins like the word and has its numbers; what is like nothing gets none; case does not matter."""
    assert closest(word, options) == meant


def test_a_file_in_environments_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check dev.yaml` where only environments/dev.yaml exists."""
    monkeypatch.chdir(tmp_path)
    Path("environments").mkdir()
    Path("environments/dev.yaml").write_text(DEV, encoding="utf-8")
    [finding] = load(locate("dev.yaml")).findings
    assert finding.fix == "did you mean environments/dev.yaml?"


def test_a_saved_plan_is_told_from_an_environment() -> None:
    """`plan p.json`: one finding that says what it is and which command reads it."""
    fleet = check(load_text(DEV)).plan
    assert fleet is not None
    [finding] = check(load_text(fleet.to_json(), shown_as="p.json")).findings
    assert (finding.rule, finding.location.line) == ("IF-ENV-013", 2)
    assert "saved plan" in finding.what
    assert "inferfab diff" in finding.fix


def test_check_takes_a_path(tmp_path: Path) -> None:
    """check(path) is check(load(path)); anything else is refused with what to write."""
    file = tmp_path / "dev.yaml"
    file.write_text(DEV, encoding="utf-8")
    assert inferfab.check(str(file)) == inferfab.check(file) == inferfab.check(inferfab.load(file))
    loaded = inferfab.load(file)
    with pytest.raises(TypeError, match="a path or what load"):
        inferfab.check(loaded.environment)  # type: ignore[arg-type]
    for wrong in (loaded, None):
        with pytest.raises(TypeError, match=r"plan\(load\(path\)\.environment\)"):
            inferfab.plan(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "image",
    [
        "efa",
        "registry.example.com/efa:1",
        "registry.example.com:5000/team/efa-node__exporter:v1.2_3@sha256:" + "0" * 64,
        "111122223333.dkr.ecr.us-east-1.amazonaws.com/efa@sha256:" + "a" * 64,
    ],
)
def test_images_that_nodes_can_pull_are_taken(image: str) -> None:
    """Forms of the distribution project's reference grammar."""
    (warned,) = [
        f for f in check(load_text(f"observability: {{efa_exporter_image: '{image}'}}\n{DEV}")).findings
        if f.dotted_path == "observability.efa_exporter_image"
    ]  # fmt: skip
    assert warned.rule == "IF-OBS-007"
