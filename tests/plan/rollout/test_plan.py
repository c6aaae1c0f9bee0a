"""Order of cells and shares of traffic, by hand; the questions against the lists of metrics that exist."""

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.shared_folder import shared
from inferfab.environment.loading import load_text
from inferfab.plan.fleet import FleetPlan, plan, read_plan
from inferfab.plan.rollout.signals import planned_frontends, promises_of, signals

ROOT = Path(__file__).resolve().parents[3]


@cache
def _tree() -> str:
    return (ROOT / "environments" / "prod.yaml").read_text(encoding="utf-8")


def fleet(**changes: Any) -> FleetPlan:
    tree = yaml.safe_load(_tree())
    for path, value in changes.items():
        section, _, key = path.partition("__")
        tree[section][key] = value
    environment = load_text(yaml.safe_dump(tree)).environment
    assert environment is not None
    return plan(environment)


def shares(of: FleetPlan, cell: str) -> list[dict[str, float]]:
    assert of.rollout is not None
    return [s.traffic_shares for s in next(c for c in of.rollout.cells if c.cell == cell).steps]


def test_shares_move_within_a_region() -> None:
    """use1-b has a quarter of the traffic. Cells are alike and planned for 60 %, so none takes more than 1/3 of 100/60,
    55.55: use1-a takes 15.5 beside its 40, and use1-b keeps 9.5, which is 38 % of its own, not the 10 that were asked.
    The cell in the west has nobody to give to.
    """
    found = fleet()
    assert shares(found, "use1-b") == [
        {"use1-a": 0.555, "use1-b": 0.095, "usw2-c": 0.35},
        {"use1-a": 0.525, "use1-b": 0.125, "usw2-c": 0.35},
        {"use1-a": 0.4, "use1-b": 0.25, "usw2-c": 0.35},
    ]
    assert shares(found, "usw2-c") == [{"use1-a": 0.4, "use1-b": 0.25, "usw2-c": 0.35}]
    assert read_plan(found.to_json()) == found


def test_steps_are_raised_to_what_the_others_can_take() -> None:
    """By hand for use1-a: use1-b can take 30.55 beside its 25, so of 40 at least 9.45 stay, which is 24 %."""
    rollout = fleet(rollout__share_percent_steps=[10, 20, 30, 38, 100]).rollout
    assert rollout is not None
    b, west, a = rollout.cells
    assert [(s.share_percent, s.asked_percent) for s in b.steps] == [(38, None), (100, None)]
    assert [(s.share_percent, s.asked_percent) for s in a.steps] == [(24, 10), (30, None), (38, None), (100, None)]
    assert "`use1-a` gets 62%" in b.raised and "112% busy" in b.raised and not west.raised


def test_a_cell_that_is_full_takes_no_more_while_another_has_room() -> None:
    """At 10 % of the west's 35, 31.5 move. In proportion 40 of 65 would be 19.4, and use1-a can take 15.55; use1-b
    takes the rest: 15.95 beside its 25.
    """
    west = shares(fleet(routing__policy="weighted"), "usw2-c")[0]
    assert west == pytest.approx({"use1-a": 5 / 9, "use1-b": 0.965 - 5 / 9, "usw2-c": 0.035}, abs=3e-6)


def test_weighted_names_move_everywhere() -> None:
    """At half of its 35, the west gives 17.5 to 40 and 25 in proportion."""
    west = shares(fleet(routing__policy="weighted"), "usw2-c")[1]
    assert west == pytest.approx({"use1-a": 0.4 + 0.175 * 40 / 65, "use1-b": 0.25 + 0.175 * 25 / 65, "usw2-c": 0.175})
    assert all(sum(step.values()) == pytest.approx(1, abs=1e-5) for step in shares(fleet(), "use1-a"))


def test_the_least_traffic_goes_first() -> None:
    rollout = fleet().rollout
    assert rollout is not None and [c.cell for c in rollout.cells] == ["use1-b", "usw2-c", "use1-a"]
    stated = fleet(rollout__order=["usw2-c", "use1-b", "use1-a"]).rollout
    assert stated is not None and [c.cell for c in stated.cells] == ["usw2-c", "use1-b", "use1-a"]


def test_a_judged_change_reaches_its_first_cell() -> None:
    """Four changes a month, one in twenty bad, 30 + 15 minutes for a quarter of the traffic."""
    changes = next(f for f in fleet().availability[0].factors if f.name == "changes")
    assert changes.minutes_per_month == pytest.approx(4 * 0.05 * 45 * 0.25)


def test_only_the_new_frontends_are_meant() -> None:
    """A graph that is being replaced has the same route and another digest."""
    found = fleet()
    cell = found.cells[0]
    pods = re.compile(planned_frontends(cell, "qwen-32b"))
    (graph,) = [g for g in cell.serving.graphs if g.model == "qwen-32b"]
    assert pods.fullmatch(f"{graph.name}-frontend-7d9f-x")
    assert not pods.fullmatch(f"{graph.route}-000000-frontend-7d9f-x")


def test_promises_are_held_where_frontends_know_the_tier() -> None:
    """qwen-32b is sold in one tier, which promises first tokens; llama-70b's frontends answer for two."""
    found = fleet()
    assert promises_of(found, found.cells[0], "llama-70b") == ()
    (promise,) = promises_of(found, found.cells[0], "qwen-32b")
    assert (promise.tier, promise.metric, promise.percentile, promise.at_most_ms) == ("standard", "ttft", 95, 2000)


def test_every_metric_exists() -> None:
    """In the list scraped from Dynamo 1.6.1: names, and the labels and values that the questions pick by."""
    listed = shared("data/metrics/dynamo-1.6.1.json").read_text(encoding="utf-8")
    known = {m["name"]: m for m in json.loads(listed)["metrics"]}
    asked = signals("m", 30, "x-.*")
    assert set(re.findall(r"dynamo_\w+", asked.behind_router)) <= set(known)
    assert "reason" in known["dynamo_frontend_failures_total"]["labels"]
    for question in (asked.started, asked.failed, asked.ttft, asked.itl):
        (name,) = re.findall(r"dynamo_\w+", question)
        metric = known[name.removesuffix("_bucket")]
        assert metric["type"] == ("histogram" if name.endswith("_bucket") else "counter")
        # `pod` is the target's, by the PodMonitor; `le` every histogram's.
        assert set(re.findall(r"(\w+)=", question)) - {"pod"} <= set(metric["labels"])
    seen = set(known["dynamo_frontend_requests_total"]["label_values_seen"]["error_type"])
    told = set(re.findall(r'error_type=~"([^"]+)"', asked.failed)[0].split("|"))
    # response_timeout is in the README's list of kinds, and was not provoked in the scrape.
    assert told - {"response_timeout"} <= seen and not told & {"", "not_found", "validation"}


def test_promtool_reads_the_questions(tmp_path: Path) -> None:
    """As expressions of recording rules, which is where promtool looks at expressions."""
    program = os.environ.get("PROMTOOL") or shutil.which("promtool")
    if not program:
        pytest.skip("promtool is not on this machine: put it on the PATH or name it in PROMTOOL")
    asked = [
        *signals("m", 30, "a-.*|b-.*").model_dump().values(),
        *signals("m", 5, ago_minutes=45).model_dump().values(),
    ]
    rules = [{"record": f"x:y{n}:z", "expr": question} for n, question in enumerate(asked)]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "judge", "rules": rules}]}), encoding="utf-8")
    done = subprocess.run([program, "check", "rules", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "10 rules found" in done.stdout
