"""`check --format sarif` is SARIF 2.1.0 as its JSON Schema and the specification have it."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest

from inferfab.checks.check import check
from inferfab.checks.explain import all_rules
from inferfab.checks.manifests import check_manifests
from inferfab.environment.loading import load_text
from inferfab.findings import Finding
from inferfab.manifests.read import read_manifests
from inferfab.render.sarif import sarif

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
NAMES = [
    "environments/dev.yaml",
    "my env é.yaml",
    "/abs/a b.yaml",
    "a:b.yaml",
    "100%#?.yaml",
    "\udcff.yaml",
    "[x].yaml",
]


def log_of(findings: tuple[Finding, ...]) -> dict[str, Any]:
    """The SARIF log after a trip through JSON, valid by the schema."""
    log: dict[str, Any] = json.loads(json.dumps(sarif(findings, version="1.2.3")))
    VALIDATOR.validate(log)
    return log


def findings_of(text: str, file: str = "e.yaml") -> tuple[Finding, ...]:
    return check(load_text(text, shown_as=file)).findings


def test_the_schema_refuses_a_wrong_log() -> None:
    """The validator works: a level that SARIF does not have, and a line 0, are refused."""
    for change in ({"level": "info"}, {"locations": [{"physicalLocation": {"region": {"startLine": 0}}}]}):
        log = sarif(findings_of("a: b\n"), version="1.2.3")
        log["runs"][0]["results"][0].update(change)
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate(log)


@pytest.mark.parametrize("name", ["dev", "staging", "prod", "prod-gcp"])
def test_shipped_environments(name: str) -> None:
    """Valid for every shipped environment, with and without findings; severities map to SARIF's levels."""
    findings = findings_of((ROOT / "environments" / f"{name}.yaml").read_text(encoding="utf-8"))
    results = log_of(findings)["runs"][0]["results"]
    levels = {"error": "error", "warning": "warning", "info": "note"}
    assert [r["level"] for r in results] == [levels[f.severity] for f in findings]


def test_results_refer_to_the_rules_of_the_run() -> None:
    """Each hit rule is described once, and ruleIndex points at it."""
    run = log_of(findings_of("name: Dev\nowner: 5\nnope: 1\n"))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len({r["id"] for r in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert result["partialFingerprints"]
    assert {r["ruleId"] for r in run["results"]} == {r["id"] for r in rules}


def test_every_rule_can_be_reported() -> None:
    """A finding of any rule that exists makes a valid log."""
    template = findings_of("")[0]
    log = log_of(tuple(template.model_copy(update={"rule": r.id, "severity": r.severity}) for r in all_rules()))
    assert len(log["runs"][0]["results"]) == len(all_rules())


@pytest.mark.parametrize("file", NAMES, ids=ascii)
def test_file_names_are_uri_references(file: str) -> None:
    """Spaces, letters beyond ASCII, colons and bytes that are not UTF-8 are percent-encoded, and decode to the name."""
    [result] = log_of(findings_of("", file))["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    parts = urlsplit(uri)
    assert uri.isascii() and " " not in uri and not parts.query and not parts.fragment
    assert parts.scheme == ("file" if file.startswith("/") else "")
    assert unquote(parts.path, errors="surrogateescape") == file


def test_columns_count_code_points() -> None:
    """The run says how columns count, and a letter outside the basic plane counts as one."""
    log = log_of(findings_of('{name: dev, owner: "\U0001f600", nope: 1}\n'))
    assert log["runs"][0]["columnKind"] == "unicodeCodePoints"
    region = next(r for r in log["runs"][0]["results"] if r["ruleId"] == "IF-ENV-010")["locations"][0][
        "physicalLocation"
    ]["region"]
    assert region == {"startLine": 1, "startColumn": 25}


def test_required_fields_by_hand() -> None:
    """What code hosts read: version, schema, tool name and version, uri, line, message."""
    log = log_of(findings_of("name: Dev\n"))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    driver = log["runs"][0]["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("inferfab", "1.2.3")
    place = log["runs"][0]["results"][0]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "e.yaml"
    assert place["physicalLocation"]["region"]["startLine"] == 1


def test_manifests_and_suppressed_results() -> None:
    """Findings in manifests, and what an environment switched off, are valid too."""
    checked = check_manifests(read_manifests([ROOT / "docs" / "examples" / "pair.yaml"]))
    assert len(log_of(checked.findings)["runs"][0]["results"]) == len(checked.findings) > 3
    off = tuple(f.model_copy(update={"accepted": "known, and mended next week"}) for f in checked.findings)
    log = sarif((), version="1.2.3", switched_off=off)
    VALIDATOR.validate(log)
    assert all(r["suppressions"][0]["status"] == "accepted" for r in log["runs"][0]["results"])
