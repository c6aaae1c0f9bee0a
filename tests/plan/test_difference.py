"""Two fleets are called the same only where nothing that was decided differs."""

import copy
import io
from typing import Any

import pytest
from hypothesis import given
from rich.console import Console

from inferfab.environment.environment import Environment
from inferfab.plan.difference import Change, FleetDifference, difference
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.render.text.difference import print_difference
from strategies import environments, quick

from .planning import aggregated, disaggregated, tree

Tree = dict[str, Any]


def base() -> Tree:
    made = tree()
    workload = {"prompt_tokens": 2000, "output_tokens": 400, "utilization": 0.5}
    made["pools"] = {
        "p": {"tier": "standard", **aggregated(tensor_parallel=2), "workload": workload},
        "d": {"tier": "priority", **disaggregated()},
    }
    made["cells"]["a"]["pools"] = {"p": None, "d": None}
    made["prices"] = {
        "overlay": [
            {
                "cloud": "aws", "instance": "p5en.48xlarge", "kind": "on_demand", "usd_per_hour": 73.0,
                "source": "contract", "as_of": "2026-11-01",
            }
        ]
    }  # fmt: skip
    return made


def changed(*path: str | int, to: object) -> Tree:
    made = base()
    at: Any = made
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = to
    return made


def of(made: Tree) -> FleetPlan:
    return plan(Environment.model_validate(made))


def diff(after: Tree) -> FleetDifference:
    return difference(of(base()), of(after))


def found(got: FleetDifference, section: str) -> dict[tuple[str, str], tuple[str | None, str | None]]:
    return {(c.subject, c.what): (c.before, c.after) for c in got.changes if c.section == section}


def test_utilization() -> None:
    """Half as busy twice as dear: 50 to 25 % shows the workload, and each token at twice its price."""
    got = diff(changed("pools", "p", "workload", "utilization", to=0.25))
    assert not got.empty
    assert found(got, "workload") == {("p", "planned busy"): ("0.5", "0.25")}
    prices = found(got, "prices")
    assert set(prices) == {
        ("a/p", "USD per million output tokens"), ("a/p", "USD per million tokens, prompt and output"),
    }  # fmt: skip
    before, after = prices["a/p", "USD per million output tokens"]
    assert before is not None and after is not None
    assert float(after.split()[0]) == pytest.approx(2 * float(before.split()[0]), rel=0.001)


def test_lengths() -> None:
    """Another prompt length shows itself and the requests a second that follow."""
    got = found(diff(changed("pools", "p", "workload", "prompt_tokens", to=4000)), "workload")
    assert got["p", "prompt tokens"] == ("2,000", "4,000")
    assert ("p", "requests a second, busy") in got


@pytest.mark.parametrize(
    "after",
    [
        changed("protected", to=False),
        changed("state", to={"bucket": "other-bucket", "region": "us-east-1"}),
        changed("cells", "a", "cluster", to={"ami_release": "1.36.1-20261014"}),
        changed("cells", "a", "network", "egress", to="none"),
        changed("cells", "a", "network", "second_zone", to="us-east-1e"),
        changed("prices", "overlay", 0, "as_of", to="2026-12-01"),
        changed("models", "llama", "cold_load_gib_per_second", to=1.0),
        changed("models", "llama", "token_secret", to="hub"),
        changed("budget", to={"usd_per_month": 1000.0}),
        changed("pools", "p", "worker", "overhead_gib", to=3.0),
        changed("pools", "d", "kv_transfer_share_of_ttft", to=0.1),
        changed("routing", to={"domain": "llm.example.com"}),
        changed("cells", "a", "network", "cidr", to="10.99.0.0/16"),
        changed("cells", "a", "system_nodes", to={"count": 5}),
        changed("cells", "a", "gateways", to={"public": False}),
        changed("access", to={"kind": "private", "runner_cidrs": ["10.0.0.0/16"]}),
        changed("engine", "image_registry", to="registry.example.com/nvidia"),
    ],
)
def test_whatever_is_decided_shows(after: Tree) -> None:
    """Each of these changes a field of the plan, so none of them plans the same fleet; both ways round."""
    before, new = of(base()), of(after)
    assert difference(before, new).changes
    assert difference(new, before).changes


def test_what_no_section_names_stands_under_other() -> None:
    """A load rate is in no section; it shows with its place, before and after: 72.66 GB at 2 and at 1 GiB/s."""
    got = diff(changed("models", "llama", "cold_load_gib_per_second", to=1.0))
    assert got.changes == (
        Change(section="other", subject="models", what="0.cold_load_seconds", before="33.8", after="67.7"),
    )


def test_a_default_that_is_written_out_plans_the_same_fleet() -> None:
    """Which fields the file left open is no part of the fleet."""
    after = changed("protected", to=True)
    assert of(after) != of(base())
    assert diff(after).empty


@quick
@given(environments(), environments())
def test_empty_means_equal(one: Environment, other: Environment) -> None:
    """No change is shown if and only if the plans are equal but for the defaults that were left open."""
    before, after = plan(one), plan(other)
    same = before.model_dump(exclude={"defaults"}) == after.model_dump(exclude={"defaults"})
    assert difference(before, after).empty == same
    assert difference(before, before.model_copy(deep=True)).empty


def words(before: FleetPlan, after: FleetPlan) -> str:
    console = Console(file=(out := io.StringIO()), width=124)
    print_difference(console, difference(before, after))
    return out.getvalue()


def test_equal_names_are_told_apart() -> None:
    """Two states of one environment are its before and its after; two environments have their names."""
    one, two = of(base()), of({**copy.deepcopy(base()), "name": "u"})
    assert words(one, one) == "t (before) and t (after) plan the same fleet.\n"
    assert "Size and cost: t → u" in words(one, two)
    assert "t (before) → t (after)" in words(one, of(changed("protected", to=False)))
