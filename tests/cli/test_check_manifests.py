"""`inferfab check --manifests`, and the formats of findings."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
PAIR = str(ROOT / "docs" / "examples" / "pair.yaml")
SOUND = str(ROOT / "tests" / "manifests" / "sound")


def test_text(run: Any) -> None:
    """Findings with their lines quoted, then what was judged; exit code 1 for errors."""
    ran = run("check", "--manifests", PAIR)
    assert ran[0] == 1
    assert "pair.yaml:23:58  error  IF-FAB-011" in ran[1]
    assert "judged: 2 objects, 2 workloads" in ran[1]


def test_json(run: Any) -> None:
    """Files, what was judged and what was not, and findings with place and path."""
    ran = run("check", "-m", PAIR, "-f", "json")
    body = json.loads(ran[1])
    assert body["ok"] is False
    assert body["judged"]["vllm serve"] == 1
    found = {f["rule"]: f for f in body["findings"]}
    assert found["IF-POD-003"]["location"] == {"file": PAIR, "line": 51, "column": 59}
    assert found["IF-POD-003"]["dotted_path"].endswith("containers[0].readinessProbe.httpGet.port")


def test_folders_are_sound(run: Any) -> None:
    """All sound shapes at once: exit code 0, and remarks about what was not seen."""
    code, out, _ = run("check", "-m", SOUND, "--quiet")
    assert code == 0
    assert "IF-" not in out


def test_standard_input(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rendered chart through a pipe."""
    text = Path(PAIR).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, out, _ = run("check", "--manifests", "-")
    assert code == 1
    assert "<stdin>:51:59" in out


def test_github(run: Any, tmp_path: Path) -> None:
    """One workflow command a finding; commas, colons, per cents and line ends are escaped as the runner reads them."""
    odd = tmp_path / "a,b:c%.yaml"
    odd.write_text(Path(PAIR).read_text(encoding="utf-8"), encoding="utf-8")
    _, out, _ = run("check", "-m", str(odd), "-f", "github")
    lines = out.splitlines()
    assert len(lines) == 5
    assert all(line.startswith("::error file=") for line in lines)
    assert f"file={tmp_path}/a%2Cb%3Ac%25.yaml,line=23,col=58,title=IF-FAB-011::" in out


def test_github_of_an_environment(run: Any) -> None:
    """Infos are notices."""
    _, out, _ = run("check", "dev", "-f", "github")
    assert out.strip() == "" or all(line.startswith("::") for line in out.splitlines())


def test_sarif_is_valid(run: Any) -> None:
    """Every result has a rule of the run and a place; the whole keeps what SARIF 2.1.0 asks for."""
    _, out, _ = run("check", "-m", PAIR, "-f", "sarif")
    body = json.loads(out)
    (result_run,) = body["runs"]
    ids = [r["id"] for r in result_run["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids))
    for result in result_run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] >= 1
        assert region["startColumn"] >= 1


def test_sarif_tells_files_apart(run: Any, tmp_path: Path) -> None:
    """The same finding in two files has two fingerprints: code scanning would close one with the other."""
    paths = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for path in paths:
        path.write_text(Path(PAIR).read_text(encoding="utf-8"), encoding="utf-8")
    _, out, _ = run("check", "-m", *map(str, paths), "-f", "sarif")
    results = json.loads(out)["runs"][0]["results"]
    assert len({json.dumps(r["partialFingerprints"]) for r in results}) == len(results) == 10


def test_against(run: Any, tmp_path: Path) -> None:
    """A change of what cannot change, between two files."""
    old = Path(SOUND) / "07-statefulset-arrays.yaml"
    new = tmp_path / "new.yaml"
    new.write_text(old.read_text(encoding="utf-8").replace("serviceName: coder", "serviceName: x"), encoding="utf-8")
    code, out, _ = run("check", "-m", str(new), "--against", str(old))
    assert code == 1
    assert "IF-CHG-001" in out
    assert run("check", "-m", str(old), "--against", str(old))[0] == 0


def test_wrong_usage(run: Any) -> None:
    """Two environments are a mistake of usage; a path that is not there is a finding."""
    assert run("check", "dev", "prod")[0] == 2
    code, out, _ = run("check", "-m", "nowhere/")
    assert code == 1
    assert "IF-MAN-001" in out


def test_the_other_mode(run: Any) -> None:
    """A manifest given as environment, and the other way round: what to add or to remove is said."""
    code, out, _ = run("check", PAIR)
    assert code == 1
    assert "add `--manifests`" in out
    assert "IF-ENV-010" not in out
    code, out, _ = run("check", "-m", str(ROOT / "environments" / "dev.yaml"))
    assert code == 0
    assert "remove `--manifests`" in out


def test_against_nothing(run: Any) -> None:
    """An OLD that is not there is an error: nothing was compared."""
    code, out, _ = run("check", "-m", f"{SOUND}/07-statefulset-arrays.yaml", "--against", "nowhere.yaml")
    assert code == 1
    assert "IF-MAN-001" in out
