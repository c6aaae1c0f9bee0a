"""Reading files that somebody names: with a bound, so that a device or a wrong file is an error and not the memory."""

import errno
from pathlib import Path

MIB = 1024 * 1024
MOST_BYTES = 64 * MIB
"""Of what inferfab writes itself: a plan of 400 pools is about 5 MiB."""
MOST_PLAN_BYTES = 1024 * MIB
"""Of what other tools write: Terraform plans, and the price list of a region (400 MiB)."""


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The whole file.

    :raises OSError: if it cannot be read, or is larger than ``most``.
    """
    with path.open("rb") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"is larger than {most // MIB:,} MiB, so it is something else", str(path))
    return data


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The same in UTF-8, line ends as :meth:`pathlib.Path.read_text` has them.

    :raises OSError: as :func:`read_bytes`.
    :raises UnicodeDecodeError: if it is not UTF-8.
    """
    return read_bytes(path, most).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
