"""Rules in Prometheus' own tester, with numbers worked out by hand."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.render.releases import cell_releases
from programs import tool
from render.observability.rules import ENVIRONMENTS, all_rules, fleet, promtool

_ALL = ("inferfab-facts", "inferfab-pools", "inferfab-alerts")
"""What single alerts read."""
_STARTED = 'dynamo_frontend_requests_started_total{route="chat",cell="use2-b",tier="priority",pool="chat"}'
_BUCKET = 'dynamo_frontend_time_to_first_token_seconds_bucket{{route="chat",le="{}"}}'


def _series(**values: str) -> list[dict[str, str]]:
    return [{"series": name, "values": value} for name, value in values.items()]


def _alert(name: str, at: str, *expected: dict[str, str]) -> dict[str, Any]:
    """Labels only: words are not what is tested here."""
    return {"alertname": name, "eval_time": at, "exp_alerts": [{"exp_labels": labels} for labels in expected]}


def _value(expr: str, at: str, value: float | None, labels: str = "{}") -> dict[str, Any]:
    samples = [] if value is None else [{"labels": labels, "value": value}]
    return {"expr": expr, "eval_time": at, "exp_samples": samples}


def _case(name: str, series: dict[str, str], *queries: dict[str, Any], interval: str = "1m") -> dict[str, Any]:
    return {
        "name": name,
        "interval": interval,
        "input_series": [{"series": key, "values": value} for key, value in series.items()],
        "promql_expr_test": list(queries),
    }


def _firing(alert: str, **labels: str) -> str:
    chosen = ",".join(
        f'{key}="{value}"' for key, value in {"alertname": alert, "alertstate": "firing", **labels}.items()
    )
    return f"count(ALERTS{{{chosen}}})"


def _rounded(expr: str) -> str:
    return f"round({expr}, 1e-4)"


def _requests(good_a_minute: int, started_a_minute: float = 60, minutes: int = 120) -> dict[str, str]:
    """Of the p95 objective; the median keeps its own."""
    return {
        _STARTED: f"0+{started_a_minute}x{minutes}",
        _BUCKET.format("0.5"): f"0+{good_a_minute}x{minutes}",
        _BUCKET.format("0.2"): f"0+{started_a_minute}x{minutes}",
    }


def test_error_budgets(tmp_path: Path) -> None:
    """Staging: 95 % within 500 ms, so 5 % may be late: 1 h at 14.4 x 5 % = 72 %, 6 h at 30 %, 1 d at 15 %."""
    fast, slow = "InferfabErrorBudgetBurnFast", "InferfabErrorBudgetBurnSlow"
    bad = 'round(inferfab:slo_bad:ratio1h{slo="chat-ttft-p95"}, 1e-6)'
    labels = '{cell="use2-b",model="llama-70b",pool="chat",signal="ttft",slo="chat-ttft-p95",tier="priority"}'
    tests = [
        # 3 of 60 are late: 5 %, the budget itself.
        _case("at the budget", _requests(57), _value(bad, "2h", 0.05, labels), _value(_firing(fast), "2h", None)),
        # 15 of 60: 25 % is over 15 % and 5 %, under 30 %.
        _case(
            "slow", _requests(45), _value(bad, "2h", 0.25, labels), _value(_firing(fast), "2h", None),
            _value(_firing(slow, slo="chat-ttft-p95", window="1d"), "2h", 1),
        ),
        # 24 of 60: 40 % is over 30 % and under 72 %.
        _case(
            "medium", _requests(36), _value(_firing(fast, window="6h"), "2h", 1),
            _value(_firing(fast, window="1h"), "2h", None),
        ),
        # 48 of 60: 80 %.
        _case("fast", _requests(12), _value(_firing(fast, window="1h", slo="chat-ttft-p95", severity="page"), "2h", 1)),
        # Nobody got a token: the histogram is empty, and that is no silence.
        _case(
            "no token at all", {_STARTED: "0+60x120"}, _value(bad, "2h", 1, labels),
            _value(_firing(fast, window="1h", slo="chat-ttft-p95"), "2h", 1),
        ),
        # A median that 95 % break: 14.4 x 50 % would be 7.2, so it is capped at 90 %.
        _case(
            "median", {**_requests(60), _BUCKET.format("0.2"): "0+3x120"},
            _value(_firing(fast, window="1h", slo="chat-ttft-p50"), "2h", 1),
            _value(_firing(fast, window="1h", slo="chat-ttft-p95"), "2h", None),
        ),
        # 30 an hour, all late: fewer than 50 say nothing in an hour, and 60 in the six hours do.
        _case(
            "few requests", _requests(0, 0.5), _value(_firing(fast, window="1h"), "2h", None),
            _value(_firing(fast, window="6h", slo="chat-ttft-p95"), "2h", None),
        ),
        # 99 %: 1 % may fail. 12 of 60 overloaded is 20 %, over 14.4 %; cancelled ones are not the fleet's.
        _case(
            "overload", {
                **_requests(60),
                'dynamo_frontend_requests_total{route="chat",error_type="overload"}': "0+12x120",
                'dynamo_frontend_requests_total{route="chat",error_type="cancelled"}': "0+40x120",
            },
            _value(_firing(fast, window="1h", slo="chat-availability"), "2h", 1),
            _value('round(inferfab:slo_bad:ratio1h{slo="chat-availability"}, 1e-6)', "2h", 0.2, labels.replace(
                'signal="ttft",slo="chat-ttft-p95"', 'signal="availability",slo="chat-availability"')),
        ),
        _case("silence", {}, _value(_firing(fast), "2h", None), _value(bad, "2h", None)),
        # Prometheus 3 writes le="2.0", older ones le="2"; only prod has such an edge, so its label is tested there.
    ]  # fmt: skip
    tests[6]["promql_expr_test"][1]["exp_samples"] = [{"labels": "{}", "value": 1}]
    assert promtool(tmp_path, "staging", tests, ("inferfab-facts", "inferfab-slo", "inferfab-alerts")) == ""


def _node(name: str, pool: str, cell: str) -> str:
    return (
        f'kube_node_labels{{node="{name}",label_inferfab_cell="{cell}",label_inferfab_pool="{pool}",'
        'label_inferfab_role="prefill"}'
    )


def test_cost(tmp_path: Path) -> None:
    """Staging's chat pool: 41.60 $ a node-hour. Two nodes, 1,000 answer and 3,000 prompt tokens a second.

    83.20 $ over 3.6 million answer tokens an hour is 23.111 $ a million; over 14.4 million in all, 5.7778 $.
    """
    engines = 'cell="use2-b",tier="priority",pool="chat"'
    series = {
        "kube_node_info{node=\"a\"}": "1x800",
        _node("a", "chat", "use2-b"): "1x800",
        _node("b", "chat", "use2-b"): "1x800",
        f'vllm:generation_tokens_total{{{engines},component="decode"}}': "0+120000x800",
        # A prefill pod writes each answer's first token, which is not counted again.
        f'vllm:generation_tokens_total{{{engines},component="prefill"}}': "0+12000x800",
        f'vllm:prompt_tokens_total{{{engines},component="prefill"}}': "0+360000x800",
        f'vllm:prompt_tokens_total{{{engines},component="decode"}}': "0+360000x800",
    }  # fmt: skip
    pool = 'cell="use2-b",model="llama-70b",pool="chat",tier="priority"'
    cost = (
        'inferfab:pool_usd_per_million_tokens:1d{{bound="high",cell="use2-b",definition="{}",model="llama-70b",'
        'pool="chat",tier="priority"}}'
    )
    labels = cost.removeprefix("inferfab:pool_usd_per_million_tokens:1d")
    hourly = 'inferfab:pool_cost_usd:per_hour{pool="chat",bound="high"}'
    idle = {k: v for k, v in series.items() if "tokens" not in k}
    tests = [
        _case(
            "both definitions", series,
            _value(hourly, "25h", 83.2, f'inferfab:pool_cost_usd:per_hour{{bound="high",{pool}}}'),
            _value(_rounded(cost.format("output_tokens")), "25h", 23.1111, labels.format("output_tokens")),
            _value(_rounded(cost.format("total_tokens")), "25h", 5.7778, labels.format("total_tokens")),
        ),
        _case(
            "idle nodes cost, and nothing is divided by nothing", idle,
            _value(hourly, "25h", 83.2, f'inferfab:pool_cost_usd:per_hour{{bound="high",{pool}}}'),
            _value(cost.format("output_tokens"), "25h", None),
        ),
        _case("without kube-state-metrics nothing is known", {}, _value(hourly, "25h", None)),
    ]  # fmt: skip
    # A sample in two minutes, and a day that begins after the first of them.
    for test in tests:
        test["interval"] = "2m"
    assert promtool(tmp_path, "staging", tests, ("inferfab-facts", "inferfab-pools", "inferfab-cost"), "2m") == ""


def test_reserved_nodes_are_paid_for(tmp_path: Path) -> None:
    """prod-global reserves 8 nodes at 63.296 $: 506.368 $ an hour, with 6 or with none; 9 nodes cost 569.664 $."""

    def nodes(count: int) -> dict[str, str]:
        found = {_node(f"n{i}", "chat", "use2-a"): "1x500" for i in range(count)}
        return found | {'kube_node_info{node="system"}': "1x500"}

    hourly = 'sum(inferfab:pool_cost_usd:per_hour{bound="low"})'
    unused = _firing("InferfabReservationUnused", pool="chat")
    tests = [
        _case("six", nodes(6), _value(hourly, "8h", 506.368), _value(unused, "8h", 1), _value(unused, "5h", None)),
        _case("none", nodes(0), _value(hourly, "8h", 506.368), _value(unused, "8h", 1)),
        _case("nine", nodes(9), _value(hourly, "8h", 569.664), _value(unused, "8h", None)),
    ]
    assert promtool(tmp_path, "prod-global", tests, (*_ALL, "inferfab-cost"), "2m") == ""


def test_cost_trend(tmp_path: Path) -> None:
    """20 % more is allowed: 10 $ a week ago and 12.5 $ now are a quarter more; 11.5 $ are not too much."""
    labels = 'bound="high",cell="c",definition="output_tokens",model="m",pool="chat",tier="t"'
    weekly, trend = (f"inferfab:pool_usd_per_million_tokens:{end}" for end in ("7d", "trend7d"))
    (expression,) = [r["expr"] for r in all_rules("staging") if r.get("record") == trend]
    rises = _firing("InferfabCostRises", pool="chat")
    tests = [
        # Two samples a day, of which the last is the one at the time asked for.
        _case(
            "two weeks",
            {f"{weekly}{{{labels}}}": "10x14 12.5x5"},
            _value(expression, "7d12h", 1.25, f"{{{labels}}}"),
            _value(expression, "6d", None),
            interval="12h",
        ),
    ]
    assert promtool(tmp_path, "staging", tests, ("no rules",), "1h") == ""
    tests = [
        _case("25 %", {f"{trend}{{{labels}}}": "1.25x500"}, _value(rises, "8h", 1), _value(rises, "5h", None)),
        _case("15 %", {f"{trend}{{{labels}}}": "1.15x500"}, _value(rises, "8h", None)),
    ]
    assert promtool(tmp_path, "staging", tests, ("inferfab-alerts",), "2m") == ""


def test_fallback_to_tcp(tmp_path: Path) -> None:
    """A pool on RoCE moves 6 GB a minute by its engines' word; its NICs saw 5.4 GB of RDMA, or 0.06."""
    engine = 'cell="usc1-c",tier="priority",pool="chat",component="decode"'
    node = _node("a", "chat", "usc1-c")
    base = {node: "1x60", f"vllm:nixl_bytes_transferred_sum{{{engine}}}": "0+6000000000x60"}
    nic = 'node_infiniband_port_data_received_bytes_total{node="a",device="mlx5_0",port="1"}'
    over, slow = _firing("InferfabKvTransferOverTcp"), _firing("InferfabKvTransferSlow")
    took = f"vllm:nixl_xfer_time_seconds_sum{{{engine}}}"
    tests = [
        _case("rdma", {**base, nic: "0+5400000000x60"}, _value(over, "30m", None)),
        _case("tcp", {**base, nic: "0+60000000x60"}, _value(over, "30m", 1)),
        # Planned are 100 GB/s for four GPUs, so 25 for each: a fifth is 5. Each GPU reads a fourth of the 6 GB a
        # minute, and its time is its own: at 25 GB/s the four took 4 x 0.06 s. In 6 s 6 GB is 1 GB/s.
        _case("slow", {**base, nic: "0+5400000000x60", took: "0+6x60"}, _value(slow, "30m", 1)),
        _case("as planned", {**base, nic: "0+5400000000x60", took: "0+0.24x60"}, _value(slow, "30m", None)),
        # 6 GB/s each: busy, no fallback. 4 GB/s: below a fifth.
        _case("busy", {**base, nic: "0+5400000000x60", took: "0+1x60"}, _value(slow, "30m", None)),
        _case("crowded", {**base, nic: "0+5400000000x60", took: "0+1.5x60"}, _value(slow, "30m", 1)),
        _case("planned", {}, _value(
            "inferfab:pool_kv_transfer_planned:bytes_per_second", "30m", 25e9,
            'inferfab:pool_kv_transfer_planned:bytes_per_second{cell="usc1-c",fabric="roce",pool="chat",tier="priority"}',
        )),
    ]  # fmt: skip
    assert promtool(tmp_path, "prod-gcp", tests, _ALL) == ""


def test_what_a_router_over_tiers_hides_is_not_good(tmp_path: Path) -> None:
    """Prod's chat: 60 a minute, 12 of which end as 400 behind the router: 20 % is bad. A client's own mistakes are not.
    Of documents, which have no such router, nobody takes that reason for a failure of the fleet's.
    """
    tests = []
    for route, model, at, bad in (
        ("llama-70b-tiers", "llama-70b", 'pool="several",', 0.2), ("documents", "qwen-32b", 'pool="documents",', 0.0),
    ):  # fmt: skip
        slo = f"{route}-availability"
        tier = "several" if bad else "standard"
        tests.append(
            _case(
                route,
                {
                    f'dynamo_frontend_requests_started_total{{route="{route}"}}': "0+60x90",
                    f'dynamo_frontend_requests_total{{route="{route}",error_type="validation"}}': "0+15x90",
                    f'dynamo_frontend_failures_total{{route="{route}",reason="backend.invalid_argument"}}': "0+12x90",
                    f'dynamo_frontend_failures_total{{route="{route}",reason="request.invalid"}}': "0+3x90",
                },
                _value(
                    f'round(inferfab:slo_bad:ratio1h{{slo="{slo}"}}, 1e-6)', "90m", bad,
                    f'{{cell="use1-a",model="{model}",{at}signal="availability",slo="{slo}",tier="{tier}"}}',
                ),
            )
        )  # fmt: skip
    assert promtool(tmp_path, "prod", tests, ("inferfab-facts", "inferfab-slo")) == ""


def test_edges_of_whole_seconds_match_as_old_and_new_prometheus_write_them(tmp_path: Path) -> None:
    """le="2" until Prometheus 3, le="2.0" since; le="220" is another edge."""
    at = 'route="documents"'
    started = f"dynamo_frontend_requests_started_total{{{at}}}"
    name = "dynamo_frontend_time_to_first_token_seconds_bucket"
    ratio = 'inferfab:slo_bad:ratio1h{slo="documents-ttft-p95"}'
    labels = (
        'inferfab:slo_bad:ratio1h{cell="use1-a",model="qwen-32b",pool="documents",signal="ttft",'
        'slo="documents-ttft-p95",tier="standard"}'
    )
    tests = [
        _case(
            f"le={le}",
            {started: "0+60x90", f'{name}{{{at},le="{le}"}}': "0+45x90", f'{name}{{{at},le="220"}}': "0+60x90"},
            _value(ratio, "90m", 0.25, labels),
        )
        for le in ("2", "2.0")
    ]
    assert promtool(tmp_path, "prod", tests, ("inferfab-facts", "inferfab-slo")) == ""


def test_an_alert_says_whose_it_is(tmp_path: Path) -> None:
    """Labels of the result, by the labels that KEDA gives its series."""
    empty = (
        'keda_scaler_empty_upstream_responses_total{namespace="serving",scaledResource="chat-decode",'
        'triggerName="queue",metricName="s1-prometheus",resourceType="ScaledObject",ignoreNullValues="false"}'
    )
    said = _firing("InferfabScalerEmptyAnswer", scaledResource="chat-decode", triggerName="queue", severity="ticket")
    waits = 'kube_pod_status_unschedulable{namespace="serving",pod="small-models-qwen3-8b-0a1b2c-worker-x"}'
    night, week = _firing("InferfabPodsUnschedulable"), _firing("InferfabPodsUnschedulable", severity="ticket")
    tests = [
        _case("empty", {empty: "0+1x60"}, _value(said, "50m", 1)),
        _case("nobody's", {waits: "1x1000"}, _value(night, "60h", None), _value(week, "75h", 1), interval="5m"),
    ]
    assert promtool(tmp_path, "staging", tests, ("inferfab-alerts",), "5m") == ""


@pytest.mark.slow
def test_single_alerts(tmp_path: Path) -> None:
    """One that fires and one that does not, for each kind of trouble."""
    node = {_node("a", "chat", "use2-b"): "1x200"}
    engine = 'cell="use2-b",tier="priority",pool="chat"'
    xid = 'DCGM_EXP_XID_ERRORS_COUNT{{node="a",gpu="3",xid="{}"}}'
    front = {'up{route="chat",component="frontend",namespace="serving"}': "1x200"}
    condition = 'kube_node_status_condition{{node="a",condition="{}",status="{}"}}'
    waits = 'kube_pod_status_unschedulable{{namespace="serving",pod="{}"}}'
    fires: list[tuple[str, dict[str, str], int | None]] = [
        ("InferfabGpuXid", {**node, xid.format(79): "1x200"}, 1),
        # An illegal access of a program is not a broken GPU.
        ("InferfabGpuXid", {**node, xid.format(31): "1x200"}, None),
        ("InferfabGpuMemoryFault", {**node, 'DCGM_FI_DEV_ROW_REMAP_FAILURE{node="a",gpu="0"}': "1x200"}, 1),
        ("InferfabGpuMemoryFault", {**node, 'DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{node="a",gpu="0"}': "4x200"}, None),
        ("InferfabGpuMetricsLost", {'DCGM_FI_DEV_GPU_TEMP{node="a",gpu="0"}': "50x200"}, 1),
        ("InferfabNodeUnhealthy", {**node, condition.format("Ready", "unknown"): "1x200"}, 1),
        ("InferfabNodeUnhealthy", {**node, condition.format("Ready", "unknown"): "0x200"}, None),
        ("InferfabNodeUnhealthy", {**node, condition.format("AcceleratedHardwareReady", "false"): "1x200"}, 1),
        ("InferfabFrontendsGone", {}, 3),
        ("InferfabFrontendsGone", front, 2),
        ("InferfabOverload", {
            _STARTED: "0+60x200",
            'dynamo_frontend_requests_total{route="chat",cell="use2-b",error_type="overload"}': "0+6x200"}, 1),
        ("InferfabOverload", {
            _STARTED: "0+60x200",
            'dynamo_frontend_requests_total{route="chat",cell="use2-b",error_type="overload"}': "0+2x200"}, None),
        ("InferfabRequestsGivenUp", {
            _STARTED: "0+60x200",
            'dynamo_frontend_requests_total{route="chat",cell="use2-b",error_type="cancelled"}': "0+30x200"}, 1),
        # 30 wait while 20 a second come: 1.5 s, and 0.2 s are promised to the half. 2 wait: 0.1 s.
        ("InferfabQueueWaits", {
            'dynamo_frontend_router_queue_pending_requests{route="chat",cell="use2-b",policy_class="p"}': "30x200",
            'dynamo_frontend_router_admission_received_total{route="chat",cell="use2-b",policy_class="p"}':
                "0+1200x200"}, 1),
        ("InferfabQueueWaits", {
            'dynamo_frontend_router_queue_pending_requests{route="chat",cell="use2-b",policy_class="p"}': "2x200",
            'dynamo_frontend_router_admission_received_total{route="chat",cell="use2-b",policy_class="p"}':
                "0+1200x200"}, None),
        ("InferfabKvCacheFull", {
            f'vllm:kv_cache_usage_perc{{{engine},component="decode"}}': "0.97x200",
            f'vllm:num_requests_waiting{{{engine},component="decode"}}': "4x200"}, 1),
        ("InferfabKvCacheFull", {
            f'vllm:kv_cache_usage_perc{{{engine},component="decode"}}': "0.97x200",
            f'vllm:num_requests_waiting{{{engine},component="decode"}}': "0x200"}, None),
        ("InferfabPlannerBlind", {
            f"dynamo_planner_observed_requests_per_second{{{engine}}}": "0x200",
            f"vllm:request_success_total{{{engine}}}": "0+60x200"}, 1),
        ("InferfabPlannerBlind", {
            f"dynamo_planner_observed_requests_per_second{{{engine}}}": "0.9x200",
            f"vllm:request_success_total{{{engine}}}": "0+60x200"}, None),
        ("InferfabKvTransfersFail", {
            f"vllm:nixl_num_failed_transfers_total{{{engine}}}": "0+3x200",
            f"vllm:nixl_xfer_time_seconds_count{{{engine}}}": "0+60x200"}, 1),
        ("InferfabPodsUnschedulable", {waits.format("chat-0a1b2c-0-decode-x"): "1x200"}, 1),
        # Room that waits for a node is what it is there for; who promises nothing wakes nobody.
        ("InferfabPodsUnschedulable", {waits.format("chat-decode-room-5d4f6b7c8d-x2x4z"): "1x200"}, None),
        ("InferfabPodsUnschedulable", {waits.format("small-models-llama-8b-0a1b2c-0-worker-x"): "1x200"}, None),
        ("InferfabTargetsDown", {'up{namespace="gateway",component="gateway",cell="c"}': "0x200"}, 1),
        ("InferfabTargetsDown", {'up{namespace="serving",component="efa-exporter",cell="c"}': "0x200"}, 1),
        ("InferfabModelNotOnNode", {
            'kube_pod_init_container_status_running{namespace="serving",pod="x",container="wait-for-model"}':
                "1x200"}, 1),
        ("InferfabTargetsDown", {'up{namespace="serving",component="decode",pool="chat",cell="c"}': "0x200"}, 1),
        ("InferfabScalerEmptyAnswer", {
            'keda_scaler_empty_upstream_responses_total{namespace="serving",scaledResource="x",triggerName="queue"}':
                "0+1x200"}, 1),
        # Ends at 14 days and 1 hour of the clock of the test, which begins at 0.
        ("InferfabCertificateEnds", {
            'envoy_listener_ssl_certificate_expiration_unix_time_seconds{cell="c",envoy_tls_certificate="t"}':
                "1213200x200"}, 1),
        # Always more than was forecast; never more.
        ("InferfabForecastMisses", {
            'inferfab:pool_requests:forecast_covered{cell="c",pool="chat",tier="t",model="m"}': "0x200"}, 1),
        ("InferfabForecastMisses", {
            'inferfab:pool_requests:forecast_covered{cell="c",pool="chat",tier="t",model="m"}': "1x200"}, None),
    ]  # fmt: skip
    tests = [
        _case(f"{n} {alert}", series, _value(_firing(alert), "190m", count))
        for n, (alert, series, count) in enumerate(fires)
    ]
    assert promtool(tmp_path, "staging", tests, _ALL, "2m") == ""


def test_alerts_of_the_racks_fabric(tmp_path: Path) -> None:
    """Loss of 2 packets a second on a rail, or of 0.1; pauses of 20 % of the time, or of 2 %."""
    node = {_node("a", "chat", "dc1"): "1x60"}
    kinds = ("out_of_sequence_packets_received", "packet_sequence_errors", "local_ack_timeout_errors")

    def lost(first: str) -> dict[str, str]:
        names = [f'node_infiniband_{kind}_total{{node="a",device="mlx5_0",port="1"}}' for kind in kinds]
        return {**node, names[0]: first, names[1]: "0x60", names[2]: "0x60"}

    pause = 'node_ethtool_received_prio3_pause_duration{node="a",device="eth0"}'
    loss, pauses = _firing("InferfabRdmaLoss"), _firing("InferfabPfcPauses")
    tests = [
        _case("loss", lost("0+120x60"), _value(loss, "50m", 1)),
        _case("little loss", lost("0+6x60"), _value(loss, "50m", None)),
        # Microseconds: 12 s of a minute.
        _case("pauses", {**node, pause: "0+12000000x60"}, _value(pauses, "50m", 1)),
        _case("few pauses", {**node, pause: "0+1200000x60"}, _value(pauses, "50m", None)),
    ]
    assert promtool(tmp_path, "prod-hybrid", tests, _ALL) == ""


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_two_rules_look_the_same(name: str, tmp_path: Path) -> None:
    """Of all releases of a cell together, as a pipeline with `--lint-fatal` reads them: name and labels differ."""
    one = fleet(name)
    for cell in one.cells:
        texts = [t for release in cell_releases(one, cell) for t in release.files.values()]
        found = [d for t in texts if "PrometheusRule" in t for d in yaml.safe_load_all(t) if d]
        groups = [g for d in found if d["kind"] == "PrometheusRule" for g in d["spec"]["groups"]]
        assert len(groups) > 5
        names = [g["name"] for g in groups]
        assert len(names) == len(set(names))
        for number, group in enumerate(groups):
            # promtool looks within a group and within all groups of its file.
            group["name"] = f"{number}"
        (tmp_path / f"{cell.name}.yaml").write_text(yaml.safe_dump({"groups": groups}))
    files = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run(
        [tool("promtool"), "check", "rules", "--lint=all", "--lint-fatal", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
