"""Good and started of each objective, error budgets over several windows, and the two alerts on them.

Two series an objective are recorded from the histograms, and every window is made of those two: alerts over three days
then read thousands of points, not millions. Alerts compare with the recorded budget, so they are the same for all.
"""

from inferfab.plan.fleet import CellPlan
from inferfab.plan.observability.observability import MOST_BAD, BurnWindow, ObservabilityPlan
from inferfab.plan.observability.slos import BEHIND_ROUTER, SEVERAL, SloPlan
from inferfab.render.observability.fact_rules import number, slo_labels
from inferfab.render.observability.rule import Group, Rule

FAILED = "overload|unavailable|response_timeout|internal|not_implemented"
"""Values of ``error_type`` that are the fleet's fault. ``cancelled`` is not among them: a reader who stops an answer
has not been failed. One who gave up before the first token is missing from the good of the latency objective.
"""
_HISTOGRAM = {
    ("frontend", "ttft"): "dynamo_frontend_time_to_first_token_seconds",
    ("frontend", "itl"): "dynamo_frontend_inter_token_latency_seconds",
    ("frontend", "whole_answer"): "dynamo_frontend_request_duration_seconds",
    ("engine", "ttft"): "vllm:time_to_first_token_seconds",
    ("engine", "itl"): "vllm:inter_token_latency_seconds",
}
_ENGINE_PART = {"ttft": "prefill|worker", "itl": "decode|worker"}


def slo_groups(cell: CellPlan, plan: ObservabilityPlan) -> tuple[Group, ...]:
    base = tuple(rule for slo in plan.slos for rule in _base(cell, slo))
    lengths = dict.fromkeys(length for w in plan.windows for length in (w.short, w.long))
    ratios = tuple(_ratio(length) for length in sorted(lengths, key=_seconds))
    if not base:
        return ()
    return (
        Group(name="inferfab-slo-base", rules=base),
        Group(name="inferfab-slo-windows", interval="1m", rules=ratios),
    )


def _seconds(length: str) -> int:
    return int(length[:-1]) * {"m": 60, "h": 3600, "d": 86400}[length[-1]]


def good_and_started(slo: SloPlan) -> tuple[str, str]:
    """Rates over 5 minutes: of what was good, and of what began."""
    at = f'route="{slo.route}"'
    if slo.signal == "availability":
        started = f"sum(rate(dynamo_frontend_requests_started_total{{{at}}}[5m]))"
        failed = f'sum(rate(dynamo_frontend_requests_total{{{at},error_type=~"{FAILED}"}}[5m]))'
        # The series of failures are there only after the first one.
        lost = f"({failed} or vector(0))"
        if slo.pool == SEVERAL:
            behind = f'sum(rate(dynamo_frontend_failures_total{{{at},reason="{BEHIND_ROUTER}"}}[5m]))'
            lost += f" - ({behind} or vector(0))"
        return f"clamp_min({started} - {lost}, 0)", started
    name = _HISTOGRAM[slo.source, slo.signal]
    where = at if slo.source == "frontend" else f'pool="{slo.pool}",component=~"{_ENGINE_PART[slo.signal]}"'
    good = f'sum(rate({name}_bucket{{{where},le=~"{slo.le}"}}[5m]))'
    if slo.signal == "itl":
        # A gap is counted when it has ended; none is started and lost.
        return good, f"sum(rate({name}_count{{{where}}}[5m]))"
    if slo.source == "engine":
        started = f'sum(rate(dynamo_component_router_requests_started_total{{{at},component="router"}}[5m]))'
    else:
        started = f"sum(rate(dynamo_frontend_requests_started_total{{{at}}}[5m]))"
    # Nobody got a token yet: then nothing was good.
    return f"({good} or 0 * {started})", started


def _base(cell: CellPlan, slo: SloPlan) -> tuple[Rule, Rule]:
    good, started = good_and_started(slo)
    labels = slo_labels(cell, slo)
    bound = "" if slo.exact else ", as a lower bound of what is bad"
    promise = f"{slo.promise_ms:g} ms" if slo.promise_ms else "answered"
    return (
        Rule(
            record="inferfab:slo_good:rate5m",
            expr=good,
            labels=labels,
            comment=f"{slo.field}: {promise} for {slo.objective:.6g} of what began{bound}",
        ),
        Rule(record="inferfab:slo_started:rate5m", expr=started, labels=labels),
    )


def _ratio(length: str) -> Rule:
    return Rule(
        record=f"inferfab:slo_bad:ratio{length}",
        expr=(
            f"clamp_min(1 - avg_over_time(inferfab:slo_good:rate5m[{length}])\n"
            f"  / (avg_over_time(inferfab:slo_started:rate5m[{length}]) > 0), 0)"
        ),
    )


def burn_alert(window: BurnWindow, plan: ObservabilityPlan) -> Rule:
    """Both windows burn faster than the factor, and enough began for it to mean something."""
    limit = f"clamp_max({number(window.factor)} * inferfab:slo_budget:ratio, {number(MOST_BAD)})"
    fast = window.severity == "page"
    days = 30 / window.factor
    took = "{{ $value | humanizePercentage }}"
    return Rule(
        alert="InferfabErrorBudgetBurnFast" if fast else "InferfabErrorBudgetBurnSlow",
        expr=(
            f"inferfab:slo_bad:ratio{window.long} > {limit}\n"
            f"and inferfab:slo_bad:ratio{window.short} > {limit}\n"
            f"and avg_over_time(inferfab:slo_started:rate5m[{window.long}]) * {_seconds(window.long)}"
            f" >= {plan.least_requests}"
        ),
        wait="2m" if fast else "15m",
        labels={"severity": window.severity, "window": window.long},
        summary="{{ $labels.slo }} in {{ $labels.cell }} burns its error budget",
        description=(
            f"{took} of what began in the last {window.long} broke the objective {{{{ $labels.slo }}}} "
            f"(tier {{{{ $labels.tier }}}}). At this rate a 30-day budget lasts {days:.3g} days or less."
        ),
    )
