"""NumPy's archive format without NumPy: written for the simulator, read from Dynamo's profiler."""

import ast
import io
import math
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_MAGIC = b"\x93NUMPY"
_READS = {"<f8": "d", "<f4": "f", "<i8": "q", "<i4": "i"}
_MOST_VALUES = 10_000_000


class BadArchive(Exception):
    """A file is no archive of plain numbers; the message says why."""


def write_npz(path: Path, arrays: Mapping[str, Sequence[float] | Sequence[Sequence[float]]]) -> None:
    """Write arrays of one or two dimensions, in 64-bit floats."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, values in arrays.items():
            archive.writestr(f"{name}.npy", _npy(values))


def _npy(values: Sequence[float] | Sequence[Sequence[float]]) -> bytes:
    rows = [list(v) if isinstance(v, Sequence) else [v] for v in values]
    flat = [float(v) for row in rows for v in row]
    two = bool(values) and isinstance(values[0], Sequence)
    shape = (len(rows), len(rows[0])) if two else (len(rows),)
    header = repr({"descr": "<f8", "fortran_order": False, "shape": shape})
    # Data begins at a multiple of 64.
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return (
        _MAGIC + b"\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(flat)}d", *flat)
    )


def read_npz(path: Path) -> dict[str, list[float]]:
    """Arrays, flattened.

    :raises BadArchive: if it is no such archive.
    """
    found = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if archive.getinfo(name).file_size > 8 * _MOST_VALUES:
                    raise BadArchive(f"{path}: {name} is larger than any profile")
                found[name.removesuffix(".npy")] = _values(archive.read(name), f"{path}: {name}")
    except (OSError, zipfile.BadZipFile, EOFError) as error:
        raise BadArchive(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return found


def _values(raw: bytes, where: str) -> list[float]:
    stream = io.BytesIO(raw)
    try:
        if stream.read(6) != _MAGIC:
            raise BadArchive(f"{where} is not a NumPy array")
        major = stream.read(2)[0]
        (size,) = struct.unpack("<H", stream.read(2)) if major == 1 else struct.unpack("<I", stream.read(4))
        header = ast.literal_eval(stream.read(size).decode("latin-1"))
        kind, count = _READS[header["descr"]], math.prod(header["shape"])
        return [float(v) for v in struct.unpack(f"<{count}{kind}", stream.read(count * struct.calcsize(f"<{kind}")))]
    except (struct.error, KeyError, ValueError, SyntaxError, IndexError, TypeError) as error:
        raise BadArchive(f"{where} is not an array of plain numbers") from error
