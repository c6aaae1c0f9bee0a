"""Edges and series of a real frontend of Dynamo 1.6.1, started with what the graph says."""

import re
from pathlib import Path

import pytest

from inferfab.environment.loading import load_text
from inferfab.plan.fleet import plan
from inferfab.plan.observability.buckets import edges_of, frontend_buckets
from inferfab.rehearse.cast import cast_of
from inferfab.rehearse.processes import Processes
from inferfab.rehearse.stage import Stage
from rehearse.dynamo_python import dynamo_python

DEV = Path(__file__).resolve().parents[2] / "environments" / "dev.yaml"
PROMISES = """      - {metric: ttft, percentile: 50, at_most_ms: 200}
      - {metric: ttft, percentile: 95, at_most_ms: 500}
      - {metric: itl, percentile: 95, at_most_ms: 40}
"""


@pytest.mark.slow
def test_a_real_frontend_has_the_edges_that_the_plan_says(tmp_path: Path) -> None:
    """TTFT at 200 and 500 ms, ITL at 40; and started requests are counted where objectives read them."""
    text = DEV.read_text().replace("      - {metric: ttft, percentile: 95, at_most_ms: 2000}\n", PROMISES)
    environment = load_text(text).environment
    assert environment is not None
    fleet = plan(environment)
    buckets = frontend_buckets(fleet.tiers)
    (tmp_path / "logs").mkdir()
    cast = cast_of(fleet, fleet.cells[0], tmp_path)
    with Processes(tmp_path / "logs") as processes:
        stage = Stage(dynamo_python(), cast.actors, tmp_path, processes)
        stage.wait()
        front = next(a for a in stage.actors if a.part == "frontend")
        assert stage.ask(front, tokens=8).ok
        status, body = stage._get(front, "/metrics")
    assert status == 200
    for metric, name, promised in (
        ("ttft", "time_to_first_token", {0.2, 0.5}), ("itl", "inter_token_latency", {0.04}),
    ):  # fmt: skip
        found = re.findall(rf'^dynamo_frontend_{name}_seconds_bucket{{.*le="([^"]+)"}}', body.decode(), re.MULTILINE)
        edges = [float(le) for le in dict.fromkeys(found) if le != "+Inf"]
        assert edges == list(edges_of(buckets, metric))  # type: ignore[arg-type]
        assert promised <= set(edges)
    assert re.search(r"^dynamo_frontend_requests_started_total{.*} [1-9]", body.decode(), re.MULTILINE)
