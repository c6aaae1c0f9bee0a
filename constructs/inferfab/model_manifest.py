"""The manifest of a model: SHA-256 of each file, as ``sha256sum`` writes and checks it.

What engines do not read is not in it, so that a folder from the hub's command line and one that a node fetched have
the same manifest.
"""

import fnmatch
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

MANIFEST = "MANIFEST.sha256"
NOT_READ = ("original/*", "*.pth", "*.gguf", "*.onnx")
"""Of a repository at the hub: other formats of the same weights."""
NOT_OURS = (".*", "README*", "LICENSE*", "USE_POLICY*", MANIFEST)
"""Marks, caches and texts at the top, which no engine reads. The hub's command line leaves `.cache` and
`.gitattributes`.
"""
_BLOCK = 1 << 22


class UnusableFolder(Exception):
    """A folder holds no model, or cannot be read; the message says which."""


def manifest_of(folder: Path) -> str:
    """Lines in order of path: digest, two spaces, path.

    :raises UnusableFolder: if there is no ``config.json``, a name cannot stand in a line, a file cannot be read, or
        something is there that is no file: a manifest never leaves out what an engine might read.
    """
    if not folder.is_dir():
        raise UnusableFolder(f"there is no folder {folder}")
    if not (folder / "config.json").is_file():
        raise UnusableFolder(f"{folder} holds no config.json: it is no model")
    names = sorted(_names(folder))
    odd = next((n for n in names if "\n" in n or "\r" in n or "\\" in n or not _is_text(n)), None)
    if odd is not None:
        raise UnusableFolder(f"{folder} holds a file whose name cannot stand in a manifest: {odd!r}")
    try:
        return "".join(f"{_sha256(folder / name)}  {name}\n" for name in names)
    except OSError as error:
        raise UnusableFolder(f"cannot read {error.filename}: {error.strerror or error}") from error


def _names(folder: Path) -> Iterator[str]:
    def stop(error: OSError) -> None:
        raise UnusableFolder(f"cannot read {error.filename}: {error.strerror or error}") from error

    for where, folders, files in os.walk(folder, onerror=stop):
        at = Path(where).relative_to(folder)
        for name in sorted(folders):
            path = (at / name).as_posix()
            # Of a folder nobody reads, nothing is asked.
            if not listed(f"{path}/x"):
                folders.remove(name)
            elif (folder / path).is_symlink():
                raise UnusableFolder(f"{folder / path} is a link to a folder: put the files themselves there")
        for name in files:
            path = (at / name).as_posix()
            if not listed(path):
                continue
            if not (folder / path).is_file():
                dangling = (folder / path).is_symlink() and not (folder / path).exists()
                kind = "a link that leads nowhere: the model is incomplete" if dangling else "no file"
                raise UnusableFolder(f"{folder / path} is {kind}")
            yield path


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8 come as lone surrogates
        return False
    return True


_LINE = re.compile(r"[0-9a-f]{64} [ *].+")


def is_manifest(text: str) -> bool:
    """Whether it is a manifest of SHA-256 sums, and nothing else."""
    return all(_LINE.fullmatch(line) for line in text.splitlines())


def listed(name: str) -> bool:
    """Whether a file is part of the model."""
    first = name.split("/", 1)[0]
    return not any(fnmatch.fnmatchcase(first, p) for p in NOT_OURS) and not any(
        fnmatch.fnmatchcase(name, p) for p in NOT_READ
    )


def digest_of(manifest: str) -> str:
    """SHA-256 of the manifest, for ``models.<name>.manifest_sha256``."""
    return hashlib.sha256(manifest.encode()).hexdigest()


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
