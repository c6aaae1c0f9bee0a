"""Rules about promises and money. Times are worked out here from datasheet figures.

Llama 3.1 70B on 4 H200 (1,979 dense fp8 TFLOPS, 989 in bf16, 4,800 GB/s each), 1,500 prompt and 300 answer tokens.
A prompt token costs 2 x 70,553,706,496 operations and 4 x 80 layers x 64 heads x 128 x 750 tokens for attention.
"""

from collections.abc import Iterator

import pytest
from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, DISAGGREGATED, GCP, SHARED, base, cell

AGG, DIS, GOOGLE, SMALL = base(AGGREGATED), base(DISAGGREGATED), base(GCP), base(SHARED)
TTFT = "tiers.fast.promises[0].at_most_ms"
FLOPS = (2 * 70_553_706_496 + 4 * 80 * 64 * 128 * 750) * 1500
FAST_MS, SLOW_MS = (FLOPS / (1979e12 * 4 * share) * 1000 for share in (0.60, 0.28))
MOVE_MS = 2 * 80 * 8 * 128 * 1500 * 8 / 800e9 * 1000
WEIGHTS = 70_553_706_496 + 2 * 128_256 * 8_192
KV_SEQUENCE = 2 * 80 * 8 * 128 * 1650
"""A typical sequence in mid-answer: 1,500 + 300 / 2 tokens, fp8."""
STEP_MS = (WEIGHTS + KV_SEQUENCE) / 4 / (4800e9 * 0.8) * 1000


@examples("IF-PRM-001")
def test_first_token() -> Iterator[Example]:
    """TTFT is no less than reading the prompt at 60 % of peak plus moving its cache; a warning up to 28 %."""
    assert round(FAST_MS, 1) == 45.2
    assert round(SLOW_MS, 1) == 96.8
    assert round(FAST_MS + MOVE_MS, 1) == 47.6
    at = "pools.chat.prefill.tensor_parallel"
    yield Fails(
        DIS.set(TTFT, 47), at, ("1,500 prompt tokens", "45.2 ms", "60%", "2.46 ms", "chat prefill", "promises 47 ms")
    )
    yield Fails(DIS.set(TTFT, 48), at, ("45.2 ms to 96.8 ms", "promises 48 ms"), "warning")
    yield Fails(DIS.set(TTFT, 99.2), at, ("promises 99.2 ms",), "warning")
    yield Passes(DIS.set(TTFT, 99.4))
    # In bf16 the peak is 989 TFLOPS: 90.4 ms, and 4.9 ms for a cache of twice the size.
    bf16 = DIS.set("models.llama-70b.quantization", "bf16").set("models.llama-70b.token_secret", "hub")
    bf16 = bf16.set("models.llama-70b.kv_cache_dtype", "bf16")
    assert round(FLOPS / (989e12 * 4 * 0.6) * 1000, 1) == 90.4
    yield Fails(bf16.set(TTFT, 95.3), at, ("90.4 ms", "4.92 ms"))
    yield Fails(bf16.set(TTFT, 95.4), at, ("90.4 ms to 193.7 ms",), "warning")
    # More GPUs, or fewer tokens.
    yield Passes(DIS.set(TTFT, 80).set(at, 8))
    yield Passes(DIS.set(TTFT, 80).set("tiers.fast.workload.prompt_tokens", 750))


@examples("IF-PRM-002")
def test_next_token() -> Iterator[Example]:
    """ITL is no less than reading the weights (18.2 GB a GPU) and one sequence's cache at 80 % of 4,800 GB/s."""
    assert round(STEP_MS, 2) == 4.75
    itl = {"metric": "itl", "percentile": 95, "at_most_ms": 4.7}
    slow = DIS.add("tiers.fast.promises", itl)
    at = "pools.chat.decode.tensor_parallel"
    # Both figures with as many digits as they need, or the sentence contradicts itself.
    yield Fails(slow, at, ("4.75 ms", "80%", "chat decode in east-b", "promises 4.7 ms"))
    yield Passes(slow.set("tiers.fast.promises[1].at_most_ms", 4.8))
    yield Passes(slow.set(at, 8))


@examples("IF-PRM-003")
def test_whole_answer() -> Iterator[Example]:
    """A whole answer takes reading the prompt, moving its cache and 300 steps: 1,472 ms even with one at a time."""
    whole = {"metric": "whole_answer", "percentile": 95, "at_most_ms": 1}
    one = DIS.add("tiers.fast.promises", whole).set("pools.chat.decode.max_sequences", 1)
    least = FAST_MS + MOVE_MS + 300 * STEP_MS
    assert round(least) == 1472
    at, promised = "pools.chat.decode.tensor_parallel", "tiers.fast.promises[1].at_most_ms"
    yield Fails(one.set(promised, 1471), at, ("300 tokens", "1,472.0 ms", "chat decode", "promises 1,471 ms"))
    yield Passes(one.set(promised, 1473))
    short = one.set("tiers.fast.promises[1].answers_up_to_tokens", 100)
    yield Fails(short.set(promised, 522), at, ("100 tokens", "522.4 ms"))
    yield Passes(short.set(promised, 523))
    # At the batch that is planned: full ones are slower.
    full = one.delete("pools.chat.decode.max_sequences").set(promised, 1473)
    yield Fails(full, at, ("300 tokens", "promises 1,473 ms"), fix_says=("`max_sequences`",))


@examples("IF-PRM-004")
def test_availability() -> Iterator[Example]:
    """The figure follows from failure rates: region 0.01 %, cell 0.5 %, node of 8 GPUs 0.015784 %, both of two
    gateways of 0.5 %, and four changes a month of which one in twenty is bad for 75 minutes.

    One cell, a node each for prefill and decode, planned at half load: all four must be up, 99.459 % of capacity. At
    51 % as well; with two nodes each, one of each is enough.
    """
    region, up, node = 1 - 0.0001, 1 - 0.005, 1 - 0.00015784
    reached = (1 - 0.005**2) * (1 - 4 * 0.05 * 75 / (730 * 60))
    assert f"{region * up * node**2 * 100:.3f}" == "99.459"
    one = region * up * node**2 * reached * 100
    assert f"{one:.3f}" == "99.422"
    at = "tiers.fast.availability_percent"
    yield Fails(
        DIS.set(at, 99.43), "tiers.fast",
        ("`llama-70b`", "`fast`", "99.422 %", "1 cell(s) in 1 region(s)", "51 h", "most to cells", "99.43 %"),
    )  # fmt: skip
    assert round((100 - one) / 100 * 8760) == 51
    yield Passes(DIS.set(at, 99.42))
    doubled = DIS.set("pools.chat.prefill.replicas.desired", 4).set("pools.chat.decode.replicas.desired", 4)
    either = (1 - (1 - node) ** 2) ** 2
    two = region * up * either * reached * 100
    assert f"{two:.4f}" == "99.4535"
    yield Passes(doubled.set(at, 99.45))
    yield Fails(doubled.set(at, 99.46), "tiers.fast", (f"{two:.3f} %", "99.46 %"))
    # Two cells in two regions, half of the load each: all but both down at once.
    west = doubled.set("cells.west", cell("aws", "us-west-2", "us-west-2c", "10.18.0.0/16", "chat"))
    # Capacity comes in halves of a cell: enough are a whole cell, or half of both. Per cell and region:
    full = region * up * node**4
    half = region * up * (either - node**4)
    none = 1 - full - half
    enough = 1 - none**2 - 2 * none * half
    # A cell that nodes leave too small keeps its requests for 240 s of the hour; a lost one, 4 h long, for 150 s.
    alone = 1 - either
    together = alone**2 + 2 * alone * (either - node**4)
    enough *= reached * (1 - (alone - together) * 240 / 3600) * (1 - 0.005 / 4 * 150 / 3600)
    yield Passes(west.set(at, enough * 100 - 1e-4))
    yield Fails(
        west.set(at, enough * 100 + 1e-4), "tiers.fast",
        ("2 cell(s) in 2 region(s)", f"{enough * 100:.3f} %", "most to changes"), fix_says=("`rollout:`",),
    )  # fmt: skip
    # Tiers of the defaults have no place of their own: priority asks for 99.9 %.
    yield Fails(
        DIS.delete("tiers").set("pools.chat.tier", "priority"), "pools", ("`priority`", "99.9 %")
    )  # fmt: skip


@examples("IF-PRM-005")
def test_users() -> Iterator[Example]:
    """The nearest cell is at most a quarter of the TTFT promise away: us-east-1 is 68.4 ms from us-west-2."""
    west = AGG.set("routing", {"domain": "llm.example.com", "users_near": ["aws:us-east-1", "aws:us-west-2"]})
    at = "routing.users_near[1]"
    yield Passes(west.set(TTFT, 273.7))
    yield Fails(
        west.set(TTFT, 273.5), at, ("aws:us-west-2", "`fast`", "east-a", "68 ms", "273.5 ms"), "warning",
        fix_says=("cell near",),
    )  # fmt: skip
    near = west.set(TTFT, 273.5).set("cells.west", cell("aws", "us-west-2", "us-west-2a", "10.18.0.0/16", "docs"))
    yield Passes(near)


@examples("IF-CST-001")
def test_budget() -> Iterator[Example]:
    """GPU nodes cost no more than the ceiling at the desired size, and at the maximum if that is stated.

    g6e.12xlarge in us-east-1: $10.49264 an hour, $7,659.63 in 730 hours; spot $3.7887 to $6.0150.
    """
    assert 7659 < 10.49264 * 730 < 7660
    at = "budget.usd_per_month"
    tight = AGG.set("budget", {"usd_per_month": 7659})
    yield Fails(tight, at, ("$7,660", "desired", "$7,659"), fix_says=("at least 7660",))
    yield Passes(tight.set(at, 7660))
    # p5.4xlarge: $6.88 an hour, $5,022.40: "at least 5,022" would not do.
    yield Fails(SMALL.set("budget", {"usd_per_month": 5000}), at, ("$5,022",), fix_says=("at least 5023",))
    yield Passes(SMALL.set("budget", {"usd_per_month": 5023}))
    grows = tight.set(at, 8000).set("pools.docs.worker.replicas.max", 8)
    most = "budget.usd_per_month_at_max"
    yield Fails(grows.set(most, 15_000), most, ("$15,319", "maximum", "$15,000"))
    yield Passes(grows.set(most, 15_320))
    spot = AGG.set("pools.docs.capacity", {"kind": "spot"}).set("budget", {"usd_per_month": 3000})
    assert (round(3.7887 * 730), round(6.015 * 730)) == (2766, 4391)
    yield Fails(spot, at, ("up to $4,391", "$3,000"), "warning", fix_says=("`prices.overlay`",))
    yield Fails(spot.set(at, 2700), at, ("at least $2,766",))
    yield Passes(spot.set(at, 4391))


@examples("IF-CST-002")
def test_prices() -> Iterator[Example]:
    """A machine without a price is named: a Capacity Block has one only if stated."""
    block = {"kind": "capacity_block", "id": "cr-0a1b2c3d4e5f60010", "ends_at": "2027-01-31T11:30:00Z"}
    unknown = DIS.set("pools.chat.capacity", block)
    yield Fails(
        unknown, "cells.east-b.pools.chat", ("capacity block", "p5en.48xlarge", "us-east-1"), "warning",
        fix_says=("`prices.overlay`",),
    )  # fmt: skip
    yield Passes(unknown.set("pools.chat.capacity.usd_per_instance_hour", 41.6))
    line = {
        "cloud": "aws", "instance": "p5en.48xlarge", "kind": "capacity_block", "usd_per_hour": 41.6,
        "source": "contract", "as_of": "2026-11-01",
    }  # fmt: skip
    yield Passes(unknown.set("prices", {"overlay": [line]}))


@examples("IF-CST-003")
def test_overlay() -> Iterator[Example]:
    """A price of one's own is used by some node group."""
    line = {
        "cloud": "aws", "instance": "g6e.12xlarge", "kind": "on_demand", "region": "us-east-1", "usd_per_hour": 8.0,
        "source": "contract", "as_of": "2026-11-01",
    }  # fmt: skip
    used = AGG.set("prices", {"overlay": [line]})
    yield Passes(used)
    at = "prices.overlay[0]"
    for field, value in (("instance", "g6e.24xlarge"), ("kind", "spot"), ("region", "us-west-2"), ("cloud", "gcp")):
        yield Fails(used.set(f"{at}.{field}", value), at, (value,), "warning", fix_says=("correct",))


def test_budget_with_an_overlay_is_exact() -> None:
    """A price of one's own replaces the list price in the sum: 8 x 730 = 5,840."""
    line = {
        "cloud": "aws", "instance": "g6e.12xlarge", "kind": "on_demand", "usd_per_hour": 8.0,
        "source": "contract", "as_of": "2026-11-01",
    }  # fmt: skip
    env = AGG.set("prices", {"overlay": [line]})
    plan = env.check().plan
    assert plan is not None
    assert plan.cost.total.desired.usd_per_month.low == pytest.approx(5840)
    Passes(env.set("budget", {"usd_per_month": 5840})).prove("IF-CST-001")


@examples("IF-PRM-006")
def test_shares_of_capacity() -> Iterator[Example]:
    """No cell gets more traffic than its workers take: two equal cells at 50 % planned take at most everything each.

    At 60 % planned, 0.9 of the traffic on half of the capacity is 108 %; 0.5 / 0.6 = 0.8333 is the most.
    """
    west = AGG.set("cells.west", cell("aws", "us-west-2", "us-west-2a", "10.18.0.0/16", "docs"))
    west = west.set("cells.east-a.traffic_share", 0.9).set("tiers.fast.workload.utilization", 0.6)
    at = "cells.east-a.traffic_share"
    yield Fails(west, at, ("`east-a`", "90%", "`qwen-8b`", "50% of its capacity", "108%", "60%"), fix_says=("0.83",))
    yield Passes(west.set(at, 0.83))
    yield Passes(west.set("tiers.fast.workload.utilization", 0.5))
    yield Passes(west.set("cells.east-a.pools.docs", {"worker_replicas": {"desired": 8}}))
    # A cell that is drained gets nothing, and a tier that only it serves offers nothing to weigh.
    drained = base(AGGREGATED, DISAGGREGATED).set("cells.east-a.traffic_share", 0).set("cells.east-b.traffic_share", 1)
    yield Passes(drained)


@examples("IF-PRM-006")
def test_share_suggestion_is_enough() -> Iterator[Example]:
    """The share that is suggested is rounded down: two thirds are 0.66, not 0.67."""
    west = AGG.set("cells.west", cell("aws", "us-west-2", "us-west-2a", "10.18.0.0/16", "docs"))
    west = west.set("cells.west.pools.docs", {"worker_replicas": {"desired": 8}})
    west = west.set("tiers.fast.workload.utilization", 0.5)  # a third of the capacity at half load: 2/3 of the traffic
    at = "cells.east-a.traffic_share"
    yield Fails(west.set(at, 0.67), at, ("67%", "33% of its capacity"), fix_says=("at most 0.66",))
    yield Passes(west.set(at, 0.66))
    # Where a third cell does not serve the tier, shares of the file are not shares of the tier, and no number is given.
    third = west.set("models.llama-70b", DIS.get("models.llama-70b")).set("pools.chat", DIS.get("pools.chat"))
    third = third.set("tiers.slow", {}).set("pools.chat.tier", "slow").set("cells.east-b", DIS.get("cells.east-b"))
    third = third.set(at, 0.5).set("cells.west.traffic_share", 0.1).set("cells.east-b.traffic_share", 0.4)
    yield Fails(third, at, ("83%", "33% of its capacity"), fix_says=("move traffic to `west`",))
