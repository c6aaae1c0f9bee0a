"""The dashboards of a cell: fleet, tier, cell, pool, fabric, cost. Each panel says what misleads."""

from collections.abc import Iterable

from inferfab.plan.fleet import CellPlan
from inferfab.plan.observability.observability import ObservabilityPlan
from inferfab.plan.transport import FabricKind
from inferfab.render.observability.panel import Dashboard, Panel, Query, Row, Variable

_FACT = "inferfab:pool:gpus_per_node"
_CELL = Variable(name="cell", series=_FACT)
_TIER = Variable(name="tier", series=_FACT)
_POOL = Variable(name="pool", series=_FACT)
_IN_CELL = 'cell=~"$cell"'
_IN_TIER = 'cell=~"$cell",tier=~"$tier"'
_IN_POOL = 'cell=~"$cell",pool=~"$pool"'


def dashboards(cell: CellPlan, plan: ObservabilityPlan) -> tuple[Dashboard, ...]:
    """The fabric's only where KV cache moves."""
    moves = bool(plan.kv_moves)
    fabric = (_fabric(cell, plan),) if moves else ()
    return (_fleet(), _tier(), _cell(), _pool(moves), *fabric, _cost())


def _one(title: str, unit: str, expr: str, legend: str, text: str = "", **more: object) -> Panel:
    queries = (Query(expr=expr, legend=legend),)
    return Panel.model_validate({"title": title, "unit": unit, "queries": queries, "text": text, **more})


def _percentiles(title: str, series: str, where: str, by: str, text: str) -> Panel:
    """p50, p95 and p99 of a histogram."""
    return Panel(
        title=title,
        unit="s",
        text=text,
        width=12,
        queries=tuple(
            Query(
                expr=f"histogram_quantile({q}, sum by ({by}, le) (rate({series}_bucket{{{where}}}[5m])))",
                legend=f"p{q * 100:g} {_names(by)}",
            )
            for q in (0.5, 0.95, 0.99)
        ),
    )


def _names(by: str) -> str:
    return " ".join(f"{{{{{name.strip()}}}}}" for name in by.split(","))


def _tokens(by: str, where: str) -> tuple[Panel, ...]:
    sums = f"sum by ({by})"
    out = f"{sums} (inferfab:pool_output_tokens:rate5m{{{where}}})"
    text = "Answer tokens, counted where they are written; a sum over prefill and decode would count some twice."
    return (
        _one("Answer tokens a second", "short", out, _names(by), text),
        _one(
            "Answer tokens a second and GPU",
            "short",
            f"{out} / ({sums} (inferfab:pool_gpus:count{{{where}}}) > 0)",
            _names(by),
            "Over all GPUs of the nodes that are there, idle ones too.",
        ),
        _one(
            "Answer tokens a second and instance",
            "short",
            f"{out} / ({sums} (inferfab:pool_nodes:count * on (cell, pool) group_right ()"
            f" ({_FACT}{{{where}}} > bool 0)) > 0)",
            _names(by),
        ),
    )


_TTFT_TEXT = (
    "Of requests that got a token. Those that gave up before are in no percentile: see the objective. Exact at the "
    "promise, which is an edge; in between a straight line is drawn."
)


def _objective(where: str) -> tuple[Panel, ...]:
    return (
        _one(
            "Share that broke the objective, 1 h",
            "percentunit",
            f"inferfab:slo_bad:ratio1h{{{where}}}",
            "{{slo}}",
            "Bad over started. Objectives of engines behind a router over tiers are lower bounds.",
        ),
        _one(
            "Error budget burnt: times what lasts 30 days",
            "short",
            f"inferfab:slo_bad:ratio6h{{{where}}} / inferfab:slo_budget:ratio{{{where}}}",
            "{{slo}}",
            "1 uses the budget up in 30 days; 14.4 over an hour pages.",
        ),
        _one(
            "Error budget left of the last three days",
            "percentunit",
            f"clamp_min(1 - inferfab:slo_bad:ratio3d{{{where}}} / inferfab:slo_budget:ratio{{{where}}}, 0)",
            "{{slo}}",
        ),
    )


def _errors(where: str, by: str) -> tuple[Panel, ...]:
    return (
        _one(
            "Failed requests a second, by kind",
            "reqps",
            f"sum by (error_type) (inferfab:route_errors:rate5m{{{where}}})",
            "{{error_type}}",
            "Counted by frontends: overload is HTTP 529; a stream that breaks after its first byte is a 200 for Envoy.",
        ),
        _one(
            "Requests a second",
            "reqps",
            f"sum by ({by}) (inferfab:route_requests:rate5m{{{where}}})",
            _names(by),
            "Started ones.",
        ),
    )


def _fleet() -> Dashboard:
    pages = 'count(ALERTS{{alertname=~"Inferfab.+",alertstate="firing",severity="{}",cell=~"$cell|"}}) or vector(0)'
    return Dashboard(
        uid="inferfab-fleet",
        title="inferfab / Fleet",
        text="All cells that this Prometheus knows: one, unless observability.remote_write joins them in one store.",
        variables=(_CELL,),
        rows=(
            Row(
                title="Now",
                panels=(
                    _one("Alerts that page", "short", pages.format("page"), "", kind="stat", width=6),
                    _one("Tickets", "short", pages.format("ticket"), "", kind="stat", width=6),
                    _one(
                        "GPUs", "short", f"sum(inferfab:pool_gpus:count{{{_IN_CELL}}})", "", kind="stat", width=6
                    ),
                    _one(
                        "Dollars an hour", "currencyUSD",
                        f'sum(inferfab:pool_cost_usd:per_hour{{{_IN_CELL},bound="high"}})', "",
                        "GPU nodes only, by the plan's prices; the upper bound where a price is a range.",
                        kind="stat", width=6,
                    ),
                ),
            ),
            Row(title="Promises", panels=_objective(_IN_CELL)),
            Row(title="Tokens", panels=_tokens("cell, tier", _IN_CELL)),
            Row(title="Requests", panels=_errors(_IN_CELL, "cell, route")),
            Row(title="Demand", panels=_forecast(_IN_CELL)),
        ),
    )  # fmt: skip


def _forecast(where: str) -> tuple[Panel, ...]:
    now, said = f"inferfab:pool_requests:rate10m{{{where}}}", f"inferfab:pool_requests:forecast{{{where}}}"
    return (
        Panel(
            title="Requests a second: forecast and truth",
            unit="reqps",
            text="What comes, and what is expected once new nodes serve. Recorded by the autoscaling release.",
            width=12,
            queries=(
                Query(expr=now, legend="came {{pool}}"),
                Query(expr=said, legend="forecast {{pool}}"),
            ),
        ),
        _one(
            "Time in which more came than was forecast, 1 d",
            "percentunit",
            f"1 - avg_over_time(inferfab:pool_requests:forecast_covered{{{where}}}[1d])",
            "{{pool}}",
            width=12,
        ),
    )


def _tier() -> Dashboard:
    queue = "dynamo_frontend_router_queue_pending_requests"
    return Dashboard(
        uid="inferfab-tier",
        title="inferfab / Tier",
        text="What one class of users meets.",
        variables=(_CELL, _TIER),
        rows=(
            Row(title="Promises", panels=_objective(_IN_TIER)),
            Row(
                title="Latency",
                panels=(
                    _percentiles(
                        "Time to first token, at frontends", "dynamo_frontend_time_to_first_token_seconds",
                        _IN_TIER, "tier, pool", _TTFT_TEXT,
                    ),
                    _percentiles(
                        "Time between tokens, at frontends", "dynamo_frontend_inter_token_latency_seconds",
                        _IN_TIER, "tier, pool", "Each gap counts once, so long answers count more.",
                    ),
                    _percentiles(
                        "Time to first token, in engines", "vllm:time_to_first_token_seconds",
                        f'{_IN_TIER},component=~"prefill|worker"', "tier, pool",
                        "Behind a router over tiers the only one by tier. Without routers' queues and KV transfer.",
                    ),
                    _percentiles(
                        "Time between tokens, in engines", "vllm:inter_token_latency_seconds",
                        f'{_IN_TIER},component=~"decode|worker"', "tier, pool",
                        "Fixed edges: 10, 25, 50, 75 ms; a percentile in between is a straight line.",
                    ),
                ),
            ),
            Row(
                title="Queues",
                panels=(
                    _one(
                        "Waiting in routers", "short", f"sum by (tier, policy_class) ({queue}{{{_IN_TIER}}})",
                        "{{tier}} {{policy_class}}", "Routers over pools of 1.6 do not export it.",
                    ),
                    _one(
                        "Waiting in engines", "short",
                        f"sum by (tier, pool, reason) (vllm:num_requests_waiting_by_reason{{{_IN_TIER}}})",
                        "{{pool}} {{reason}}", "deferred: waits for KV cache that is on its way, or for a LoRA slot.",
                    ),
                    _one(
                        "Mean wait in routers", "s", f"inferfab:route_queue_wait_seconds:avg5m{{{_IN_TIER}}}",
                        "{{route}} {{policy_class}}", "Little's law: nobody exports a percentile by class.",
                    ),
                    _percentiles(
                        "Wait in engines", "vllm:request_queue_time_seconds", _IN_TIER, "tier, pool",
                        "The lowest edge is 0.3 s: what is below it is invented by the straight line.",
                    ),
                    _percentiles(
                        "Router's own time, its queue included", "dynamo_router_overhead_scheduling_ms", _IN_TIER,
                        "tier, pool", "Milliseconds, in spite of the axis: 1000 is a second.",
                    ).model_copy(update={"unit": "ms", "text": "In milliseconds; holds the router's queue."}),
                ),
            ),
            Row(title="Requests", panels=_errors(_IN_TIER, "tier, pool")),
            Row(title="Tokens", panels=_tokens("tier, pool", _IN_TIER)),
        ),
    )  # fmt: skip


def _cell() -> Dashboard:
    return Dashboard(
        uid="inferfab-cell",
        title="inferfab / Cell",
        text="One zone: its capacity, its pools, what it turns away.",
        variables=(_CELL,),
        rows=(
            Row(
                title="Capacity",
                panels=(
                    _one(
                        "Free capacity by tier", "percent", f"inferfab:free_capacity:percent{{{_IN_CELL}}}", "{{tier}}",
                        "What routing between cells looks at (AWS); left of the scarcest of KV cache and batch.",
                    ),
                    _one("Nodes by pool", "short", f"inferfab:pool_nodes:count{{{_IN_CELL}}}", "{{pool}}"),
                    _one(
                        "Reserved nodes that do not run", "short",
                        f"clamp_min(inferfab:pool_reserved_nodes:count{{{_IN_CELL}}} - on (cell, pool) group_left ()"
                        f" inferfab:pool_nodes:count{{{_IN_CELL}}}, 0)", "{{pool}}",
                    ),
                ),
            ),
            Row(title="Tokens", panels=_tokens("pool", _IN_CELL)),
            Row(title="Requests", panels=_errors(_IN_CELL, "route")),
            Row(
                title="Entrance",
                panels=(
                    _one(
                        "Connections to Envoy", "short",
                        f"sum by (cell) (envoy_listener_downstream_cx_active{{{_IN_CELL}}})", "{{cell}}",
                    ),
                    _one(
                        "Answers by class, at Envoy", "reqps",
                        "sum by (envoy_response_code_class)"
                        f" (rate(envoy_http_downstream_rq_xx{{{_IN_CELL}}}[5m]))", "{{envoy_response_code_class}}xx",
                        "529 is among 5xx; a stream that breaks is a 2xx.",
                    ),
                    _one(
                        "Days until a certificate ends", "d",
                        f"(min(envoy_listener_ssl_certificate_expiration_unix_time_seconds{{{_IN_CELL}}}) - time())"
                        " / 86400", "days",
                    ),
                ),
            ),
            Row(
                title="Starting",
                panels=(
                    _one(
                        "Pods that find no node", "short",
                        'count(kube_pod_status_unschedulable{namespace="serving"}) or vector(0)', "pods",
                    ),
                    _one(
                        "Pods that wait for their model", "short",
                        "sum(kube_pod_init_container_status_running"
                        '{namespace="serving",container="wait-for-model"}) or vector(0)', "pods",
                    ),
                    _one(
                        "From created to ready", "s",
                        'quantile(0.95, kube_pod_status_ready_time{namespace="serving"}'
                        ' - on (namespace, pod, uid) kube_pod_created{namespace="serving"})', "p95 of pods that run",
                    ),
                ),
            ),
        ),
    )  # fmt: skip


def _gpu(title: str, field: str, text: str, unit: str = "percentunit") -> Panel:
    expr = f"avg by (pool, role) ({field} * on (node) group_left (pool, role) inferfab:node_pool:info{{{_IN_POOL}}})"
    return _one(title, unit, expr, "{{pool}} {{role}}", text)


def _pool(moves: bool) -> Dashboard:
    transfers = (
        Row(
            title="KV transfer",
            panels=(
                _one(
                    "Bytes a second", "Bps", f"inferfab:pool_kv_transfer_bytes:rate5m{{{_IN_POOL}}}", "{{pool}}",
                    "What engines say they moved.",
                ),
                Panel(
                    title="Speed of one GPU while transfers run", unit="Bps",
                    text="Far below plan is TCP, a broken rail, or a crowded one.",
                    queries=(
                        Query(
                            expr=f"inferfab:pool_kv_transfer_speed:bytes_per_second{{{_IN_POOL}}}", legend="{{pool}}"
                        ),
                        Query(
                            expr=f"inferfab:pool_kv_transfer_planned:bytes_per_second{{{_IN_POOL}}}",
                            legend="planned {{pool}}",
                        ),
                    ),
                ),
                _one(
                    "Failed and expired transfers", "short",
                    "sum by (pool) (rate(vllm:nixl_num_failed_transfers_total"
                    f"{{{_IN_POOL}}}[5m]) + rate(vllm:nixl_num_kv_expired_reqs_total{{{_IN_POOL}}}[5m]))", "{{pool}}",
                    "Expired: prefill kept KV cache that nobody fetched.",
                ),
                _percentiles(
                    "Duration of a transfer", "vllm:nixl_xfer_time_seconds", _IN_POOL, "pool",
                    "Edges from 5 ms to 5 s. By the side that starts it. Not the router's estimate, which holds more.",
                ),
            ),
        ),
    )  # fmt: skip
    return Dashboard(
        uid="inferfab-pool",
        title="inferfab / Pool",
        text="GPUs of one model and tier.",
        variables=(_CELL, _POOL),
        rows=(
            Row(title="Tokens", panels=_tokens("pool", _IN_POOL)),
            Row(
                title="GPUs",
                panels=(
                    _gpu(
                        "Compute: tensor cores busy", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
                        "High where prompts are read. Not DCGM_FI_DEV_GPU_UTIL, which is 100 % for any kernel.",
                    ),
                    _gpu(
                        "Memory: HBM busy", "DCGM_FI_PROF_DRAM_ACTIVE",
                        "High where answers are written. Not used memory, which vLLM takes at its start.",
                    ),
                    _gpu("Power", "DCGM_FI_DEV_POWER_USAGE", "A GPU.", "watt"),
                    _one(
                        "Xids in the window", "short",
                        "sum by (node, gpu, xid) (DCGM_EXP_XID_ERRORS_COUNT"
                        f" * on (node) group_left () inferfab:node_pool:info{{{_IN_POOL}}}) > 0",
                        "{{node}} GPU {{gpu}} Xid {{xid}}", "Counted by number; the default series is only the last.",
                    ),
                    _one(
                        "Uncorrectable memory errors", "short",
                        "sum by (node, gpu) (increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[1h])"
                        f" * on (node) group_left () inferfab:node_pool:info{{{_IN_POOL}}}) > 0",
                        "{{node}} GPU {{gpu}}",
                    ),
                ),
            ),
            Row(
                title="KV cache and batch",
                panels=(
                    _one(
                        "KV cache in use", "percentunit", f"inferfab:pool_kv_usage:ratio{{{_IN_POOL}}}",
                        "{{pool}} {{component}}", "A mean over pods; prefill pods are never full for long.",
                    ),
                    _one(
                        "Prompt tokens found in cache", "percentunit",
                        f"inferfab:pool_prefix_hits:ratio5m{{{_IN_POOL}}}", "{{pool}}",
                        "On prefill and aggregated pods only.",
                    ),
                    Panel(
                        title="Requests in engines", unit="short",
                        queries=(
                            Query(expr=f"inferfab:pool_running_requests:sum{{{_IN_POOL}}}", legend="run {{pool}}"),
                            Query(expr=f"inferfab:pool_waiting_requests:sum{{{_IN_POOL}}}", legend="wait {{pool}}"),
                        ),
                    ),
                    _one(
                        "Preemptions a second", "short",
                        f"sum by (pool) (rate(vllm:num_preemptions_total{{{_IN_POOL}}}[5m]))", "{{pool}}",
                        "A request loses its cache to another one and is computed again.",
                    ),
                    _one(
                        "Requests ended by errors", "reqps",
                        "sum by (pool, finished_reason) (rate(vllm:request_success_total"
                        f'{{{_IN_POOL},finished_reason=~"abort|error"}}[5m]))', "{{pool}} {{finished_reason}}",
                        "Of engines; its name says success for every reason.",
                    ),
                    _one(
                        "Prompts by where they came from", "short",
                        f"sum by (source) (rate(vllm:prompt_tokens_by_source_total{{{_IN_POOL}}}[5m]))", "{{source}}",
                    ),
                ),
            ),
            *(transfers if moves else ()),
            Row(
                title="Scaling",
                panels=(
                    Panel(
                        title="What the planner sees and wants", unit="short",
                        queries=tuple(
                            Query(expr=f"max by (pool) (dynamo_planner_{n}{{{_IN_POOL}}})", legend=f"{n} {{{{pool}}}}")
                            for n in (
                                "num_prefill_replicas", "predicted_num_prefill_replicas", "num_decode_replicas",
                                "predicted_num_decode_replicas", "observed_requests_per_second",
                            )
                        ),
                        width=12,
                    ),
                    *_forecast(_IN_POOL),
                ),
            ),
        ),
    )  # fmt: skip


def _nodes(title: str, expr: str, text: str = "", unit: str = "pps") -> Panel:
    joined = f"({expr}) * on (node) group_left (pool) inferfab:node_pool:info{{{_IN_CELL}}}"
    return _one(title, unit, f"sum by (pool, node) ({joined})", "{{pool}} {{node}}", text)


def _sum_rates(names: Iterable[str]) -> str:
    return " + ".join(f"sum by (node) (rate({name}[5m]))" for name in names)


def _fabric(cell: CellPlan, plan: ObservabilityPlan) -> Dashboard:
    kind: FabricKind = cell.fabric.kind
    rows = [
        Row(
            title="Does KV cache go over RDMA?",
            panels=(
                Panel(
                    title="KV bytes by engines, RDMA bytes by NICs", unit="Bps", width=12,
                    text="They should be of one size. Engines without NICs is TCP.",
                    queries=(
                        Query(
                            expr=f"sum by (pool) (inferfab:pool_kv_transfer_bytes:rate5m{{{_IN_CELL}}})",
                            legend="engines {{pool}}",
                        ),
                        Query(
                            expr=f"sum by (pool) (inferfab:pool_rdma_bytes:rate5m{{{_IN_CELL}}})",
                            legend="NICs {{pool}}",
                        ),
                    ),
                ),
                _one(
                    "Speed of one GPU while transfers run, over plan", "percentunit",
                    f"inferfab:pool_kv_transfer_speed:bytes_per_second{{{_IN_CELL}}} / on (cell, pool) group_left ()"
                    " max by (cell, pool) (inferfab:pool_kv_transfer_planned:bytes_per_second)", "{{pool}}",
                    "Below 20 % an alert pages: needs no counters of NICs.", width=12,
                ),
            ),
        )
    ]  # fmt: skip
    if kind == "roce":
        rows.append(Row(title="RoCE", panels=_roce(cell)))
    if kind == "efa" and plan.efa_exporter_image is not None:
        rows.append(Row(title="EFA", panels=_efa()))
    return Dashboard(
        uid="inferfab-fabric",
        title="inferfab / Fabric",
        text="From prefill to decode. EFA has no PFC, ECN or CNP, and no exporter with a public image.",
        variables=(_CELL,),
        rows=tuple(rows),
    )


def _roce(cell: CellPlan) -> tuple[Panel, ...]:
    marking = cell.fabric.marking
    priority = marking.switch.priority if marking and marking.switch else 3
    port, pause = "node_infiniband_", f"node_ethtool_received_prio{priority}_pause"
    found = [
        _nodes(
            "Out of sequence, missing, timed out",
            _sum_rates(
                f"{port}{name}_total"
                for name in (
                    "out_of_sequence_packets_received", "packet_sequence_errors", "local_ack_timeout_errors",
                )
            ),
            "A lossless fabric has none.",
        ),
        _nodes(
            "Congestion notifications sent and handled",
            _sum_rates((f"{port}np_cnp_packets_sent_total", f"{port}rp_cnp_packets_handled_total")),
            "Some are DCQCN at work; many, with pauses, are a crowded leaf.",
        ),
        _nodes(
            "Packets marked by ECN",
            _sum_rates((f"{port}np_ecn_marked_roce_packets_received_total",)),
        ),
        _nodes(
            "Dropped for want of a buffer, sent again",
            _sum_rates((f"{port}out_of_buffer_drops_total", f"{port}roce_adp_retransmits_total")),
        ),
        _nodes("RDMA received", _sum_rates((f"{port}port_data_received_bytes_total",)), unit="Bps"),
    ]  # fmt: skip
    if marking and marking.switch:
        found += [
            _nodes(
                f"Time held back by PFC, priority {priority}", f"({_sum_rates((f'{pause}_duration',))}) / 1e6",
                "By the ethtool collector; hw_counters do not have it.", "percentunit",
            ),
            _nodes("PFC pauses received", _sum_rates((pause,))),
        ]  # fmt: skip
    return tuple(found)


def _efa() -> tuple[Panel, ...]:
    name = "node_amazonefa_"
    return (
        _nodes("Packets sent again", _sum_rates((f"{name}retrans_pkts",)), "SRD repeats silently."),
        _nodes(
            "Timeouts, impaired and silent peers",
            _sum_rates(
                f"{name}{end}"
                for end in ("retrans_timeout_events", "impaired_remote_conn_events", "unresponsive_remote_events")
            ),
        ),
        _nodes(
            "Failed reads and writes, drops",
            _sum_rates(f"{name}{end}" for end in ("rdma_read_wr_err", "rdma_write_wr_err", "rx_drops")),
        ),
        _nodes("RDMA read", _sum_rates((f"{name}rdma_read_bytes",)), unit="Bps"),
    )


def _cost() -> Dashboard:
    where = f'{_IN_TIER},bound="high"'

    def dollars(level: str, length: str, definition: str, filter: str) -> str:
        return f'inferfab:{level}_usd_per_million_tokens:{length}{{{filter},definition="{definition}"}}'

    panels = tuple(
        _one(
            f"Dollars a million {words} tokens, {length}, by {level}",
            "currencyUSD",
            dollars(level, length, definition, f'{_IN_CELL},bound="high"' if level == "model" else where),
            {"pool": "{{pool}} {{model}}", "tier": "{{tier}}", "model": "{{model}}"}[level],
            "Nodes that run or are reserved, idle time included, over tokens.",
        )
        for length in ("1d", "7d")
        for definition, words in (("output_tokens", "answer"), ("total_tokens", "prompt and answer"))
        for level in ("pool", "tier", "model")
    )
    return Dashboard(
        uid="inferfab-cost",
        title="inferfab / Cost",
        text="By the plan's prices, upper bounds. Two definitions: over answer tokens alone, or over all; they differ "
        "several times, so say which.",
        variables=(_CELL, _TIER),
        rows=(
            Row(
                title="Spent",
                panels=(
                    _one(
                        "Dollars an hour", "currencyUSD",
                        f"sum by (tier, pool) (inferfab:pool_cost_usd:per_hour{{{where}}})", "{{tier}} {{pool}}",
                        "GPU nodes only: no control plane, storage or traffic.", width=12,
                    ),
                    _one(
                        "This week over the one before", "percentunit",
                        f"inferfab:pool_usd_per_million_tokens:trend7d{{{where}}}", "{{pool}} {{definition}}",
                        width=12,
                    ),
                ),
            ),
            Row(title="Dollars a million tokens: last day", panels=panels[:6]),
            Row(title="Dollars a million tokens: last week", panels=panels[6:]),
        ),
    )  # fmt: skip
