"""Helm writes what we wrote: alerts and legends are full of braces that Helm would read as its own."""

import subprocess
from pathlib import Path

import pytest
import yaml

from inferfab.render.chart import chart_folder
from inferfab.render.releases import cell_releases
from programs import tool
from render.observability.rules import fleet


@pytest.mark.parametrize("name", ("observability", "dashboards"))
def test_helm_leaves_braces_alone(name: str, tmp_path: Path) -> None:
    helm = tool("helm")
    one = fleet("prod-hybrid")
    release = next(r for r in cell_releases(one, one.cells[0]) if r.name == name)
    files, _ = chart_folder(release.name, release.description, release.templates, release.live)
    for path, text in files.items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    made = subprocess.run([helm, "template", "x", str(tmp_path)], capture_output=True, text=True, check=True).stdout
    theirs = {d["metadata"]["name"]: d for d in yaml.safe_load_all(made) if d}
    ours = {d["metadata"]["name"]: d for t in release.files.values() for d in yaml.safe_load_all(t) if d}
    assert theirs == ours
    assert "{{" in str(ours)


def test_they_stand_before_what_serves() -> None:
    """Monitors are there when the first planner looks."""
    one = fleet("prod")
    assert [r.name for r in cell_releases(one, one.cells[0])][:2] == ["observability", "dashboards"]
