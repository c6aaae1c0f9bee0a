"""From demand to workers: recording rules that say, in workers, what each signal asks for.

All are whole workers within the pool's bounds, so that KEDA compares each with 1 and takes the largest. A signal that
is missing stays missing: KEDA then holds what is there. One that asks for nothing says the least, or it would hold what
is there against all others. Those that add to what is there add to ready workers: to those on their way they would add
again at every evaluation until they serve.
"""

from inferfab.plan.autoscaling.autoscaling import MOST_LATENCY_FACTOR, UNUSUAL_QUANTILE, PoolAutoscaling
from inferfab.plan.autoscaling.demand import DemandPlan
from inferfab.plan.autoscaling.workers import RoleScaling
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.render.autoscaling.forecast_rules import FORECAST, RATE, Rule, selector

RUNNING = "inferfab:pool_workers:running"
READY = "inferfab:pool_workers:ready"
WAITING = "inferfab:pool_requests:waiting"
BY_FORECAST = "inferfab:pool_workers:forecast"
BY_QUEUE = "inferfab:pool_workers:queue"
BY_LATENCY = "inferfab:pool_workers:latency"
BY_SURGE = "inferfab:pool_workers:surge"
PLACEHOLDERS = "inferfab:pool_placeholders:wanted"


def rate_rule(demand: DemandPlan, labels: dict[str, str]) -> Rule:
    """Requests started a second, over ten minutes."""
    matchers = _matchers(demand.pods) + (f',model="{demand.model}"' if demand.model else "")
    rate = f"rate({demand.metric}{{{matchers}}}[10m])"
    if demand.source == "router":
        return Rule(
            record=RATE,
            labels=labels,
            comment="Of the pool's router: frontends before a router over tiers count all tiers together. A pod "
            "scraped twice counts once.",
            expr=f"sum(max by (pod, router_id, worker_id) ({rate}))",
        )
    return Rule(
        record=RATE,
        labels=labels,
        comment="Requests that were started, answered or not: those that gave up are demand too.",
        expr=f"sum({rate})",
    )


def worker_rules(pool: PoolAutoscaling, role: RoleScaling, of: dict[str, str], labels: dict[str, str]) -> list[Rule]:
    """Rules of one role.

    :param of: labels by which the pool's series are found.
    :param labels: of what is recorded.
    """
    assert pool.demand is not None
    mine, rate = labels | {"role": role.role}, f"{RATE}{selector(of)}"
    me = selector(of | {"role": role.role})
    pods = _matchers(role.pods)
    counted = (
        f'count((kube_pod_status_phase{{{pods},phase=~"Pending|Running"}} == 1)\n'
        f"unless on (namespace, pod) kube_pod_deletion_timestamp{{{pods}}})"
    )
    rules = [
        Rule(
            record=RUNNING,
            labels=mine,
            comment="Pods that are there or on their way; those that drain serve nobody new.",
            expr=counted + (f" / {role.pods_per_worker}" if role.pods_per_worker > 1 else ""),
        )
    ]
    if not role.requests_per_second:
        return rules
    rules.append(
        Rule(
            record=BY_FORECAST,
            labels=mine,
            comment=f"One worker serves {role.requests_per_second:.3g} requests a second as planned; {_spare(role)}.",
            expr=_bounded(role, f"ceil({FORECAST}{selector(of)} / {role.requests_per_second!r}) + {role.spare}"),
        )
    )
    if any(p.role == role.role for p in pool.placeholders):
        times = f" * {role.pods_per_worker}" if role.pods_per_worker > 1 else ""
        rules.append(
            Rule(
                record=PLACEHOLDERS,
                labels=mine,
                comment="Expected workers that are not there yet.",
                expr=f"clamp_min({BY_FORECAST}{me} - {RUNNING}{me}, 0){times}",
            )
        )
    return [*rules, *_for_keda(pool, role, of, mine, rate)] if _keda(pool, role) else rules


def _keda(pool: PoolAutoscaling, role: RoleScaling) -> bool:
    return pool.mode == "keda" and role.workers.min != role.workers.max


def _for_keda(
    pool: PoolAutoscaling, role: RoleScaling, of: dict[str, str], mine: dict[str, str], rate: str
) -> list[Rule]:
    assert pool.demand is not None
    assert pool.forecast is not None
    me = selector(of | {"role": role.role})
    ready, none = f"sum({READY}{me})", f"0 * sum({rate})"
    waiting = f"sum(vllm:num_requests_waiting{{{_matchers(role.pods)}}})"
    if pool.demand.source == "frontend":
        kind = "prefill" if role.role == "prefill" else "decode"
        pending = (
            f"dynamo_frontend_router_queue_pending_requests{{{_matchers(pool.demand.pods)},"
            f'model="{pool.model}",worker_type="{kind}"}}'
        )
        # The router's gauge is there only once something waited; that is 0 only while the frontends count at all.
        waiting = f"(sum({pending}) or {none})\n+ {waiting}"
    growth = pool.forecast.headroom - 1
    unusual = f"quantile_over_time({UNUSUAL_QUANTILE}, {rate}[{pool.forecast.window_s}s])"
    queued = f"sum({WAITING}{me})"
    rules = [
        _ready(role, me, mine),
        Rule(record=WAITING, labels=mine, comment="In the router's queue and in the engines'.", expr=waiting),
        Rule(
            record=BY_QUEUE,
            labels=mine,
            comment=f"One more than are ready for every {role.queue_per_worker} that wait; while fewer do, the least: "
            "in a busy pool somebody always waits for a moment.",
            expr=_bounded(
                role,
                f"({ready} + floor({queued} / {role.queue_per_worker})) * ({queued} >= bool {role.queue_per_worker})",
            ),
        ),
        Rule(
            record=BY_SURGE,
            labels=mine,
            comment=f"Demand in the highest tenth of its window gets {growth:.0%} on top.",
            expr=_bounded(
                role,
                f"ceil({rate} * (1 + {growth:.6g} * ({rate} > bool {unusual})) / {role.requests_per_second!r}) "
                f"+ {role.spare}",
            ),
        ),
    ]
    late = role.latency
    if late is not None:
        bucket = f'{late.series}_bucket{{{_matchers(pool.demand.pods)},model="{pool.model}"}}'
        tail = f"histogram_quantile({late.percentile / 100:g}, sum by (le) (rate({bucket}[5m])))"
        share = late.at_ms / late.promise_ms
        rules.append(
            Rule(
                record=BY_LATENCY,
                labels=mine,
                comment=f"More from {share:.0%} of the promised {late.metric.upper()} p{late.percentile:g} on "
                f"({late.promise_ms:g} ms), below it the least. Nothing observed is nothing late, while the frontends "
                "count requests.",
                expr=_bounded(
                    role,
                    f"ceil({ready} * clamp_max((({tail} * {1000 / late.at_ms:.6g}) > 1) or {none}, "
                    f"{MOST_LATENCY_FACTOR}))",
                ),
            )
        )
    return rules


def _ready(role: RoleScaling, me: str, mine: dict[str, str]) -> Rule:
    pods = _matchers(role.pods)
    counted = (
        f'count((kube_pod_status_ready{{{pods},condition="true"}} == 1)\n'
        f"unless on (namespace, pod) kube_pod_deletion_timestamp{{{pods}}})"
    )
    whole = f"floor({counted} / {role.pods_per_worker})" if role.pods_per_worker > 1 else counted
    return Rule(
        record=READY,
        labels=mine,
        comment="Pods that serve; none at all where there are pods and none of them does yet.",
        expr=f"{whole}\nor 0 * sum({RUNNING}{me})",
    )


def triggers(pool: PoolAutoscaling, role: RoleScaling) -> list[str]:
    """Series that KEDA reads, where it owns the workers."""
    if not _keda(pool, role):
        return []
    if not role.requests_per_second:
        return []
    return [BY_FORECAST, BY_QUEUE, BY_SURGE, *([BY_LATENCY] if role.latency else [])]


def _bounded(role: RoleScaling, expr: str) -> str:
    return f"clamp({expr}, {role.workers.min}, {role.workers.max})"


def _spare(role: RoleScaling) -> str:
    return f"{role.spare} beside them may fail" if role.spare else "none is spare"


def _matchers(pods: str) -> str:
    return f'namespace="{SERVING_NAMESPACE}",pod=~"{pods}"'
