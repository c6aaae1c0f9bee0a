"""The command line in this process."""

from collections.abc import Callable

import pytest

from inferfab.cli.main import main

Run = Callable[..., tuple[int, str, str]]


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *first: str) -> Run:
    """Exit code, stdout and stderr of ``inferfab``, or of one of its commands with its first words."""

    def of(*argv: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["inferfab", *first, *argv])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return of
