"""A next engine pair is an entry of the catalog and, where the syntax changed, one template."""

from pathlib import Path

import pytest
import yaml
from jinja2 import ChoiceLoader, DictLoader

from inferfab.catalog import engines
from inferfab.environment.loading import load_text
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.render.serving import serving_files
from inferfab.render.templates import templates

ROOT = Path(__file__).resolve().parents[3]
NEXT_POLICY = "# the next release's syntax\nrouting:\n  mode: {{ policy.queue_policy | default('fcfs') | quoted }}\n"


@pytest.fixture
def next_pair(monkeypatch: pytest.MonkeyPatch) -> str:
    """A pair that does not exist yet: only the catalog and one template know it."""
    (pair,) = engines.engine_pairs().values()
    following = pair.model_copy(update={"dynamo": "9.0.0", "variant": "next"})
    monkeypatch.setitem(engines.engine_pairs(), "9.0.0", following)
    environment = templates()
    extra = DictLoader({"dynamo/next/router_policy.yaml.j2": NEXT_POLICY})
    assert environment.loader is not None
    monkeypatch.setattr(environment, "loader", ChoiceLoader([extra, environment.loader]))
    return "9.0.0"


def fleet_of(name: str, dynamo: str) -> FleetPlan:
    text = (ROOT / "environments" / f"{name}.yaml").read_text(encoding="utf-8").replace("1.6.1", dynamo)
    environment = load_text(text).environment
    assert environment is not None
    return plan(environment)


def test_images_follow_the_catalog(next_pair: str) -> None:
    """Every image of the engine has the new tag, and none the old one."""
    fleet = fleet_of("dev", next_pair)
    text = "".join(serving_files(fleet, fleet.cells[0]).values())
    assert "vllm-runtime:9.0.0" in text and "dynamo-frontend:9.0.0" in text and "1.6.1" not in text


def test_only_the_changed_template_is_another(next_pair: str) -> None:
    """The variant's template takes its place; all others are shared."""
    fleet = fleet_of("dev", next_pair)
    (graph,) = (text for path, text in serving_files(fleet, fleet.cells[0]).items() if path.startswith("graphs/"))
    kinds = {document["kind"]: document for document in yaml.safe_load_all(graph)}
    assert set(kinds) == {"DynamoGraphDeployment", "ConfigMap"}
    policy = yaml.safe_load(kinds["ConfigMap"]["data"]["router-policy.yaml"])
    assert policy == {"routing": {"mode": "fcfs"}}


def test_pools_behind_a_router_get_new_graphs(next_pair: str) -> None:
    """Their workers share one Dynamo namespace, and KV cache does not move between versions: old and new serve side by
    side under one Service. Elsewhere the operator tells old from new, and rolls the graph in place.
    """
    old, new = fleet_of("prod", "1.6.1").cells[0].serving, fleet_of("prod", next_pair).cells[0].serving
    kept = {g.name for g in old.graphs} & {g.name for g in new.graphs}
    behind = {g.name for g in old.graphs if g.global_router or g.entry is None}
    assert behind and not behind & kept
    assert kept == {g.name for g in old.graphs} - behind
    assert [e.service for e in old.entries] == [e.service for e in new.entries]
