"""Lanes as files: what is waited for, and that a drain takes one at a time."""

import copy
from pathlib import Path
from typing import Any

import yaml

from inferfab.environment.environment import Environment
from inferfab.plan.fleet import plan
from inferfab.render.serving import serving_files

STAGING = Path(__file__).resolve().parents[3] / "environments" / "staging.yaml"


def lane_objects() -> dict[str, Any]:
    tree = copy.deepcopy(yaml.safe_load(STAGING.read_text(encoding="utf-8")))
    tree["pools"]["small-models"] |= {"sharing": "sleep", "instance": "g6e.12xlarge"}
    draft = {"source": "example/head", "revision": "0123456789ab", "weights_gib": 2}
    tree["models"]["qwen3-8b"]["speculative"] = {"method": "eagle3", "draft": draft}
    fleet = plan(Environment.model_validate(tree))
    (text,) = (t for path, t in serving_files(fleet, fleet.cells[0]).items() if path.startswith("lanes/"))
    return {document["kind"]: document for document in yaml.safe_load_all(text) if document}


def test_a_drain_takes_one_lane_at_a_time() -> None:
    """The budget selects what the Deployment does."""
    objects = lane_objects()
    budget, deployment = objects["PodDisruptionBudget"], objects["Deployment"]
    assert budget["spec"] == {"maxUnavailable": 1, "selector": deployment["spec"]["selector"]}
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_a_lane_has_as_long_as_its_requests() -> None:
    """Staging's slower tier lets a request take 3,360 s; then a minute to end its engines."""
    pod = lane_objects()["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == 3360 + 60
    (main,) = pod["containers"]
    assert main["lifecycle"]["preStop"]["exec"]["command"][2] == "drain"


def test_drafts_are_waited_for() -> None:
    """vLLM would look for the draft on the hub, or fail, where its folder is not there yet."""
    (wait,) = (
        c
        for c in lane_objects()["Deployment"]["spec"]["template"]["spec"]["initContainers"]
        if c["name"] == "wait-for-model"
    )
    assert wait["args"][2:] == ["llama-8b-0e9e39f249a1", "qwen3-8b-9c925d64d727", "qwen3-8b-draft-0123456789ab"]
