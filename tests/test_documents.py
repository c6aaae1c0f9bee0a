"""What the documentation shows of real output is what the commands print."""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from inferfab import check, load_text

ROOT = Path(__file__).parent.parent


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("update_docs", ROOT / "tools" / "update_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _documents() -> dict[Path, str]:
    return dict(_tool().documents())


CURRENT = (
    "README.md",
    "docs/environment.md",
    "docs/failure-modes.md",
    "docs/manifests.md",
    "docs/models.md",
    "docs/prod.svg",
    "docs/review.md",
    "docs/rules.md",
    "environments/environment.schema.json",
)


@pytest.mark.slow  # the commands themselves, each a process
@pytest.mark.parametrize("name", CURRENT)
def test_documents_are_current(name: str) -> None:
    """`python tools/update_docs.py` would change nothing."""
    documents = _documents()
    path = ROOT / name
    assert path.read_text(encoding="utf-8") == documents[path]


def test_readme_shows_output() -> None:
    """The README's excerpts are found by the tool: four of them, none empty."""
    found = list(_tool().EXCERPT.finditer((ROOT / "README.md").read_text(encoding="utf-8")))
    assert [m["command"] for m in found] == [
        "synth prod",
        "render prod --out build/prod",
        "plan prod",
        "check docs/examples/broken.yaml",
        "check --manifests docs/examples/pair.yaml",
    ]
    assert all(m[0].count("\n") > 5 for m in found)


def test_the_top_level_folder_does_not_shadow_constructs() -> None:
    """With an `__init__.py`, `constructs/` would hide PyPI's `constructs`, and cdktf with it."""
    assert not (ROOT / "constructs" / "__init__.py").exists()


def _block(language: str) -> str:
    """The README's first fenced block of a language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.split(f"```{language}\n", 1)[1].split("```", 1)[0]


def test_the_readme_environment_passes_check() -> None:
    """Who pastes the README's environment gets a plan."""
    checked = check(load_text(_block("yaml")))
    assert [f for f in checked.findings if f.severity != "info"] == []
    assert checked.plan is not None


def test_the_readme_python_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Who pastes the README's Python gets the number of GPUs last."""
    monkeypatch.chdir(ROOT)
    exec(_block("python"), {})
    assert capsys.readouterr().out.splitlines()[-1] == "200"
