"""Losses on Dynamo's simulator, by way of the command."""

import json
import sys
from pathlib import Path

import pytest

from inferfab.cli.main import main
from inferfab.extras import DYNAMO
from rehearse.dynamo_python import dynamo_python

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_who_has_nobody_left_and_who_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """prod's chat-standard has one node a role and cell, chat-priority two. Without a cell the others are simulated."""
    monkeypatch.setenv(DYNAMO.variable, dynamo_python())
    trace = tmp_path / "trace.csv"
    rows = [f"2026-11-30 12:{n // 60:02}:{n % 60:02},1000,40" for n in range(0, 600, 2)]
    trace.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]), encoding="utf-8")
    out = tmp_path / "found.json"
    prod = str(ROOT / "environments" / "prod.yaml")
    monkeypatch.setattr(
        sys, "argv",
        ["inferfab", "failures", prod, "--simulate", "--trace", str(trace), "--as-of", "2026-11-30", "-f", "json",
         "-o", str(out)],
    )  # fmt: skip
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    runs = json.loads(out.read_text(encoding="utf-8"))["simulated"]
    assert [r["scenario"] for r in runs] == ["a node", "cell use1-a", "cell use1-b", "cell usw2-c"]
    node = {(p["cell"], p["pool"]): [x["outage"] for x in p["losses"]] for p in runs[0]["pools"]}
    assert node["use1-a", "chat-standard"] == [True, True]
    assert node["use1-a", "chat-priority"] == [False, False]
    assert {p["cell"] for p in runs[1]["pools"]} == {"use1-b", "usw2-c"}
