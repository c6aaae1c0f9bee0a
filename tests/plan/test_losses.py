"""What losses leave, worked out by hand from prod's and prod-hybrid's files; factors against closed forms."""

import math
from functools import cache
from pathlib import Path

import pytest
import yaml

from inferfab.aws.capacity_health import CapacityAlarmSpec
from inferfab.aws.hosted_names_spec import GatewayCheck
from inferfab.catalog.failures import failure_facts
from inferfab.environment.loading import load_text
from inferfab.plan.availability_factor import AvailabilityFactor
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.plan.losses import Loss, TierLoss, losses

ENVIRONMENTS = Path(__file__).resolve().parents[2] / "environments"


@cache
def fleet(name: str, spill: str = "") -> FleetPlan:
    tree = yaml.safe_load((ENVIRONMENTS / f"{name}.yaml").read_text(encoding="utf-8"))
    if spill:
        tree["tiers"]["priority"]["spill"] = spill
    environment = load_text(yaml.safe_dump(tree)).environment
    assert environment is not None
    return plan(environment)


def lost(name: str, what: str, spill: str = "") -> Loss:
    return next(one for one in losses(fleet(name, spill)) if one.what == what)


def of(loss: Loss, tier: str, model: str) -> TierLoss:
    return next(t for t in loss.tiers if (t.tier, t.model) == (tier, model))


def test_a_gpu_takes_its_worker() -> None:
    """Four prefill workers of 4 GPUs a cell: three are left, and 11 of 12 in all. Weights of 72.65 GB come at 54 GB in
    62 s, 83.4 s, beside 74 + 195 + 32 s of engine.
    """
    loss = lost("prod", "a GPU of chat-priority prefill in use1-a")
    tier = of(loss, "priority", "llama-70b")
    assert (tier.cell_left_share, tier.left_share) == (0.75, pytest.approx((0.75 + 1 + 1) / 3, abs=1e-6))
    assert tier.n_plus_one and tier.fits and tier.moves_seconds == 0
    assert loss.back_seconds.low == 74 + 195 + 32 + 83


def test_a_node_of_a_tier_that_stays() -> None:
    """Two nodes a role: half is left of a cell that is planned to 60 %. Its gateway is up, so nobody leaves."""
    tier = of(lost("prod", "a node of chat-priority decode in usw2-c"), "priority", "llama-70b")
    assert tier.cell_left_share == 0.5
    assert tier.moves_seconds is None and not tier.n_plus_one and not tier.fits


def test_a_node_of_a_tier_that_spills() -> None:
    """Four workers of 2 GPUs are one node: nothing is left of the cell, two thirds in all. Full for three minutes, then
    60 s of DNS. A machine with its image takes 284 + 126 + 101 s more than the engine.
    """
    loss = lost("prod", "a node of chat-standard prefill in use1-b")
    tier = of(loss, "standard", "llama-70b")
    assert (tier.cell_left_share, tier.moves_seconds) == (0.0, 240)
    assert tier.left_share == pytest.approx(2 / 3, abs=1e-6) and tier.fits and not tier.n_plus_one
    assert loss.back_seconds.low == 284 + 126 + 101 + 74 + 195 + 32 + 83


def test_cells_and_regions() -> None:
    """All cells are of one size. Two thirds hold 60 %, one third does not; batch has one cell."""
    cell = lost("prod", "cell use1-a")
    assert of(cell, "priority", "llama-70b").left_share == pytest.approx(2 / 3, abs=1e-6)
    assert of(cell, "priority", "llama-70b").moves_seconds == 3 * 30 + 60
    assert of(cell, "batch", "llama-8b").left_share == 0 and not of(cell, "batch", "llama-8b").fits
    region = of(lost("prod", "region aws:us-east-1"), "standard", "qwen-32b")
    assert region.left_share == pytest.approx(1 / 3, abs=1e-6) and not region.fits
    assert of(lost("prod", "cell use1-b", "never"), "priority", "llama-70b").moves_seconds is None


def test_a_leaf_takes_every_server_that_has_a_rail_on_it() -> None:
    """Every server of prod-hybrid has four rails on each leaf."""
    for leaf in ("leaf-a", "leaf-b"):
        loss = lost("prod-hybrid", f"leaf {leaf} in dc1")
        assert of(loss, "priority", "llama-70b").left_share == 0
        assert (loss.back_seconds.low, loss.back_seconds.high) == (0, None)


def factors(name: str, tier: str, spill: str = "") -> dict[str, AvailabilityFactor]:
    figure = next(a for a in fleet(name, spill).availability if a.tier == tier)
    return {f.name: f for f in figure.factors}


def test_factors_by_hand() -> None:
    """Three equal cells at 60 %: two must be up. A cell's loss is 150 s; two gateways of 99.5 %; two routers; 0.2 bad
    changes a month, seen after 30 minutes in a quarter of the traffic and back 15 later.
    """
    found = factors("prod", "priority")
    cell = 0.005
    assert found["cells"].unavailability == pytest.approx(3 * cell**2 * (1 - cell) + cell**3, rel=1e-6)
    # Without us-east-1 a third is left, without us-west-2 two thirds, which hold the load.
    assert found["regions"].unavailability == pytest.approx(0.0001, rel=1e-6)
    assert found["names"].unavailability == pytest.approx(0.005 / 4 * 150 / 3600, rel=1e-6)
    assert found["gateways"].unavailability == found["routers"].unavailability == pytest.approx(0.005**2)
    assert found["changes"].minutes_per_month == pytest.approx(4 * 0.05 * 45 * 0.25)
    assert found["changes"].unavailability == pytest.approx(2.25 / (730 * 60))
    # Without a rollout they are everywhere, until a person has seen them after an hour.
    unjudged = factors("prod-hybrid", "priority")["changes"]
    assert unjudged.minutes_per_month == pytest.approx(4 * 0.05 * 75) and "no rollout" in unjudged.how


def test_stranded_requests() -> None:
    """Each role of a cell has two nodes of 8 GPUs, and one is too little for 60 %: four nodes must be up. Who may leave
    at any time does so after 240 s of the hour.
    """
    node = 0.00015784
    four = 1 - (1 - node) ** 4
    stays = factors("prod", "priority")
    assert stays["stranded"].unavailability + stays["nodes"].unavailability == pytest.approx(four, rel=1e-6)
    leaves = factors("prod", "priority", "any")
    assert leaves["stranded"].unavailability == pytest.approx((four - leaves["nodes"].unavailability) / 15, rel=1e-6)
    assert "stranded" not in factors("prod-hybrid", "priority")


def test_the_whole_is_the_product() -> None:
    """What the figure holds already (nodes, cells, regions) counts once."""
    for figure in fleet("prod").availability:
        rest = [f.unavailability for f in figure.factors if f.name not in ("nodes", "cells", "regions")]
        assert figure.percent_of_capacity is not None
        assert figure.percent == pytest.approx(figure.percent_of_capacity * math.prod(1 - u for u in rest))
        assert figure.percent < figure.percent_of_capacity


def test_names_move_as_the_constructs_say() -> None:
    """The catalog's seconds and the defaults of what makes the health checks are one thing."""
    dns, check, alarm = failure_facts().dns, GatewayCheck(), CapacityAlarmSpec()
    assert (dns.check_failures, dns.check_interval_seconds) == (check.failures, check.interval_seconds)
    assert dns.full_for_seconds == alarm.full_for_minutes * 60
