"""The manifest of a model: SHA-256 of each file, as ``sha256sum`` writes and checks it.

What engines do not read is not in it, so that a folder from the hub's command line and one that a node fetched have
the same manifest.
"""

import fnmatch
import hashlib
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

    :raises UnusableFolder: if there is no ``config.json``, a name cannot stand in a line, or a file cannot be read.
    """
    if not (folder / "config.json").is_file():
        raise UnusableFolder(f"{folder} holds no config.json: it is no model")
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and listed(path.relative_to(folder).as_posix())
    )
    odd = next((n for n in names if "\n" in n or "\\" in n), None)
    if odd is not None:
        raise UnusableFolder(f"{folder} holds a file whose name cannot stand in a manifest: {odd!r}")
    try:
        return "".join(f"{_sha256(folder / name)}  {name}\n" for name in names)
    except OSError as error:
        raise UnusableFolder(f"cannot read {error.filename}: {error.strerror or error}") from error


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
