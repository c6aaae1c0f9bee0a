"""Whatever goes wrong ends in one message, never in a traceback."""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import typer

from inferfab._interrupt import begun
from inferfab.cli.inputs import begin


def guarded(run: Callable[[], object]) -> None:
    """Run a command line; errors become a message on stderr and exit code 1."""
    # Python has None here when the stream was closed (`>&-`).
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until the end
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows `?` instead of ending the program.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        begun()
        begin()
        run()
    except BrokenPipeError:
        # Somebody piped us into `head`; the rest is not wanted.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as error:
        if os.environ.get("INFERFAB_DEBUG"):
            raise
        _apologize(error)
        raise SystemExit(1) from None


def _apologize(error: Exception) -> None:
    from inferfab.catalog.facts import BadFactFile
    from inferfab.cli.output import Refused
    from inferfab.engine_error import EngineError
    from inferfab.render.text.findings import printable
    from inferfab.synthesis import SynthesisError

    if isinstance(error, Refused | EngineError | SynthesisError):
        message = f"inferfab: {error}"
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        message = f"inferfab: {where}{error.strerror or error}"
    elif isinstance(error, BadFactFile):
        message = f"inferfab: a data file of this installation is broken; reinstall inferfab\n{error}"
    else:
        message = (
            f"inferfab: this is a fault of inferfab, not of your file: {type(error).__name__}: {error}\n"
            "Please report it with the file; INFERFAB_DEBUG=1 shows where it happened."
        )
    with contextlib.suppress(OSError):  # stderr may be as full as stdout
        typer.echo(printable(message), err=True)
