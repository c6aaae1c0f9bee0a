"""The command line in this process."""

from collections.abc import Callable

import pytest

from inferfab.cli.main import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, stdout and stderr of a command."""

    def of(*argv: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["inferfab", *argv])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return of
