"""Shares of cells, hostnames, and round trips."""

import pytest
from hypothesis import given

from inferfab.environment.environment import Environment
from inferfab.plan.fleet import plan
from inferfab.plan.routing import round_trip_ms, traffic_shares
from strategies import environments, quick

from .planning import aggregated, environment_of, prod, prod_plan, tree


def with_shares(*shares: float | None) -> Environment:
    made = tree()
    made["pools"] = {"p": {"tier": "standard", **aggregated()}}
    base = made["cells"].pop("a")
    for number, share in enumerate(shares):
        stated = {} if share is None else {"traffic_share": share}
        made["cells"][f"c{number}"] = {**base, "pools": {"p": None}, **stated}
    return Environment.model_validate(made)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ((None, None), (0.5, 0.5)),
        ((0.5, None, None), (0.5, 0.25, 0.25)),
        ((0.4, 0.6), (0.4, 0.6)),
        ((1.0, None), (1.0, 0.0)),
    ],
)
def test_traffic_shares(stated: tuple[float | None, ...], expected: tuple[float, ...]) -> None:
    """As stated; the rest in equal parts."""
    assert tuple(traffic_shares(with_shares(*stated)).values()) == pytest.approx(expected)


def test_shares_over_the_cells_that_serve() -> None:
    """Prod: batch runs in use1-a only and so gets all of its traffic there; priority in all three as
    stated."""
    routes = {r.tier: {c.cell: c.share for c in r.cells} for r in prod_plan().routing.routes}
    assert routes["batch"] == {"use1-a": 1.0}
    assert routes["priority"] == pytest.approx({"use1-a": 0.4, "use1-b": 0.25, "usw2-c": 0.35})


def test_silent_zero_shares() -> None:
    """Cells that all state zero still serve, in equal parts."""
    route = plan(with_shares(0.0, 0.0)).routing.routes[0]
    assert [c.share for c in route.cells] == [0.5, 0.5]


@quick
@given(environments())
def test_shares_sum_to_one(environment: Environment) -> None:
    """Each tier's records share out all of its traffic; a tier is routed if and only if a cell serves it."""
    fleet = plan(environment)
    for route in fleet.routing.routes:
        assert sum(c.share for c in route.cells) == pytest.approx(1)
        assert all(c.share >= 0 for c in route.cells)
        serving = {p.cell for p in fleet.pools if p.tier == route.tier}
        assert {c.cell for c in route.cells} == serving
    assert {r.tier for r in fleet.routing.routes} == {p.tier for p in fleet.pools}


def test_hostnames_carry_the_tier() -> None:
    """DNS cannot see a tier, so each has a name of its own."""
    routing = prod_plan().routing
    assert {r.tier: r.hostname for r in routing.routes} == {
        "priority": "priority.llm.example.com",
        "standard": "standard.llm.example.com",
        "batch": "batch.llm.example.com",
    }
    assert routing.policy == "latency"


def test_no_routing() -> None:
    """Without a domain there are no names, and the plan says so."""
    routing = plan(environment_of(aggregated())).routing
    assert (routing.domain, routing.policy) == (None, "none")
    assert routing.routes[0].hostname is None


def test_round_trips_come_from_the_catalog() -> None:
    """us-east-1 to us-west-2 68.4 ms, to eu-west-1 84.9 ms, either way round; within a region 2 ms."""
    assert round_trip_ms("aws:us-east-1", "aws:us-west-2") == 68.4
    assert round_trip_ms("aws:us-west-2", "aws:us-east-1") == 68.4
    assert round_trip_ms("aws:us-east-1", "aws:us-east-1") == 2
    assert round_trip_ms("aws:us-east-1", "aws:nowhere-1") is None
    trips = {(t.users_near, t.cell): t.rtt_ms for t in prod_plan().routing.round_trips}
    assert len(trips) == 9
    assert trips["aws:eu-west-1", "use1-a"] == 84.9
    assert trips["aws:us-west-2", "usw2-c"] == 2
    assert prod().routing is not None


def test_users_default_to_the_cells_regions() -> None:
    """Each region once."""
    trips = plan(with_shares(None, None)).routing.round_trips
    assert [(t.users_near, t.cell, t.rtt_ms) for t in trips] == [
        ("aws:us-east-1", "c0", 2),
        ("aws:us-east-1", "c1", 2),
    ]


@pytest.mark.parametrize("gcp", [False, True])
@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("account", [False, True])
def test_route_53_is_named_only_with_an_account_for_it(gcp: bool, routed: bool, account: bool) -> None:
    """Without an AWS account names may stand in any DNS; without routing none stand anywhere."""
    accounts = {"gcp": {"project": "tests-project"}}
    if account or not gcp:
        accounts["aws"] = {"account_id": "111122223333"}
    routing = {"routing": {"domain": "llm.example.com"}} if routed else {}
    machine = "a3-ultragpu-8g" if gcp else "p5en.48xlarge"
    route = plan(environment_of(aggregated(machine), gcp=gcp, accounts=accounts, **routing)).routing.routes[0]
    words = f"{route.when_all_unhealthy} {route.cells[0].health}"
    assert ("Route 53" in words) == ("CALCULATED" in words) == (routed and "aws" in accounts)
    assert ("DNS should answer" in words) == (routed and "aws" not in accounts)
    assert ("no routing" in words) == (not routed)
