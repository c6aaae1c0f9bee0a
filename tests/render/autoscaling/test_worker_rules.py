"""What each signal asks for, by the real Prometheus, against numbers worked out by hand."""

import json
import re
from pathlib import Path

import pytest

from autoscale.promtool import expect, run
from conformance.shared_folder import shared
from inferfab.render.autoscaling.files import pool_rules
from inferfab.render.autoscaling.forecast_rules import FORECAST, RATE, Rule
from inferfab.render.autoscaling.worker_rules import (
    BY_FORECAST,
    BY_LATENCY,
    BY_QUEUE,
    BY_SURGE,
    PLACEHOLDERS,
    READY,
    RUNNING,
    WAITING,
)

from .fleets import KINDS, cell

LABELS = '{cell="a",model="llama",pool="p",tier="priority"}'
OF_WORKER = '{cell="a",model="llama",pool="p",role="worker",tier="priority"}'


def rules(kind: str, pool: int = 0) -> list[Rule]:
    one = cell(kind)
    assert one.autoscaling is not None
    return pool_rules(one, one.autoscaling.pools[pool])


def each(kind: str) -> float:
    """Requests a second of one worker."""
    plan = cell(kind).autoscaling
    assert plan is not None
    return plan.pools[0].roles[0].requests_per_second


def pods(names: dict[str, str], graph: str, starting: tuple[str, ...] = ()) -> dict[str, str]:
    """Phases of pods over an hour, and whether they are ready: those that run, if they are not ``starting``."""
    found = {}
    for name, phase in names.items():
        at = f'{{namespace="serving",pod="{graph}-{name}"'
        found[f'kube_pod_status_phase{at},phase="{phase}"}}'] = "1x60"
        ready = phase == "Running" and name not in starting
        found[f'kube_pod_status_ready{at},condition="true"}}'] = f"{int(ready)}x60"
        found[f'kube_pod_status_ready{at},condition="false"}}'] = f"{int(not ready)}x60"
    return found


def graph(kind: str) -> str:
    return cell(kind).serving.graphs[0].name


def requests(kind: str, per_second: float, minutes: int = 60) -> dict[str, str]:
    """Two frontends that share it, counted once a minute."""
    half = per_second / 2 * 60
    return {
        f'dynamo_frontend_requests_started_total{{namespace="serving",pod="{graph(kind)}-frontend-{n}",model="llama",'
        f'endpoint="chat_completions",request_type="stream"}}': f"0+{half!r}x{minutes}"
        for n in "ab"
    }


WORKERS = {"worker-x1": "Running", "worker-x2": "Running", "0-worker-y": "Pending", "worker-gone": "Failed",
           "frontend-a": "Running"}  # fmt: skip


def test_rate_and_workers(tmp_path: Path) -> None:
    """Demand of 2.5 workers: by constant headroom 1.3 it is 3.25, so 4 and one spare; three are there."""
    inputs = requests("planner", each("planner") * 2.5) | pods(WORKERS, graph("planner"))
    tests: list[object] = [
        expect(RATE, 30, 60, each("planner") * 2.5, LABELS),
        expect(FORECAST, 30, 60, each("planner") * 2.5 * 1.3, LABELS),
        expect(BY_FORECAST, 30, 60, 5.0, OF_WORKER),
        expect(RUNNING, 30, 60, 3.0, OF_WORKER),
        expect(PLACEHOLDERS, 30, 60, 2.0, OF_WORKER),
        # Dynamo's planner has these workers: KEDA's signals are not even recorded.
        *(expect(name, 30, 60, None, OF_WORKER) for name in (BY_QUEUE, BY_SURGE, BY_LATENCY, WAITING)),
    ]
    assert run(tmp_path, rules("planner"), 60, inputs, tests) == ""


def test_a_draining_pod_is_no_worker(tmp_path: Path) -> None:
    name = f"{graph('planner')}-worker-x1"
    inputs = pods(WORKERS, graph("planner")) | {
        f'kube_pod_deletion_timestamp{{namespace="serving",pod="{name}"}}': "1700000000x60"
    }
    assert run(tmp_path, rules("planner"), 60, inputs, [expect(RUNNING, 30, 60, 2.0, OF_WORKER)]) == ""


def test_bounds_hold(tmp_path: Path) -> None:
    """2 to 6 workers, whatever demand is; and room never beyond."""
    for folder, demand, workers, room in (("low", 0.01, 2.0, 0.0), ("high", 100.0, 6.0, 3.0)):
        inputs = requests("planner", each("planner") * demand) | pods(WORKERS, graph("planner"))
        (tmp_path / folder).mkdir()
        tests: list[object] = [
            expect(BY_FORECAST, 30, 60, workers, OF_WORKER), expect(PLACEHOLDERS, 30, 60, room, OF_WORKER)
        ]  # fmt: skip
        assert run(tmp_path / folder, rules("planner"), 60, inputs, tests) == ""


def test_missing_data_is_never_none_at_all(tmp_path: Path) -> None:
    """No frontend is scraped: nothing is recorded, so that KEDA holds what is there. No pods seen: no room is said."""
    only_pods = pods(WORKERS, graph("keda"))
    names = (RATE, FORECAST, BY_FORECAST, PLACEHOLDERS, WAITING, BY_QUEUE, BY_SURGE, BY_LATENCY)
    tests: list[object] = [expect(name, 30, 60, None, "") for name in names]
    assert run(tmp_path, rules("keda"), 60, only_pods, tests) == ""
    (tmp_path / "no-pods").mkdir()
    tests = [expect(name, 30, 60, None, "") for name in (RUNNING, PLACEHOLDERS, BY_QUEUE, BY_LATENCY)]
    assert run(tmp_path / "no-pods", rules("keda"), 60, requests("keda", 3.0), tests) == ""


def latency(kind: str, slow: int) -> dict[str, str]:
    """100 first tokens a minute: ``slow`` of them between 0.5 and 1 s, the others within 0.25 s."""
    series = f'dynamo_frontend_time_to_first_token_seconds_bucket{{namespace="serving",pod="{graph(kind)}-frontend-a",'
    return {
        f'{series}model="llama",le="{edge}"}}': f"0+{count}x60"
        for edge, count in (("0.25", 100 - slow), ("0.5", 100 - slow), ("1", 100), ("+Inf", 100))
    }


def test_queue_latency_and_surge_with_keda(tmp_path: Path) -> None:
    """Two workers are ready and one is on its way. 11 wait, and every 4 ask for a worker more: two."""
    here = graph("keda")
    per_minute = each("keda") * 2.5 * 60
    inputs = {
        f'dynamo_frontend_requests_started_total{{namespace="serving",pod="{here}-frontend-a",model="llama"}}': (
            f"0+{2 * per_minute!r}x20 {41 * per_minute!r}+{per_minute!r}x39"
        ),
        **pods(WORKERS, here),
        f'vllm:num_requests_waiting{{namespace="serving",pod="{here}-worker-x1"}}': "8x60",
        f'vllm:num_requests_waiting{{namespace="serving",pod="{here}-worker-x2"}}': "1x60",
        f'dynamo_frontend_router_queue_pending_requests{{namespace="serving",pod="{here}-frontend-a",model="llama",'
        'policy_class="priority",worker_type="decode"}': "2x60",
        # p95 lies 5/10 into the bucket from 0.5 to 1 s: 750 ms, which is 1.875 times 400 ms.
        **latency("keda", slow=10),
    }
    tests: list[object] = [
        expect(WAITING, 30, 60, 11.0, OF_WORKER),
        expect(RUNNING, 30, 60, 3.0, OF_WORKER),
        expect(READY, 30, 60, 2.0, OF_WORKER),
        expect(BY_QUEUE, 30, 60, 2.0 + 2.0, OF_WORKER),
        # ceil(2 x 1.875).
        expect(BY_LATENCY, 30, 60, 4.0, OF_WORKER),
        # There was more before, so this is nothing unusual: 2.5 workers' demand and one spare.
        expect(BY_SURGE, 50, 60, 4.0, OF_WORKER),
    ]
    assert run(tmp_path, rules("keda"), 60, inputs, tests) == ""


FIVE = {f"worker-x{n}": "Running" for n in range(5)}


def test_nothing_late_and_nothing_queued_asks_for_nothing(tmp_path: Path) -> None:
    """Half a worker's demand while five serve: every signal says 2, the least, so that KEDA may scale in.

    The router's gauge is lazy and the histogram empty at night; both are 0 while frontends count. Less than one
    worker's queue is nothing either, nor is a p95 (250 ms) under four fifths of what is promised (500 ms).
    """
    here = graph("keda")
    waiting = f'vllm:num_requests_waiting{{namespace="serving",pod="{here}-worker-x1"}}'
    quiet = {**requests("keda", each("keda") * 0.5), **pods(FIVE, here), waiting: "0x60"}
    few = {**quiet, waiting: "3x60"}
    for folder, inputs in (("empty", quiet), ("few", few), ("in-time", {**quiet, **latency("keda", slow=0)})):
        (tmp_path / folder).mkdir()
        tests: list[object] = [
            expect(RUNNING, 30, 60, 5.0, OF_WORKER),
            expect(READY, 30, 60, 5.0, OF_WORKER),
            *(expect(name, 30, 60, 2.0, OF_WORKER) for name in (BY_FORECAST, BY_QUEUE, BY_LATENCY, BY_SURGE)),
        ]
        assert run(tmp_path / folder, rules("keda"), 60, inputs, tests) == "", folder


def test_workers_on_their_way_are_not_added_to(tmp_path: Path) -> None:
    """One queue and one late p95 ask for the same number while the workers that they asked for start: no winding up."""
    here = graph("keda")
    trouble = {
        **requests("keda", each("keda")),
        f'vllm:num_requests_waiting{{namespace="serving",pod="{here}-worker-x0"}}': "4x60",
        **latency("keda", slow=10),
    }
    serving = dict.fromkeys(("worker-x0", "worker-x1"), "Running")
    come: dict[str, dict[str, str]] = {
        "nobody": {}, "pending": {"worker-y0": "Pending", "worker-y1": "Pending"},
        "loading": {"worker-y0": "Running", "worker-y1": "Running"},
    }  # fmt: skip
    for folder, more in come.items():
        (tmp_path / folder).mkdir()
        tests: list[object] = [
            expect(RUNNING, 30, 60, 2.0 + len(more), OF_WORKER),
            expect(BY_QUEUE, 30, 60, 3.0, OF_WORKER),
            expect(BY_LATENCY, 30, 60, 4.0, OF_WORKER),
        ]
        inputs = trouble | pods({**serving, **more}, here, starting=tuple(more))
        assert run(tmp_path / folder, rules("keda"), 60, inputs, tests) == "", folder


def test_before_the_first_worker_serves_signals_are_there(tmp_path: Path) -> None:
    """All pods load their model: none is ready, and that is 0 and not missing."""
    here = graph("keda")
    starting = dict.fromkeys(("worker-x0", "worker-x1"), "Running")
    waiting = {f'vllm:num_requests_waiting{{namespace="serving",pod="{here}-worker-x0"}}': "0x60"}
    inputs = requests("keda", each("keda")) | waiting | pods(starting, here, starting=tuple(starting))
    tests: list[object] = [expect(READY, 30, 60, 0.0, OF_WORKER), expect(BY_QUEUE, 30, 60, 2.0, OF_WORKER)]
    assert run(tmp_path, rules("keda"), 60, inputs, tests) == ""


def test_a_rise_above_what_is_usual_gets_the_headroom(tmp_path: Path) -> None:
    """50 minutes of one worker's demand, then three times as much for ten: 3 x 1.3 = 3.9, so 4 and one spare."""
    per_minute = each("keda") * 60 / 2
    inputs = {
        f'dynamo_frontend_requests_started_total{{namespace="serving",pod="{graph("keda")}-frontend-{n}",'
        'model="llama"}': f"0+{per_minute!r}x110 {111 * per_minute + 2 * per_minute!r}+{3 * per_minute!r}x9"
        for n in "ab"
    } | pods({"worker-x1": "Running"}, graph("keda"))
    tests: list[object] = [expect(RATE, 120, 60, each("keda") * 3, LABELS), expect(BY_SURGE, 120, 60, 5.0, OF_WORKER)]
    assert run(tmp_path, rules("keda"), 60, inputs, tests) == ""


def test_behind_a_router_over_tiers_the_pools_own_router_counts(tmp_path: Path) -> None:
    """Two router pods, one of them scraped by two monitors."""
    one = cell("routed")
    names = [g.name for g in one.serving.graphs if g.pool == "p" and g.role == "prefill"]
    series = 'dynamo_component_router_requests_started_total{namespace="serving",pod="%s-router-%s",job="%s"}'
    inputs = {
        series % (names[0], "a", "x"): "0+60x60", series % (names[0], "a", "y"): "0+60x60",
        series % (names[0], "b", "x"): "0+120x60",
    }  # fmt: skip
    assert run(tmp_path, rules("routed"), 60, inputs, [expect(RATE, 30, 60, 3.0, LABELS)]) == ""


def test_a_worker_of_two_pods_counts_once(tmp_path: Path) -> None:
    """Four pods there, three of them ready: one worker is whole."""
    inputs = pods({f"worker-{n}": "Running" for n in "abcd"}, graph("spanning"), starting=("worker-d",))
    tests: list[object] = [expect(RUNNING, 30, 60, 2.0, OF_WORKER), expect(READY, 30, 60, 1.0, OF_WORKER)]
    assert run(tmp_path, rules("spanning"), 60, inputs, tests) == ""


@pytest.mark.parametrize("kind", ["planner", "keda", "keda-disaggregated", "routed", "spanning"])
def test_prometheus_takes_every_rule(kind: str, tmp_path: Path) -> None:
    one = cell(kind)
    assert one.autoscaling is not None
    for number, pool in enumerate(one.autoscaling.pools):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert run(folder, pool_rules(one, pool), 60, {}, [expect(RATE, 1, 60, None, "")]) == ""


def test_every_series_is_exported_or_recorded() -> None:
    """Names by the lists of what the pinned versions export; ours by the rules before it."""
    exported = {
        metric["name"]
        for name in ("dynamo-1.6.1", "vllm-0.31.0", "kube-state-metrics")
        for metric in json.loads(shared(f"data/metrics/{name}.json").read_text(encoding="utf-8"))["metrics"]
    }
    for kind in KINDS:
        one = cell(kind)
        for pool in one.autoscaling.pools if one.autoscaling else ():
            recorded: set[str] = set()
            for rule in pool_rules(one, pool):
                for name in re.findall(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{", rule.expr):
                    assert name in recorded or name in exported or name.removesuffix("_bucket") in exported, name
                recorded.add(rule.record)
