"""Dashboards: JSON that Grafana takes, over series that exist. Grafana itself was not run."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.catalog.metrics import exported
from inferfab.plan.fleet import CellPlan
from inferfab.render.observability.files import dashboard_files, preview_page
from inferfab.render.release import MOST_BYTES, release_bytes
from programs import tool
from render.observability.rules import ENVIRONMENTS, all_rules, fleet
from render.observability.test_metric_names import PROMETHEUS_OWN, names, recorded_by_autoscaling

UNITS = {
    "short", "s", "ms", "Bps", "percent", "percentunit", "reqps", "pps", "watt", "currencyUSD", "d",
}  # fmt: skip
"""Ids of Grafana's units (packages/grafana-data valueFormats/categories.ts)."""
ELSEWHERE = {"ALERTS", "inferfab:free_capacity:percent"}
"""Prometheus' own; and recorded by the capacity publisher."""


def boards(cell: CellPlan) -> list[dict[str, Any]]:
    found = []
    for text in dashboard_files(cell).values():
        document = yaml.safe_load(text)
        assert document["metadata"]["labels"] == {"grafana_dashboard": "1"}
        ((file, body),) = document["data"].items()
        board = json.loads(body)
        assert file == f"{board['uid']}.json"
        found.append(board)
    return found


def test_the_six_are_there() -> None:
    uids = [b["uid"] for b in boards(fleet("prod").cells[0])]
    assert uids == [f"inferfab-{n}" for n in ("fleet", "tier", "cell", "pool", "fabric", "cost")]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_model_is_grafanas(name: str) -> None:
    """What Grafana refuses, or shows as an empty or broken panel."""
    for board in boards(fleet(name).cells[0]):
        ids = [p["id"] for p in board["panels"]]
        assert len(set(ids)) == len(ids)
        assert len(board["uid"]) <= 40
        variables = {v["name"] for v in board["templating"]["list"]}
        text = json.dumps([p.get("targets", []) for p in board["panels"]])
        assert "datasource" in variables
        for variable in variables:
            assert f"${variable}" in text or f"${{{variable}}}" in text, (board["uid"], variable)
        assert set(re.findall(r"\$(?:\{)?([a-z]+)", text)) <= variables
        taken: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert at["x"] + at["w"] <= 24
            assert not cells & taken, (board["uid"], panel["title"])
            taken |= cells
            if panel["type"] == "row":
                continue
            assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
            assert panel["targets"] and panel["title"]
            refs = [t["refId"] for t in panel["targets"]]
            assert len(set(refs)) == len(refs)
            assert all(t["datasource"]["uid"] == "${datasource}" for t in panel["targets"])


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_panel_reads_what_exists(name: str) -> None:
    pair = fleet(name).engine
    recorded = {r["record"] for r in all_rules(name) if "record" in r}
    there = exported(pair.dynamo, pair.vllm) | recorded | PROMETHEUS_OWN | recorded_by_autoscaling() | ELSEWHERE
    for board in boards(fleet(name).cells[0]):
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                used = names(target["expr"])
                assert used, target
                assert used <= there, (board["uid"], panel["title"], used - there)


@pytest.mark.parametrize("name", ("dev", "prod", "prod-hybrid"))
def test_prometheus_parses_every_query(name: str, tmp_path: Path) -> None:
    """As rules, for Prometheus' own checker reads those; a choice stands for any value."""
    found = [
        re.sub(r"\$[a-z]+", "x", target["expr"])
        for board in boards(fleet(name).cells[0])
        for panel in board["panels"]
        for target in panel.get("targets", ())
    ]
    rules = [{"record": f"q:{n}:x", "expr": expr} for n, expr in enumerate(found)]
    (tmp_path / "r.yaml").write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}))
    done = subprocess.run(
        [tool("promtool"), "check", "rules", "r.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_release_of_them_fits_a_secret(name: str) -> None:
    """With more than half to spare."""
    for cell in fleet(name).cells:
        assert release_bytes(dashboard_files(cell)) < MOST_BYTES / 2


def test_a_fabric_shows_its_own_counters_only() -> None:
    """EFA has neither PFC nor CNP, and no exporter unless one is named; GKE's marking is not ours."""
    text = {n: dashboard_files(fleet(n).cells[0])["fabric.yaml"] for n in ("prod", "prod-gcp", "prod-hybrid")}
    assert "node_infiniband_np_cnp" not in text["prod"] and "node_amazonefa_retrans" not in text["prod"]
    assert "node_infiniband_np_cnp_packets_sent_total" in text["prod-gcp"]
    assert "prio3_pause" not in text["prod-gcp"]
    assert "node_ethtool_received_prio3_pause" in text["prod-hybrid"]


def test_the_preview_has_every_panel_and_loads_nothing() -> None:
    cell = fleet("prod").cells[0]
    page = preview_page(cell)
    assert page is not None
    titles = [p["title"] for b in boards(cell) for p in b["panels"]]
    assert page.count('class="panel"') + page.count('class="row"') == len(titles)
    assert not re.search(r"(?:src|href)=\"https?:", page)
