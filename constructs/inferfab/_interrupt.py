"""Ctrl-C while the rest is imported. The package imports this first; only the program itself is changed by it."""

import signal
import sys
import threading
from pathlib import PurePath


def _is_program() -> bool:
    """The script ``inferfab``, or ``python -m inferfab.cli``, whose name Python knows only later."""
    first = PurePath(sys.argv[0]).name if sys.argv else ""
    return first in ("inferfab", "inferfab.exe") or (first == "-m" and "inferfab.cli" in sys.orig_argv)


def begun() -> None:
    """The command line handles Ctrl-C from here on."""
    if _waiting and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_waiting = (
    _is_program()
    and threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
)
if _waiting:
    # Python's own handler would print where the import was. By the signal's default the shell sees 130, as ever.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
