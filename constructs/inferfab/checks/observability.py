"""What is measured agrees with what is promised, and somebody hears of it."""

import math
from collections.abc import Iterator

from inferfab.catalog.metrics import engine_exporters
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath
from inferfab.plan.observability.buckets import frontend_buckets
from inferfab.plan.observability.observability import BURN_WINDOWS, SLO_DAYS, TREND_DAYS


@rule(
    "IF-OBS-001",
    "a promise that lies on no edge of its histogram",
    severity="warning",
    joins=("engine", "promise"),
    why="the share of requests under it is then not counted: alerts judge the next edge above and come late.",
    do="promise two significant digits (120 or 130 ms, not 125), and few different times a tier.",
    source="edges are rounded to two digits: measured on ai-dynamo 1.6.1 (DYN_METRICS_TTFT_MIN and its like)",
)
def promises_on_edges(facts: Facts) -> Iterator[Problem]:
    for tier in facts.fleet.tiers:
        missed = {(b.prefix, ms): b for b in frontend_buckets((tier,)) for ms in b.missed_ms}
        for position, promise in enumerate(tier.promises):
            hit = [b for (_, ms), b in missed.items() if ms == promise.at_most_ms]
            if hit:
                nearest = min(hit[0].edges_seconds, key=lambda e: abs(e * 1000 - promise.at_most_ms))
                above = min(e for e in hit[0].edges_seconds if e * 1000 > promise.at_most_ms)
                yield Problem(
                    ("tiers", tier.name, "promises", position, "at_most_ms"),
                    f"{promise} lies between edges of the frontends' histogram; {above * 1000:g} ms is judged instead",
                    f"promise {nearest * 1000:g} ms, or know that alerts come late",
                )


@rule(
    "IF-OBS-002",
    "alerts for somebody who is not there",
    stage="reference",
    joins=("environment", "cluster"),
    why="Alertmanager takes no configuration with a route to a receiver that it does not know, and tells nobody.",
    do="name one of `observability.receivers`, or add it there.",
    source="prometheus-operator, AlertmanagerConfig: routes name receivers of the same object",
)
def receivers_known(facts: Facts) -> Iterator[Problem]:
    asked = facts.environment.observability
    for field, name in asked.named_receivers():
        if name not in asked.receivers:
            there = ", ".join(f"`{one}`" for one in asked.receivers) or "none at all"
            yield Problem(
                ("observability", "route", field),
                f"there is no receiver `{name}`; there is {there}",
                "name a receiver of `observability.receivers`",
                value=name,
            )


@rule(
    "IF-OBS-003",
    "series that are kept shorter than what reads them",
    severity="warning",
    joins=("environment", "cost"),
    why="the weekly trend of cost compares two weeks: without the older one it is silent, and so is its alert; and "
    "what is left of a 30-day error budget is then said of fewer days.",
    do=f"keep at least {SLO_DAYS} days; {TREND_DAYS} hold the trend.",
    source="rule inferfab:pool_usd_per_million_tokens:trend7d (7 days, and 7 days before); dashboards: 30 days of an "
    "error budget",
)
def retention_holds_the_trend(facts: Facts) -> Iterator[Problem]:
    days = facts.environment.observability.retention_days
    readers = [("the trend of cost reads", TREND_DAYS)]
    if any(c.observability is not None and c.observability.slos for c in facts.fleet.cells):
        readers.append(("an error budget is of", SLO_DAYS))
    late = [(what, least) for what, least in readers if days < least]
    if late:
        reading = " and ".join(f"{what} {least}" for what, least in late)
        yield Problem(
            ("observability", "retention_days"),
            f"{days} days are kept, and {reading}",
            f"write at least {max(least for _, least in late)}",
            value=str(days),
        )


@rule(
    "IF-OBS-008",
    "series that are gone before forecasts and alerts have read them",
    joins=("environment", "promise", "cost"),
    why="a window of which the beginning is gone is cut without a word: the forecast is judged on less than it says or "
    "never leaves its fallback, and an error budget that burns slowly is seen too late.",
    do="keep at least the longest window, and the horizon before it.",
    source="rules inferfab:pool_requests:quantile (window and horizon) and inferfab:slo_bad:ratio3d",
)
def retention_holds_the_windows(facts: Facts) -> Iterator[Problem]:
    days = facts.environment.observability.retention_days
    readers: dict[str, float] = {}
    for cell in facts.fleet.cells:
        if cell.observability is not None and cell.observability.slos:
            longest = max(BURN_WINDOWS, key=lambda w: w.hours)
            readers[f"alerts on error budgets read {longest.long}"] = longest.hours
        for pool in cell.autoscaling.pools if cell.autoscaling else ():
            if pool.forecast is not None:
                hours = pool.forecast.window_s / 3600
                readers[f"the forecast of `{pool.pool}` reads {hours:g} hours, and its horizon before them"] = (
                    hours + pool.forecast.horizon_s / 3600
                )
    if readers and days * 24 < max(readers.values()):
        what = max(readers, key=lambda name: readers[name])
        least = math.ceil(readers[what] / 24)
        yield Problem(
            ("observability", "retention_days"),
            f"{days} days are kept, and {what}",
            f"write at least {least}",
            value=str(days),
        )


@rule(
    "IF-OBS-004",
    "an engine whose series are not known",
    joins=("engine", "promise"),
    why="rules over a name that nobody exports are no error in Prometheus: they are silent, as if all were well.",
    do="take an engine pair whose lists of series the catalog has, or add them (catalog/data/metrics.json).",
    source="catalog: metrics.json, from scrapes of released wheels and released source",
)
def series_known(facts: Facts) -> Iterator[Problem]:
    read = {c.observability.metrics_of for c in facts.fleet.cells if c.observability is not None}
    for dynamo, vllm in sorted(read):
        wanted = {f"dynamo {dynamo}", f"dynamo-planner {dynamo}", f"vllm {vllm}"} - {*engine_exporters(dynamo, vllm)}
        if wanted:
            yield Problem(
                ("engine", "dynamo"),
                f"the catalog has no list of the series of {', '.join(sorted(wanted))}",
                "take another version of Dynamo",
                value=dynamo,
            )


@rule(
    "IF-OBS-005",
    "a dead man's switch that does not notice silence",
    stage="reference",
    joins=("environment", "cluster"),
    why="it has to raise the alarm by itself when nothing comes; a chat or a pager only shows what does come.",
    do="name a webhook of a service that watches for heartbeats.",
    source="Watchdog of kube-prometheus: an alert that always fires, for an integration that expects it",
)
def switch_notices_silence(facts: Facts) -> Iterator[Problem]:
    asked = facts.environment.observability
    name = asked.route.dead_mans_switch
    receiver = asked.receivers.get(name) if name else None
    if receiver is not None and receiver.kind != "webhook":
        yield Problem(
            ("observability", "route", "dead_mans_switch"),
            f"`{name}` is of kind {receiver.kind}, which says nothing when nothing comes",
            "name a receiver of kind webhook",
            value=name or "",
        )


@rule(
    "IF-OBS-006",
    "pages without a dead man's switch",
    severity="warning",
    stage="reference",
    joins=("environment", "cluster"),
    why="a Prometheus or Alertmanager that is down pages nobody, and the silence looks like a quiet night.",
    do="name a service that expects a heartbeat under `observability.route.dead_mans_switch`.",
    source="practice of kube-prometheus (Watchdog)",
)
def pages_are_missed(facts: Facts) -> Iterator[Problem]:
    route = facts.environment.observability.route
    if route.page is not None and route.dead_mans_switch is None:
        yield Problem(
            ("observability", "route"), f"`{route.page}` is paged, and nothing notices when pages stop",
            "add `dead_mans_switch`",
        )  # fmt: skip


@rule(
    "IF-OBS-007",
    "an exporter of counters that no cell has",
    severity="warning",
    joins=("environment", "fabric"),
    why="it runs nowhere: no cell of the environment has EFA interfaces.",
    do="leave the image out, or check which fabric the cells were meant to have.",
    source="EFA counters are those of EFA devices (aws-samples, efa-node-exporter)",
)
def exporter_has_devices(facts: Facts) -> Iterator[Problem]:
    asked = facts.environment.observability
    if asked.efa_exporter_image is not None and all(c.fabric.kind != "efa" for c in facts.fleet.cells):
        path: YamlPath = ("observability", "efa_exporter_image")
        what = f"no cell of this environment has EFA, so `{asked.efa_exporter_image}` would run nowhere"
        yield Problem(path, what, "leave it out", value=asked.efa_exporter_image)
