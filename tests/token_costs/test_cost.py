"""Dollars per million tokens, from answers of Prometheus; numbers by hand."""

import csv
import io
import json
import threading
import urllib.parse
from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from inferfab.cli.main import app
from inferfab.environment.loading import load
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.prometheus_http import NoAnswer
from inferfab.token_costs.prometheus import AnswerFile, PrometheusServer, read_answer
from inferfab.token_costs.report import CostReport, cost_report

ROOT = Path(__file__).resolve().parents[2]
UNTIL = date(2026, 11, 30)
MIDNIGHT = int(datetime(2026, 11, 30, tzinfo=UTC).timestamp())


@cache
def staging() -> FleetPlan:
    environment = load(ROOT / "environments" / "staging.yaml").environment
    assert environment is not None
    return plan(environment)


def series(pool: str, days: int, cell: str = "use2-b", *, output: float = 48e6, usd: float = 1200.0) -> list[Any]:
    """Equal days until 30 November: 1,200 to 1,440 $, 48 million answer tokens, four times that in all."""
    at = [MIDNIGHT - n * 86_400 for n in reversed(range(days))]
    where = {"cell": cell, "pool": pool}
    cost, tokens = {"__name__": "inferfab:pool_cost_usd:sum1d"}, {"__name__": "inferfab:pool_tokens:sum1d"}
    numbers = [
        ({**cost, **where, "bound": "low"}, usd),
        ({**cost, **where, "bound": "high"}, usd * 1.2),
        ({**tokens, **where, "definition": "output_tokens"}, output),
        ({**tokens, **where, "definition": "total_tokens"}, output * 4),
    ]
    return [{"metric": metric, "values": [[t, str(value)] for t in at]} for metric, value in numbers]


def answer(*parts: list[Any]) -> bytes:
    result = [one for part in parts for one in part]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def report(text: bytes, days: int = 1) -> CostReport:
    return cost_report(staging(), [AnswerFile("kept", text)], UNTIL, days)


def test_a_day_of_a_pool_in_both_definitions() -> None:
    """1,200 $ over 48 million answer tokens is 25 $ a million, over 192 million 6.25 $; above, a fifth more."""
    found = report(answer(series("chat", 1)))
    (pool, tier, model) = found.days
    assert (pool.day, pool.level, pool.name) == (date(2026, 11, 29), "pool", "chat")
    assert (tier.level, tier.name, model.level, model.name) == ("tier", "priority", "model", "llama-70b")
    for row in found.days:
        assert row.usd_per_million("output", "low") == pytest.approx(25)
        assert row.usd_per_million("output", "high") == pytest.approx(30)
        assert row.usd_per_million("total", "low") == pytest.approx(6.25)
        assert row.usd_per_million("total", "high") == pytest.approx(7.5)
    assert found.missing == ("use2-b/small-models",)


def test_idle_days_cost_and_are_not_divided() -> None:
    (row, *_) = report(answer(series("chat", 1, output=0.0))).days
    assert (row.usd_low, row.usd_per_million("output", "low")) == (1200.0, None)


def test_days_before_and_after_are_left_out() -> None:
    """Ten days are in the answer, three are asked for."""
    found = report(answer(series("chat", 10)), days=3)
    assert sorted({r.day for r in found.days}) == [date(2026, 11, d) for d in (27, 28, 29)]


def test_two_sources_of_a_cell_count_once() -> None:
    """A cell's own Prometheus, and a store that has it too."""
    text = answer(series("chat", 1))
    found = cost_report(staging(), [AnswerFile("a", text), AnswerFile("b", text)], UNTIL, 1)
    assert found.days[0].usd_low == 1200.0


def test_other_environments_of_a_store_do_not_count() -> None:
    """Their cell and pool have the same names; whichever comes last must not win. A cell's own server says none."""

    def of(environment: str, usd: float) -> list[Any]:
        made = series("chat", 1, usd=usd)
        for one in made:
            one["metric"]["environment"] = environment
        return made

    for parts in ((of("staging", 1200.0), of("prod", 9000.0)), (of("prod", 9000.0), of("staging", 1200.0))):
        assert report(answer(*parts)).days[0].usd_low == 1200.0
    assert report(answer(of("prod", 9000.0))).days == ()
    assert report(answer(series("chat", 1))).days[0].usd_low == 1200.0


def test_the_trend_compares_whole_weeks() -> None:
    """A week at 36 $ a million (upper bound) after one at 30 $: a fifth more. With 13 days there is none."""
    old, new = series("chat", 14), series("chat", 7, usd=1440.0)
    merged = [
        {"metric": one["metric"], "values": [*one["values"][:7], *two["values"]]}
        for one, two in zip(old, new, strict=True)
    ]
    trend = report(answer(merged), days=14).trends[0]
    assert (trend.usd_per_million_before, trend.usd_per_million_now) == (pytest.approx(30), pytest.approx(36))
    assert trend.ratio == pytest.approx(1.2)
    assert report(answer(merged), days=13).trends == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"<html>", "no answer of Prometheus"),
        (b'{"status": "error", "error": "query timed out"}', "query timed out"),
        (b'{"status": "success", "data": {"resultType": "vector", "result": []}}', "vector"),
        (b"[]", "no answer of Prometheus"),
        (
            b'{"status": "success", "data": {"resultType": "matrix", '
            b'"result": [{"metric": {}, "values": [[0, "x"]]}]}}',
            "a series is not as",
        ),
    ],
)
def test_what_is_no_answer_is_said(text: bytes, says: str) -> None:
    with pytest.raises(NoAnswer, match=says):
        read_answer(text, "x")


class _Server(BaseHTTPRequestHandler):
    asked: list[dict[str, list[str]]] = []
    status, body = 200, b""

    def do_POST(self) -> None:
        assert self.path == "/api/v1/query_range"
        asked = self.rfile.read(int(self.headers["content-length"])).decode()
        self.asked.append(urllib.parse.parse_qs(asked))
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, type[_Server]]]:
    kind = type("Server", (_Server,), {"asked": [], "body": answer(series("chat", 2))})
    running = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}", kind
    running.shutdown()
    running.server_close()


def test_a_server_is_asked_for_midnights(server: tuple[str, type[_Server]]) -> None:
    url, kind = server
    found = cost_report(staging(), [PrometheusServer(f"{url}/")], UNTIL, 2)
    assert len(found.days) == 6
    (asked,) = kind.asked
    assert asked["start"] == [str(MIDNIGHT - 86_400)]
    assert asked["end"] == [str(MIDNIGHT)]
    assert asked["step"] == ["86400"]
    assert asked["query"] == ['{__name__=~"inferfab:pool_cost_usd:sum1d|inferfab:pool_tokens:sum1d"}']


def _run(*words: str) -> Any:
    from inferfab.cli.output import Refused

    result = CliRunner().invoke(app, ["cost", str(ROOT / "environments" / "staging.yaml"), *words])
    if isinstance(result.exception, Refused):
        return 1, str(result.exception)
    return result.exit_code, result.output


def test_the_command_writes_csv(server: tuple[str, type[_Server]], tmp_path: Path) -> None:
    url, _ = server
    out = tmp_path / "cost.csv"
    words = ("--prometheus", url, "--days", "2", "--until", "2026-11-30", "--format", "csv", "--out", str(out))
    code, said = _run(*words)
    assert code == 0, said
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(rows) == 6
    assert rows[0]["ChargePeriodStart"] == "2026-11-28T00:00:00Z"
    assert rows[0]["ChargePeriodEnd"] == "2026-11-29T00:00:00Z"
    assert rows[0]["EffectiveCost"] == "1440.00"
    assert rows[0]["usd_per_million_output_tokens_high"] == "30.0000"
    assert rows[0]["usd_per_million_total_tokens_low"] == "6.2500"


def test_the_command_prints_a_table_and_json(server: tuple[str, type[_Server]]) -> None:
    url, _ = server
    code, said = _run("--prometheus", url, "--until", "2026-11-30")
    assert code == 0
    assert "2026-11-29" in said and "25.000–30.000" in said and "small-models: no cost recorded" in said
    code, said = _run("--prometheus", url, "--until", "2026-11-30", "--format", "json")
    assert json.loads(said[said.index("{") :])["days"][0]["usd_low"] == 1200.0


def test_what_does_not_answer_is_one_error(server: tuple[str, type[_Server]]) -> None:
    """No server, an error of Prometheus, an answer without our series, and wrong usage."""
    url, kind = server
    code, said = _run("--prometheus", "http://127.0.0.1:9", "--until", "2026-11-30")
    assert code == 1 and "gave no answer" in said and "port-forward" in said
    kind.status, kind.body = 503, b'{"status": "error", "errorType": "unavailable", "error": "starting"}'
    code, said = _run("--prometheus", url)
    assert code == 1 and "HTTP 503" in said and "starting" in said
    kind.status, kind.body = 200, answer([])
    code, said = _run("--prometheus", url, "--until", "2026-11-30")
    assert code == 1 and "no cost of a pool of this environment before 2026-11-30" in said
    assert _run()[0] == 2
    assert _run("--prometheus", "ftp://x")[0] == 2
    assert _run("--prometheus", url, "--until", "soon")[0] == 2
