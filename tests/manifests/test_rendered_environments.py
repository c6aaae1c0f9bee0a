"""What `inferfab render` writes is sound to the rules that judge manifests of anybody."""

from pathlib import Path

import pytest

from inferfab.checks.check import check
from inferfab.checks.manifests import check_manifests
from inferfab.manifests.read import read_manifests
from inferfab.render.rendering import rendered_files

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("name", ["dev", "staging", "prod", "prod-gcp"])
def test_rendered_environments_are_sound(name: str, tmp_path: Path) -> None:
    """Graphs, policies and planners of each cell, without a finding that is not wanted."""
    fleet = check(ROOT / "environments" / f"{name}.yaml").plan
    assert fleet is not None
    for path, text in rendered_files(fleet).items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for cell in fleet.cells:
        checked = check_manifests(read_manifests([tmp_path / cell.name / "serving"]))
        found = {(f.rule, f.severity) for f in checked.findings if f.severity != "info"}
        shown = [f"{f.location} {f.rule} {f.what}" for f in checked.findings if f.severity != "info"]
        assert not found, shown
        assert checked.judged.get("dynamo.vllm", 0) > 0
