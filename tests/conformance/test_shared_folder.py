"""The folder beside the repository: skipped where it is absent, missed loudly where it is named."""

from pathlib import Path

import pytest

from . import shared_folder


def test_absent_is_skipped_with_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No folder and no name."""
    monkeypatch.delenv(shared_folder.VARIABLE, raising=False)
    monkeypatch.setattr(shared_folder, "BESIDE", tmp_path / "nowhere")
    with pytest.raises(pytest.skip.Exception, match=shared_folder.VARIABLE):
        shared_folder.shared("data/x")


def test_named_must_be_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A named folder without the file fails."""
    monkeypatch.setenv(shared_folder.VARIABLE, str(tmp_path))
    with pytest.raises(AssertionError, match="has no data/x"):
        shared_folder.shared("data/x")
    (tmp_path / "x").write_text("")
    assert shared_folder.shared("x") == tmp_path / "x"
