"""What the documentation shows of real output is what the commands print."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("update_docs", ROOT / "tools" / "update_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["README.md", "docs/prod.svg", "environments/environment.schema.json"])
def test_documents_are_current(name: str) -> None:
    """`python tools/update_docs.py` would change nothing."""
    documents = _tool().documents()
    path = ROOT / name
    assert path.read_text(encoding="utf-8") == documents[path]


def test_readme_shows_output() -> None:
    """The README's excerpts are found by the tool: three of them, none empty."""
    found = list(_tool().EXCERPT.finditer((ROOT / "README.md").read_text(encoding="utf-8")))
    assert [m["command"] for m in found] == ["synth prod", "plan prod", "check docs/examples/broken.yaml"]
    assert all(m[0].count("\n") > 10 for m in found)


def test_the_top_level_folder_does_not_shadow_constructs() -> None:
    """With an `__init__.py`, `constructs/` would hide PyPI's `constructs`, and cdktf with it."""
    assert not (ROOT / "constructs" / "__init__.py").exists()
