"""A plan edited by hand is refused by name, or whatever reads plans can work with it."""

import copy
import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from rich.console import Console

from inferfab.environment.environment import Environment
from inferfab.plan.difference import difference
from inferfab.plan.fleet import FleetPlan, UnreadablePlan, plan, read_plan
from inferfab.plan.references import unsound
from inferfab.render.picture import render_mermaid, render_svg
from inferfab.render.text.difference import print_difference
from inferfab.render.text.plan_tables import print_plan
from strategies import environments, quick

from .planning import aggregated, disaggregated, tree

Raw = dict[str, Any]


@cache
def small() -> FleetPlan:
    """Two cells, one pool of each topology."""
    made = tree()
    made["models"]["tiny"] = {"catalog": "qwen3-8b", "revision": "0123456789", "context_tokens": 8192}
    made["pools"] = {
        "chat": {"tier": "priority", **disaggregated()},
        "docs": {"tier": "standard", **aggregated()},
        "many": {
            "topology": "shared", "sharing": "sleep", "tier": "batch", "instance": "g6e.12xlarge",
            "models": [{"model": "tiny"}], "nodes": {"desired": 2, "min": 1, "max": 2},
        },
    }  # fmt: skip
    base = made["cells"].pop("a")
    made["cells"]["a"] = {**base, "pools": {"chat": None, "many": None}}
    network = {"kind": "new", "cidr": "10.17.0.0/16"}
    made["cells"]["b"] = {**base, "network": network, "pools": {"chat": None, "docs": None}}
    return plan(Environment.model_validate(made))


def raw() -> Raw:
    return json.loads(small().to_json())  # type: ignore[no-any-return]


def use(fleet: FleetPlan) -> None:
    """Everything that reads a plan from a file."""
    console = Console(file=io.StringIO())
    print_difference(console, difference(small(), fleet))
    print_difference(console, difference(fleet, small()))
    print_plan(console, fleet)
    render_mermaid(fleet)
    render_svg(fleet)


@quick
@given(environments())
def test_planned_fleets_are_sound(environment: Environment) -> None:
    """Nothing that was planned is refused when it is read."""
    assert list(unsound(plan(environment))) == []


def _drop_pool(plan_: Raw) -> None:
    del plan_["cells"][0]["pools"][0]


def _rename(kind: str) -> Callable[[Raw], None]:
    def change(plan_: Raw) -> None:
        plan_[kind][0]["name"] = "other"

    return change


def _set(*path: str | int, value: object) -> Callable[[Raw], None]:
    def change(plan_: Raw) -> None:
        at: Any = plan_
        for part in path[:-1]:
            at = at[part]
        at[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_drop_pool, r"node groups of cell `a` has `chat-decode`"),
        (_rename("tiers"), "names the tier `priority`"),
        (_rename("models"), "names the model `llama`"),
        (_rename("cells"), "stands in cell `other` and says `a`"),
        (_set("cells", 0, "node_groups", 0, "pool", value="docs"), "is of `docs`, role prefill"),
        (_set("cells", 0, "pools", 0, "roles", 0, "node_group", value="x"), "node groups of cell `a`"),
        (_set("cells", 0, "pools", 0, "kv_transfer", value=None), "kv_transfer"),
        (_set("cells", 0, "pools", 0, "topology", value="aggregated"), "has roles prefill, decode"),
        (_set("cells", 0, "pools", 1, "shared", "packing", "unserved", value={"x": 1}), "model `x`"),
        (_set("cells", 1, "name", value="a"), "stands there 2 times"),
        (_set("cost", "by_tier", value={}), "cost.by_tier lacks `batch`"),
        (_set("routing", "routes", 0, "cells", 0, "cell", value="x"), "cells of route `priority` has `x`"),
        (_set("routing", "round_trips", 0, "cell", value="x"), "names the cell `x`"),
        (_set("availability", value=[]), "availability lacks"),
    ],
)
def test_what_is_inconsistent_is_named(change: Callable[[Raw], None], named: str) -> None:
    """One error with the first problem and how many there are."""
    edited = raw()
    change(edited)
    with pytest.raises(UnreadablePlan, match=named) as caught:
        read_plan(json.dumps(edited))
    assert "problem(s) in all" in str(caught.value)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place of the tree that lies in a list or names something."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
            if key in ("name", "pool", "cell", "tier", "model", "node_group", "role", "topology"):
                yield (*path, key)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield (*path, position)
            yield from places(item, (*path, position))


@pytest.mark.slow
def test_any_single_edit_is_refused_or_works() -> None:
    """Each item of each list taken out, and each name changed, one at a time: `read_plan` refuses the plan, or
    tables, pictures and differences are made of it."""
    whole, refused, worked = raw(), 0, 0
    for path in places(whole):
        if "defaults" in path or "arguments" in path or "env" in path or "gpus" in path or "layout" in path:
            continue
        edited = copy.deepcopy(whole)
        at: Any = edited
        for part in path[:-1]:
            at = at[part]
        if isinstance(path[-1], int):
            del at[path[-1]]
        else:
            at[path[-1]] = "elsewhere"
        try:
            fleet = read_plan(json.dumps(edited))
        except UnreadablePlan:
            refused += 1
            continue
        worked += 1
        try:
            use(fleet)
        except Exception as error:
            raise AssertionError(f"{path} was read and then broke") from error
    assert refused > 40
    assert worked > 20
