"""Alerts that people get. Each has a page under docs/runbooks of its name.

Two severities: ``page`` is a promise that is being broken, or will be before morning; ``ticket`` can wait for it.
"""

from inferfab.plan.fleet import CellPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.observability.observability import SLOW_SHARE, TCP_SHARE, ObservabilityPlan
from inferfab.render.observability.fact_rules import number
from inferfab.render.observability.rule import Group, Rule
from inferfab.render.observability.slo_rules import burn_alert

_IN = "{{ $labels.pool }} in {{ $labels.cell }}"
_NODE = "{{ $labels.node }}"
APPLICATION_XIDS = (13, 31, 43, 45)
"""Faults that a program causes itself. Source: NVIDIA, XID Errors, table "possible causes": user app error."""


def alert_group(cell: CellPlan, plan: ObservabilityPlan) -> Group:
    """Alerts of a cell; of fabrics and capacity only where it has them."""
    rules = [burn_alert(window, plan) for window in plan.windows] if plan.slos else []
    rules += _serving(cell, plan)
    if plan.kv_moves:
        rules += _kv_moves(cell, plan)
    rules += _gpus()
    rules += _fabric(cell, plan)
    rules += [*_capacity(plan), *_unschedulable(cell, plan)]
    rules += _platform(cell)
    base = plan.runbooks.rstrip("/") if plan.runbooks else "docs/runbooks"
    return Group(
        name="inferfab-alerts",
        rules=tuple(rule.model_copy(update={"runbook": f"{base}/{rule.alert}.md"}) for rule in rules),
    )


def _alert(name: str, severity: str, expr: str, wait: str, summary: str, description: str) -> Rule:
    return Rule(
        alert=name,
        expr=expr,
        wait=wait,
        labels={"severity": severity},
        summary=summary,
        description=description,
    )


def _serving(cell: CellPlan, plan: ObservabilityPlan) -> list[Rule]:
    routes = {
        g.route: "page" if plan.promises(g.tier) else "ticket"
        for g in cell.serving.graphs
        if any(c.kind == "frontend" for c in g.components)
    }
    gone = [
        Rule(
            alert="InferfabFrontendsGone",
            expr=f'absent(up{{route="{route}",component="frontend"}} == 1)',
            wait="5m",
            labels={"severity": severity, "cell": cell.name, "route": route},
            summary=f"no frontend of {route} in {cell.name} answers Prometheus",
            description=f"Nobody can reach {route} in this cell, or nobody can see it. Its objectives are blind.",
        )
        for route, severity in routes.items()
    ]
    return [
        *gone,
        _alert(
            "InferfabOverload",
            "ticket",
            'sum by (cell, route, model) (inferfab:route_errors:rate5m{error_type="overload"})\n'
            "/ (sum by (cell, route, model) (inferfab:route_requests:rate5m) > 0) > 0.05",
            "10m",
            "{{ $labels.route }} in {{ $labels.cell }} turns requests away",
            "{{ $value | humanizePercentage }} of requests are answered with HTTP 529.",
        ),
        _alert(
            "InferfabRequestsGivenUp",
            "ticket",
            'sum by (cell, route, model) (inferfab:route_errors:rate5m{error_type="cancelled"})\n'
            "/ (sum by (cell, route, model) (inferfab:route_requests:rate5m) > 0) > 0.2",
            "15m",
            "clients of {{ $labels.route }} in {{ $labels.cell }} give up",
            "{{ $value | humanizePercentage }} of requests are cancelled. Latency percentiles do not show those that "
            "never got a token.",
        ),
        _alert(
            "InferfabQueueWaits",
            "ticket",
            "max by (cell, route) (inferfab:route_queue_wait_seconds:avg5m)\n"
            "> on (cell, route) max by (cell, route) (inferfab:route_ttft_promise:seconds)",
            "10m",
            "requests of {{ $labels.route }} in {{ $labels.cell }} wait longer than their whole TTFT promise",
            "{{ $value | humanizeDuration }} mean wait in the router's queue.",
        ),
        _alert(
            "InferfabKvCacheFull",
            "ticket",
            "max by (cell, tier, pool) (inferfab:pool_kv_usage:ratio) > 0.95\n"
            "and on (cell, tier, pool) inferfab:pool_waiting_requests:sum > 0",
            "15m",
            f"KV cache of {_IN} is full and requests wait",
            "{{ $value | humanizePercentage }} of KV blocks are taken on average.",
        ),
        _alert(
            "InferfabPlannerBlind",
            "ticket",
            "max by (cell, pool) (dynamo_planner_observed_requests_per_second) == 0\n"
            "and on (cell, pool) sum by (cell, pool) (rate(vllm:request_success_total[10m])) > 0.1",
            "15m",
            f"the planner of {_IN} sees no requests although there are some",
            "It will scale the pool to its minimum.",
        ),
    ]


def _kv_moves(cell: CellPlan, plan: ObservabilityPlan) -> list[Rule]:
    found = [
        _alert(
            "InferfabKvTransferSlow",
            "page",
            "inferfab:pool_kv_transfer_speed:bytes_per_second\n"
            f"< on (cell, pool) group_left () {number(SLOW_SHARE)} * "
            "max by (cell, pool) (inferfab:pool_kv_transfer_planned:bytes_per_second)\n"
            "and inferfab:pool_kv_transfer_bytes:rate5m > 1e6",
            "10m",
            f"KV cache of {_IN} moves at a fraction of the planned speed",
            "{{ $value | humanize1024 }}B/s a GPU while transfers run. The usual cause is a fallback to TCP.",
        ),
        _alert(
            "InferfabKvTransfersFail",
            "page",
            "sum by (cell, tier, pool) (rate(vllm:nixl_num_failed_transfers_total[5m]))\n"
            "/ (sum by (cell, tier, pool) (rate(vllm:nixl_xfer_time_seconds_count[5m])) > 0) > 0.01",
            "5m",
            f"KV transfers of {_IN} fail",
            "{{ $value | humanizePercentage }} of transfers. Each is a prompt that is computed again, or an error.",
        ),
    ]
    if _sees_rdma(cell, plan):
        found.insert(
            0,
            _alert(
                "InferfabKvTransferOverTcp",
                "page",
                "sum by (cell, pool) (inferfab:pool_rdma_bytes:rate5m)\n"
                f"< on (cell, pool) {number(TCP_SHARE)} * "
                "sum by (cell, pool) (inferfab:pool_kv_transfer_bytes:rate5m)\n"
                "and on (cell, pool) sum by (cell, pool) (inferfab:pool_kv_transfer_bytes:rate5m) > 1e6",
                "5m",
                f"KV cache of {_IN} does not go over RDMA",
                "RDMA counters of the pool's nodes show {{ $value | humanize1024 }}B/s, less than half of what engines "
                "say that they moved.",
            ),
        )
    return found


def _sees_rdma(cell: CellPlan, plan: ObservabilityPlan) -> bool:
    """Whether anything counts RDMA bytes on its nodes."""
    return cell.fabric.kind == "roce" or (cell.fabric.kind == "efa" and plan.efa_exporter_image is not None)


def _gpus() -> list[Rule]:
    xids = "|".join(map(str, APPLICATION_XIDS))
    where = "* on (node) group_left (cell, pool) inferfab:node_pool:info"
    return [
        _alert(
            "InferfabGpuXid",
            "ticket",
            f'(max by (node, gpu, xid) (DCGM_EXP_XID_ERRORS_COUNT{{xid!~"0|{xids}"}}) > 0) {where}',
            "0m",
            f"GPU {{{{ $labels.gpu }}}} of {_NODE} reported Xid {{{{ $labels.xid }}}}",
            f"A fault of GPU, driver or bus, not of the program; pool {_IN}.",
        ),
        _alert(
            "InferfabGpuMemoryFault",
            "page",
            "(\n"
            "  max by (node, gpu) (DCGM_FI_DEV_ROW_REMAP_FAILURE) > 0\n"
            "  or max by (node, gpu) (increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[10m])) > 0\n"
            f") {where}",
            "0m",
            f"memory of GPU {{{{ $labels.gpu }}}} of {_NODE} fails",
            f"Uncorrectable errors, or no spare rows left; pool {_IN}. Answers of this GPU cannot be trusted.",
        ),
        _alert(
            "InferfabGpuMetricsLost",
            "ticket",
            "count by (node) (DCGM_FI_DEV_GPU_TEMP) unless on (node)\n"
            "count by (node) (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE)",
            "30m",
            f"{_NODE} has no profiling counters",
            "Compute and memory of its GPUs cannot be told apart.",
        ),
        _alert(
            "InferfabNodeUnhealthy",
            "page",
            "(\n"
            '  max by (node) (kube_node_status_condition{condition="Ready",status!="true"}) == 1\n'
            "  or max by (node)"
            ' (kube_node_status_condition{condition="AcceleratedHardwareReady",status="false"}) == 1\n'
            f") {where}",
            "10m",
            f"GPU node {_NODE} is not healthy",
            f"Not ready, or its node monitoring agent found a GPU fault; pool {_IN}.",
        ),
    ]


def _fabric(cell: CellPlan, plan: ObservabilityPlan) -> list[Rule]:
    where = "* on (node) group_left (cell, pool) inferfab:node_pool:info"
    if cell.fabric.kind == "roce":
        found = [
            _alert(
                "InferfabRdmaLoss",
                "ticket",
                "(\n"
                "  sum by (node, device) (rate(node_infiniband_out_of_sequence_packets_received_total[5m])\n"
                "    + rate(node_infiniband_packet_sequence_errors_total[5m])\n"
                "    + rate(node_infiniband_local_ack_timeout_errors_total[5m])) > 1\n"
                f") {where}",
                "15m",
                f"{{{{ $labels.device }}}} of {_NODE} loses RDMA packets",
                "{{ $value | humanize }} a second out of sequence, missing or timed out. A lossless fabric has none.",
            )
        ]
        marking = cell.fabric.marking
        if marking is not None and marking.switch is not None:
            found.append(
                _alert(
                    "InferfabPfcPauses",
                    "ticket",
                    "(\n"
                    "  sum by (node, device)\n"
                    f"    (rate(node_ethtool_received_prio{marking.switch.priority}_pause_duration[5m])) / 1e6 > 0.1\n"
                    f") {where}",
                    "15m",
                    f"the fabric holds {{{{ $labels.device }}}} of {_NODE} back",
                    "{{ $value | humanizePercentage }} of the time it was told to pause.",
                )
            )
        return found
    if cell.fabric.kind == "efa" and plan.efa_exporter_image is not None:
        return [
            _alert(
                "InferfabEfaRetransmits",
                "ticket",
                "(\n"
                "  sum by (node, device) (rate(node_amazonefa_retrans_timeout_events[5m])\n"
                "    + rate(node_amazonefa_impaired_remote_conn_events[5m])\n"
                "    + rate(node_amazonefa_unresponsive_remote_events[5m])) > 0.1\n"
                f") {where}",
                "15m",
                f"{{{{ $labels.device }}}} of {_NODE} sends EFA packets again and again",
                "{{ $value | humanize }} events a second.",
            )
        ]
    return []


def _capacity(plan: ObservabilityPlan) -> list[Rule]:
    found: list[Rule] = []
    if any(p.ends_at for p in plan.prices):
        for hours, severity in ((48, "ticket"), (6, "page")):
            found.append(
                _alert(
                    "InferfabCapacityBlockEnds",
                    severity,
                    f"inferfab:pool_capacity_end:timestamp_seconds - time() < {hours} * 3600",
                    "0m",
                    f"the capacity block of {_IN} ends in less than {hours} hours",
                    "{{ $value | humanizeDuration }} are left; EKS drains its nodes 40 minutes before the end.",
                )
            )
    if any(p.reserved_nodes for p in plan.prices):
        found.append(
            _alert(
                "InferfabReservationUnused",
                "ticket",
                "inferfab:pool_reserved_nodes:count\n"
                "- on (cell, pool) group_left () (inferfab:pool_nodes:count\n"
                "  or sum without (tier, model) (0 * inferfab:pool_reserved_nodes:count)) > 0",
                "6h",
                f"{_IN} pays for reserved nodes that do not run",
                "{{ $value }} of them.",
            )
        )
    found += [
        _alert(
            "InferfabCostRises",
            "ticket",
            'inferfab:pool_usd_per_million_tokens:trend7d{bound="high",definition="output_tokens"}'
            f" > {number(1 + plan.cost_rise_percent / 100)}",
            "6h",
            f"tokens of {_IN} cost more than a week ago",
            "{{ $value | humanize }} times the dollars per million output tokens of the week before.",
        ),
        _alert(
            "InferfabForecastMisses",
            "ticket",
            "1 - avg_over_time(inferfab:pool_requests:forecast_covered[1d]) > 0.2",
            "1h",
            f"the forecast of {_IN} was too low too often",
            "In {{ $value | humanizePercentage }} of the last day more requests came than were forecast one "
            "provisioning time before.",
        ),
    ]
    return found


def _unschedulable(cell: CellPlan, plan: ObservabilityPlan) -> list[Rule]:
    """Of pods that serve: placeholders wait by design, and who promises nothing may wait for a cheap node."""
    serving = cell.serving
    promised: list[str] = []
    others: list[str] = []
    for tier, pods in [
        *((g.tier, g.pods_regex) for g in serving.graphs),
        *((lane.tier, lane.name) for lane in serving.lanes),
    ]:
        (promised if plan.promises(tier) else others).append(pods)
    found = []
    for pods_of, severity, wait, since in (
        (promised, "page", "30m", "For half an hour, which is longer than any node takes"),
        (others, "ticket", "3d", "For three days; its tier promises nothing, and a night or a weekend is no fault"),
    ):
        if pods_of:
            names = "|".join(dict.fromkeys(pods_of))
            found.append(
                _alert(
                    "InferfabPodsUnschedulable",
                    severity,
                    "sum by (namespace, pod) (kube_pod_status_unschedulable"
                    f'{{namespace="{SERVING_NAMESPACE}",pod=~"({names})-.*"}}) > 0',
                    wait,
                    "{{ $labels.pod }} finds no node",
                    f"{since}: capacity, quota, taints or node group bounds.",
                )
            )
    return found


def _platform(cell: CellPlan) -> list[Rule]:
    return [
        _alert(
            "InferfabModelNotOnNode",
            "ticket",
            "sum by (namespace, pod) (kube_pod_init_container_status_running"
            f'{{namespace="{SERVING_NAMESPACE}",container="wait-for-model"}}) > 0',
            "45m",
            "{{ $labels.pod }} waits for its model",
            "The node's model cache has not fetched it: store empty, no right to read it, or a full disk.",
        ),
        _alert(
            "InferfabCertificateEnds",
            "ticket",
            "min by (cell, envoy_tls_certificate) (envoy_listener_ssl_certificate_expiration_unix_time_seconds)\n"
            "- time() < 14 * 86400",
            "1h",
            "a certificate of the gateway ends",
            "{{ $value | humanizeDuration }} are left.",
        ),
        _alert(
            "InferfabScalerEmptyAnswer",
            "ticket",
            "sum by (scaledResource, triggerName) (increase(keda_scaler_empty_upstream_responses_total[15m])) > 0",
            "15m",
            "KEDA got an empty answer for {{ $labels.triggerName }} of {{ $labels.scaledResource }}",
            "A query without a result. Read as 0 it would scale the pool in.",
        ),
        _alert(
            "InferfabTargetsDown",
            "ticket",
            "count by (cell, pool, component)\n"
            f'  (up{{namespace=~"{SERVING_NAMESPACE}|{cell.gateway.namespace}",component!=""}} == 0) > 0',
            "15m",
            "{{ $value }} {{ $labels.component }} pods{{ with $labels.pool }} of {{ . }}{{ end }} in "
            "{{ $labels.cell }} do not answer Prometheus",
            "What is summed over them leaves them out, and alerts that read them are silent.",
        ),
    ]
