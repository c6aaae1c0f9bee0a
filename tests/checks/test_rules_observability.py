"""Rules about what is measured and who hears of it."""

from collections.abc import Iterator

from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, DISAGGREGATED, GCP, base
from inferfab.plan.fleet import FleetPlan

AGG, EFA, GOOGLE = base(AGGREGATED), base(DISAGGREGATED), base(GCP)
HOOK = {"kind": "webhook", "secret": "heartbeat"}
PAGER = {"kind": "pagerduty", "secret": "pager"}


def _promises(*ms: float) -> list[dict[str, object]]:
    return [{"metric": "ttft", "percentile": 50.0 + n, "at_most_ms": at} for n, at in enumerate(ms)]


@examples("IF-OBS-001")
def test_promises_lie_on_edges() -> Iterator[Example]:
    """The frontend rounds to two digits: 1,250 ms has three, 1,200 ms has not."""
    at = "tiers.fast.promises"
    yield Fails(
        AGG.set(at, _promises(1250.0)), f"{at}[0].at_most_ms", ("TTFT p50 ≤ 1,250 ms", "1300 ms"), "warning",
        fix_says=("1300 ms",),
    )  # fmt: skip
    yield Passes(AGG.set(at, _promises(1200.0)))
    yield Passes(AGG.set(at, _promises(1200.0, 2000.0)))
    # No geometric series goes through all three.
    yield Fails(AGG.set(at, _promises(1200.0, 2000.0, 5000.0)), f"{at}[2].at_most_ms", ("5,000 ms",), "warning")


@examples("IF-OBS-002")
def test_receivers_are_there() -> Iterator[Example]:
    """Each field of the route, with others and with none."""
    yield Fails(
        AGG.set("observability", {"route": {"ticket": "desk"}}), "observability.route.ticket",
        ("`desk`", "none at all"),
    )  # fmt: skip
    both = {"receivers": {"beat": HOOK}, "route": {"page": "beet", "dead_mans_switch": "beat"}}
    yield Fails(AGG.set("observability", both), "observability.route.page", ("`beet`", "`beat`"))
    yield Passes(AGG.set("observability", {"receivers": {"beat": HOOK}, "route": {"ticket": "beat"}}))


@examples("IF-OBS-003")
def test_two_weeks_are_kept() -> Iterator[Example]:
    """Fifteen days: two weeks and the day in which rules run; thirty where there are error budgets."""
    at = "observability.retention_days"
    short = AGG.set("observability", {"retention_days": 14})
    yield Fails(short, at, ("14 days", "reads 15", "is of 30"), "warning", fix_says=("at least 30",))
    yield Fails(short.set(at, 29), at, ("29 days", "is of 30"), "warning")
    yield Passes(short.set(at, 30))
    yield Passes(AGG)


@examples("IF-OBS-008")
def test_windows_are_kept() -> Iterator[Example]:
    """A week and the horizon before it need eight days; three days of alerts need three."""
    at = "observability.retention_days"
    week = AGG.set("autoscaling", {"window_hours": 168}).set("observability", {"retention_days": 7})
    yield Fails(week, at, ("7 days are kept", "168 hours"), fix_says=("at least 8",))
    yield Passes(week.set(at, 8))
    day = AGG.set("autoscaling", {"window_hours": 24}).set("observability", {"retention_days": 2})
    yield Fails(day, at, ("2 days are kept", "alerts on error budgets read 3d"), fix_says=("at least 3",))
    yield Passes(day.set(at, 3))


@examples("IF-OBS-004")
def test_series_of_the_engine_are_known() -> Iterator[Example]:
    """A pair of which no list was made."""

    def newer(fleet: FleetPlan) -> FleetPlan:
        (cell,) = fleet.cells
        assert cell.observability is not None
        read = cell.observability.model_copy(update={"metrics_of": ("1.6.1", "0.99.0")})
        return fleet.model_copy(update={"cells": (cell.model_copy(update={"observability": read}),)})

    yield Fails(AGG, "engine.dynamo", ("vllm 0.99.0",), bend=newer)
    yield Passes(AGG)


@examples("IF-OBS-005")
def test_a_switch_that_notices() -> Iterator[Example]:
    """A pager is silent when nothing comes."""
    at = "observability.route.dead_mans_switch"
    pager = AGG.set("observability", {"receivers": {"night": PAGER}, "route": {"dead_mans_switch": "night"}})
    yield Fails(pager, at, ("`night`", "pagerduty"), fix_says=("webhook",))
    yield Passes(pager.set("observability.receivers.night", HOOK))


@examples("IF-OBS-006")
def test_pages_are_missed() -> Iterator[Example]:
    """Whoever pages wants to know when that stops."""
    alone = AGG.set("observability", {"receivers": {"night": PAGER, "beat": HOOK}, "route": {"page": "night"}})
    yield Fails(alone, "observability.route", ("`night`",), "warning", fix_says=("dead_mans_switch",))
    yield Passes(alone.set("observability.route.dead_mans_switch", "beat"))


@examples("IF-OBS-007")
def test_an_exporter_where_it_finds_something() -> Iterator[Example]:
    """EFA is on AWS only."""
    image = {"efa_exporter_image": "registry.example.com/efa:1"}
    yield Fails(GOOGLE.set("observability", image), "observability.efa_exporter_image", ("no cell",), "warning")
    yield Passes(EFA.set("observability", image))


def test_a_second_prometheus_needs_its_place() -> None:
    """8 GiB more than what system nodes of one server hold: IF-PLC-013 counts it."""
    from inferfab.checks.registry import RULES

    one = AGG.set("cells.east-a.system_nodes", {"count": 2, "instance": "m7i.xlarge"})
    two = one.set("observability", {"prometheus_replicas": 2})
    assert "IF-PLC-013" in RULES
    wanted = [[f.what for f in env.check().findings if f.rule == "IF-PLC-013"] for env in (one, two)]
    assert wanted[0] != wanted[1]
    assert wanted[1]
