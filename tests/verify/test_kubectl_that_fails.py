"""kubectl that is not there, does not work or answers with junk: each says so, and none is a fault of ours."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from inferfab.cli.main import main

ENVIRONMENT = str(Path(__file__).parents[2] / "environments" / "dev.yaml")
Verify = Callable[..., tuple[int, str]]


@pytest.fixture
def verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Verify:
    """Exit code and all output of a verify with this kubectl (None: none at all)."""
    (tmp_path / "bin").mkdir()

    def of(script: str | None, *argv: str) -> tuple[int, str]:
        if script is not None:
            kubectl = tmp_path / "bin" / "kubectl"
            kubectl.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            kubectl.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}" + (":/usr/bin:/bin" if script is not None else ""))
        monkeypatch.setattr("sys.argv", ["inferfab", "verify", ENVIRONMENT, "--no-requests", *argv])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, " ".join((out + err).split())

    return of


def test_each_reason_has_its_own_words(verify: Verify, tmp_path: Path) -> None:
    """No kubectl, no kubeconfig, one of other clusters, two that fit, and one that kubectl cannot read."""
    other = tmp_path / "other"
    other.write_text("", encoding="utf-8")
    for script, argv, said in (
        (None, (), "there is no kubectl on this machine"),
        ("echo a", ("--kubeconfig", "/nonexistent"), "there is no kubeconfig /nonexistent"),
        ("echo a; echo b", ("--kubeconfig", str(other)), "none of the 2 contexts of"),
        ("echo dev-use1-a; echo x_dev-use1-a", (), "2 of the 2 contexts of kubectl have its name"),
        ("echo 'error: yaml: line 3' >&2; exit 1", (), "cannot list its contexts: error: yaml: line 3"),
        (r"printf '\377\n'", (), "none of the 1 contexts"),
    ):
        code, text = verify(script, *argv)
        assert code == 1 and said in text, (said, text)
        assert "fault of inferfab" not in text


@pytest.mark.parametrize(
    "answer",
    [
        {"items": 5},
        {"items": [1]},
        {"items": [{"metadata": {"name": "n", "labels": None}}]},
        {"items": [{"metadata": {"name": "n", "labels": []}}]},
        {"items": [{"metadata": {"name": "n"}, "status": {"conditions": 7}, "spec": {"replicas": 2}}]},
        {"items": [{"metadata": {"name": "n"}, "spec": {"replicas": 2, "template": None}}]},
        {"items": [{}]},
        {},
        [],
        None,
    ],
)
def test_junk_is_said_to_be_junk(verify: Verify, answer: object) -> None:
    code, text = verify(f"cat <<'END'\n{json.dumps(answer)}\nEND", "--context", "x")
    assert code == 1 and "fault of inferfab" not in text and "IF-VFY" in text


def test_bytes_that_are_no_text(verify: Verify) -> None:
    code, text = verify(r"printf '\377'", "--context", "x")
    assert code == 1 and "is no list of objects" in text
