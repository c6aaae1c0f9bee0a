"""Prices in their order, and dollars per million tokens in both definitions."""

import io
from typing import Any

import pytest
from pydantic import TypeAdapter
from rich.console import Console

from inferfab.environment.capacity import Capacity
from inferfab.environment.environment import Environment
from inferfab.environment.money import PriceOverlay
from inferfab.plan.cost import HourlyPrice, Money, hourly_price, token_cost
from inferfab.plan.fleet import plan
from inferfab.plan.quantities import Bounds, Range
from inferfab.render.text.plan_tables import print_plan, without_price

from .planning import aggregated, disaggregated, environment_of, pool_plan, prod_plan, tree

BLOCK = {"kind": "capacity_block", "id": "cr-0123456789abcdef0", "ends_at": "2027-01-31T11:30:00Z"}


def overlay(**fields: Any) -> PriceOverlay:
    line = {
        "cloud": "aws",
        "instance": "p5en.48xlarge",
        "kind": "on_demand",
        "usd_per_hour": 50.0,
        "source": "contract",
        "as_of": "2026-11-01",
    }
    return PriceOverlay.model_validate(line | fields)


def price(
    capacity: dict[str, Any],
    *lines: PriceOverlay,
    region: str = "us-east-1",
    instance: str = "p5en.48xlarge",
    cloud: str = "aws",
) -> HourlyPrice:
    bought: Capacity = TypeAdapter(Capacity).validate_python(capacity)
    return hourly_price(cloud, region, instance, bought, lines)  # type: ignore[arg-type]


def both(got: HourlyPrice) -> tuple[str, float, float | None]:
    return got.basis, got.usd.low, got.usd.high


def test_catalog() -> None:
    """p5en.48xlarge in us-east-1: 63.296 $/h on demand (Karpenter's table, 2026-07-20)."""
    got = price({"kind": "on_demand"})
    assert both(got) == ("catalog", 63.296, 63.296)
    assert "2026-07-20" in got.how


def test_overlay_comes_first() -> None:
    """The team's own price wins, of its kind, region and machine only, and the last line wins among
    several."""
    assert both(price({"kind": "on_demand"}, overlay())) == ("overlay", 50.0, 50.0)
    assert both(price({"kind": "on_demand"}, overlay(region="us-east-1"))) == ("overlay", 50.0, 50.0)
    assert price({"kind": "on_demand"}, overlay(region="us-west-2")).basis == "catalog"
    assert price({"kind": "on_demand"}, overlay(instance="p5.48xlarge")).basis == "catalog"
    assert price({"kind": "spot"}, overlay()).basis == "catalog"
    assert price({"kind": "on_demand"}, overlay(), overlay(usd_per_hour=40.0)).usd.low == 40
    assert "contract, 2026-11-01" in price({"kind": "on_demand"}, overlay()).how
    stated = {**BLOCK, "usd_per_instance_hour": 41.5}
    assert price(stated, overlay(kind="capacity_block", usd_per_hour=39.0)).basis == "overlay"


def test_environments_own_figure_comes_second() -> None:
    """A capacity block's stated price, before the catalog's (39.33 for p5 in us-east-1)."""
    stated = {**BLOCK, "usd_per_instance_hour": 41.5}
    assert both(price(stated, instance="p5.48xlarge")) == ("environment", 41.5, 41.5)
    assert both(price(BLOCK, instance="p5.48xlarge")) == ("catalog", 39.33, 39.33)


def test_reservation_is_billed_on_demand() -> None:
    """Used or not, at the on-demand rate."""
    got = price({"kind": "reservation", "id": "cr-1"})
    assert both(got) == ("catalog", 63.296, 63.296)
    assert got.kind == "reservation"


def test_reservation_follows_an_on_demand_overlay() -> None:
    """Billed at the on-demand rate means at the team's on-demand rate, if it has one."""
    assert price({"kind": "reservation", "id": "cr-1"}, overlay()).usd.low == 50


def test_spot_range() -> None:
    """A read spot price is a range over zones and days."""
    assert both(price({"kind": "spot"}, instance="g6e.12xlarge")) == ("catalog", 3.7887, 6.015)


def test_spot_bound() -> None:
    """No spot price of p5en in me-central-1: 9 % of the on-demand price (75.9552) up to all of it."""
    got = price({"kind": "spot"}, region="me-central-1")
    assert got.basis == "bound"
    assert (got.usd.low, got.usd.high) == pytest.approx((0.09 * 75.9552, 75.9552))


def test_unknown_stays_open() -> None:
    """No price of p5e in us-east-1: from nothing to unknown, and the message says what to do."""
    for capacity in ({"kind": "on_demand"}, {"kind": "reservation", "id": "cr-1"}, {"kind": "spot"}, BLOCK):
        got = price(capacity, region="nowhere-1")
        assert both(got) == ("unknown", 0.0, None)
        assert "prices.overlay" in got.how


def test_an_unknown_part_makes_the_total_open() -> None:
    """A sum with an unknown part has a low end, no high one, and is never shown as a number."""
    fleet = plan(environment_of(disaggregated("p5e.48xlarge")))
    assert fleet.pools[0].price.basis == "unknown"
    assert fleet.cost.total.desired.usd_per_month == Range(low=0, high=None)
    mixed = Money.total([Money.hourly(Range.exact(10.0)), Money.hourly(Range(low=1, high=None))])
    assert (mixed.usd_per_hour.low, mixed.usd_per_hour.high, mixed.usd_per_month.low) == (11, None, 11 * 730)
    cost = fleet.pools[0].token_cost
    assert cost is not None
    assert cost.usd_per_million_output_tokens.high is None


def test_a_month_has_730_hours() -> None:
    """8,760 hours over twelve months."""
    assert Money.hourly(Range.exact(1.0)).usd_per_month == Range.exact(8760 / 12)


def test_both_definitions() -> None:
    """446.8 output tokens/s a GPU at 7.912 $/GPU-h, 4,000 in and 500 out: 4.92 and 0.546 $ (peers.md
    section 5)."""
    rate = Range.exact(446.8 / 500)
    got = token_cost(
        Range.exact(7.912),
        rate,
        prompt_tokens=4000,
        output_tokens=500,
        utilization=1.0,
        band=None,
        measured=None,
    )
    assert got is not None
    assert got.usd_per_million_output_tokens.low == pytest.approx(4.92, abs=0.005)
    assert got.usd_per_million_total_tokens.low == pytest.approx(0.546, abs=0.001)
    assert got.usd_per_million_output_tokens.known


def test_idle_time_is_paid() -> None:
    """At 50 % utilization a token costs twice as much."""
    full, half = (
        token_cost(
            Range.exact(8.0), Range(low=1.0, high=2.0), prompt_tokens=100, output_tokens=100,
            utilization=u, band=None,
            measured=None,
        )
        for u in (1.0, 0.5)
    )  # fmt: skip
    assert full is not None
    assert half is not None
    assert half.usd_per_million_output_tokens.low == pytest.approx(2 * full.usd_per_million_output_tokens.low)
    # 8 $ an hour over 7,200 requests of 100 tokens.
    assert full.usd_per_million_output_tokens.low == pytest.approx(8 / (2 * 3600 * 100) * 1e6)
    assert full.usd_per_million_output_tokens.high == pytest.approx(8 / (1 * 3600 * 100) * 1e6)


def test_nothing_served_has_no_price_a_token() -> None:
    """A pool of no replicas has none."""
    assert pool_plan(aggregated(replicas={"desired": 0, "min": 0, "max": 2})).token_cost is None


def test_prod_total() -> None:
    """Prod: (4/2 + 4/2 + 4/4 + 4/4 + 8/4) = 8 p5en in each of three cells, and 8/4 = 2 g6e.12xlarge on
    spot in one."""
    total = prod_plan().cost.total.desired
    nodes = 3 * (2 + 2 + 1 + 1 + 2)
    assert total.usd_per_hour.low == pytest.approx(nodes * 63.296 + 2 * 3.7887)
    assert total.usd_per_hour.high == pytest.approx(nodes * 63.296 + 2 * 6.015)
    assert total.usd_per_month.low == pytest.approx(730 * (nodes * 63.296 + 2 * 3.7887))


def test_prod_parts_add_up() -> None:
    """Cells, tiers and pools each sum to the total, desired and at maximum."""
    fleet = prod_plan()
    for size in ("desired", "maximum"):
        whole = getattr(fleet.cost.total, size).usd_per_hour.low
        for parts in (
            [c.cost for c in fleet.cells],
            list(fleet.cost.by_tier.values()),
            [p.cost for p in fleet.pools],
        ):
            assert sum(getattr(p, size).usd_per_hour.low for p in parts) == pytest.approx(whole)


def test_gpus_without_a_price_are_counted() -> None:
    """A pool on p5e (no price known: 2 workers of 4 GPUs on one node of 8, at most 4 on two) beside one on p5en."""
    made = tree()
    made["pools"] = {
        "unpriced": {
            "tier": "batch",
            **aggregated("p5e.48xlarge", tensor_parallel=4, replicas={"desired": 2, "min": 0, "max": 4}),
        },
        "priced": {"tier": "batch", **aggregated(tensor_parallel=4)},
    }
    made["cells"]["a"]["pools"] = {"unpriced": None, "priced": None}
    fleet = plan(Environment.model_validate(made))
    assert fleet.cost.unpriced_gpus == Bounds(min=0, desired=8, max=16)
    assert prod_plan().cost.unpriced_gpus == Bounds(min=0, desired=0, max=0)
    console = Console(file=(out := io.StringIO()), width=124)
    print_plan(console, fleet)
    assert "(GPU nodes, without 8 (0–16) GPUs that have no price)" in " ".join(out.getvalue().split())
    assert "no price" not in without_price(prod_plan())
