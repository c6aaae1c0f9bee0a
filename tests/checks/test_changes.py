"""What a change recreates, between two plans and between two sets of manifests."""

from pathlib import Path

import pytest

from environments import AGGREGATED, DISAGGREGATED, Env, base, cell
from inferfab.checks.changes import check_change
from inferfab.checks.manifests import check_manifests
from inferfab.environment.loading import load_text
from inferfab.findings import Finding
from inferfab.manifests.read import manifests_from_text

DIS, AGG = base(DISAGGREGATED), base(AGGREGATED)
SOUND = Path(__file__).parent.parent / "manifests" / "sound"


def changes(before: Env, after: Env) -> list[Finding]:
    old, loaded = before.check().plan, load_text(after.text)
    new = after.check().plan
    assert old is not None
    assert new is not None
    return check_change(old, loaded, new)[0]


CASES = [
    ("IF-CHG-001", DIS, DIS.set("models.llama-70b.catalog", "llama-3.3-70b-instruct"), "pools.chat"),
    ("IF-CHG-002", AGG, AGG.set("pools.docs.instance", "g6e.24xlarge"), "pools.docs.instance"),
    ("IF-CHG-002", DIS, DIS.set("pools.chat.capacity", {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60001"}),
     "pools.chat.capacity"),
    ("IF-CHG-002", AGG, AGG.set("cells.east-a.zone", "us-east-1c"), "cells.east-a.zone"),
    ("IF-CHG-003", AGG, AGG.set("cells.east-a.network.cidr", "10.99.0.0/16"), "cells.east-a.network"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "before", "after", "at"), CASES)
def test_changes_that_recreate(rule: str, before: Env, after: Env, at: str) -> None:
    """Another model rolls the graph; machine, capacity and zone replace nodes; a range makes the cell anew."""
    found = [f for f in changes(before, after) if f.rule == rule]
    assert at in [f.dotted_path for f in found], [(f.rule, f.dotted_path, f.what) for f in changes(before, after)]
    assert {f.severity for f in found} == {"warning"}


QUIET = [
    (DIS, DIS),
    (DIS, DIS.set("pools.chat.decode.replicas", {"desired": 4})),
    (AGG, AGG.set("models.qwen-8b.context_tokens", 4096)),
    (AGG, AGG.set("cells.east-c", cell("aws", "us-east-1", "us-east-1c", "10.18.0.0/16", "docs"))),
]


@pytest.mark.parametrize(("before", "after"), QUIET)
def test_changes_in_place(before: Env, after: Env) -> None:
    """Nothing, more workers, another flag, a further cell: nothing is recreated."""
    assert changes(before, after) == []


def manifests(before: str, after: str) -> list[Finding]:
    checked = check_manifests(manifests_from_text(after), manifests_from_text(before))
    return [f for f in checked.findings if f.rule.startswith("IF-CHG")]


GRAPH = (SOUND / "06-graph-with-planner.yaml").read_text(encoding="utf-8")
SET = (SOUND / "07-statefulset-arrays.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "old", "new", "says"),
    [
        (GRAPH, "name: decode", "name: decoder", "set of components"),
        (GRAPH, "type: decode", "type: worker", "from type `decode`"),
        (GRAPH, "preferredWeight: 0.9", "preferredWeight: 0.8", "`kvTransferPolicy`"),
        (GRAPH, "replicas: 2\n      scalingAdapter", "replicas: 3\n      scalingAdapter", "scaling adapter"),
        (GRAPH, "type: prefill", "type: prefill\n      multinode: {nodeCount: 2}", "1 to 2 node"),
        (SET, "serviceName: coder", "serviceName: coders", "`serviceName`"),
        (SET, "app: coder", "app: coders", "selector"),
    ],
)
def test_fields_that_the_api_refuses(text: str, old: str, new: str, says: str) -> None:
    """Immutable fields by Dynamo's webhook and by Kubernetes, each an error where it stands."""
    assert old in text
    found = manifests(text, text.replace(old, new))
    assert found
    assert all(f.severity == "error" for f in found)
    assert any(says in f.what for f in found), [f.what for f in found]


def test_other_changes_pass() -> None:
    """Images, flags and new objects are no matter of this."""
    assert manifests(GRAPH, GRAPH.replace("40960", "32768")) == []
    assert manifests("", GRAPH) == []
    assert manifests(SET, SET.replace("replicas: 2", "replicas: 3")) == []
