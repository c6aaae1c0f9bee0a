"""The serving chart: the same objects as the plain files, but numbers that others own stay as they are."""

import random
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

from inferfab.environment.loading import load
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.render.chart import chart_folder
from inferfab.render.release import MOST_BYTES, ReleaseTooLargeError, release_bytes, require_fitting
from inferfab.render.serving import chart_files, serving_files
from programs import tool

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENTS = ("dev", "staging", "prod", "prod-gcp")


@cache
def fleet(name: str) -> FleetPlan:
    environment = load(ROOT / "environments" / f"{name}.yaml").environment
    assert environment is not None
    return plan(environment)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_only_scaled_components_keep_their_number(name: str) -> None:
    """One placeholder for each component that a planner or an autoscaler scales, and none else."""
    for cell in fleet(name).cells:
        files, live = chart_files(fleet(name), cell)
        scaled = [(g.name, c.name) for g in cell.serving.graphs for c in g.components if c.scaled]
        assert sorted(live) == sorted(f"live-replicas-of-{graph}-{part}" for graph, part in scaled)
        text = "".join(files.values())
        assert all(len(re.findall(rf"replicas: {placeholder}(?: |$)", text, re.M)) == 1 for placeholder in live)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_helm_makes_the_plain_files_of_the_chart(name: str, tmp_path: Path) -> None:
    """Helm itself, in front of no cluster: `lookup` finds nothing, so the planned numbers stand."""
    helm = tool("helm")
    for cell in fleet(name).cells:
        templates, live = chart_files(fleet(name), cell)
        for path, text in chart_folder("serving", "d", templates, live)[0].items():
            file = tmp_path / cell.name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        made = subprocess.run(
            [helm, "template", "serving", str(tmp_path / cell.name)], capture_output=True, text=True, check=True
        ).stdout
        plain = [d for text in serving_files(fleet(name), cell).values() for d in yaml.safe_load_all(text) if d]
        assert in_order(d for d in yaml.safe_load_all(made) if d) == in_order(plain)


def in_order(documents):  # type: ignore[no-untyped-def]
    return sorted(documents, key=lambda d: (d["kind"], d["metadata"]["name"]))


def test_a_release_that_fits_no_secret_is_refused() -> None:
    """Letters at random, over 5 bits each, as template and in the manifest: 1 MiB of them twice, and Base64 on top."""
    letters = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789+/", k=MOST_BYTES))
    with pytest.raises(
        ReleaseTooLargeError, match=r"^use1-a: the serving release takes 2,\d{3},\d{3} bytes"
    ) as refused:
        require_fitting("use1-a", "serving", {"a.yaml": letters})
    assert "move some pools to another cell" in str(refused.value)
    assert release_bytes({"a.yaml": "x: 1\n" * 100_000}) < 20_000, "what repeats is pressed"
