"""The folder of facts, CRDs and class lists beside the repository; the product never reads it, tests may.

``INFERFAB_SHARED`` names it where it is not ``../shared``. Where it is named, a test fails rather than skips.
"""

import os
from pathlib import Path

import pytest

VARIABLE = "INFERFAB_SHARED"
BESIDE = Path(__file__).resolve().parents[3] / "shared"


def shared(relative: str) -> Path:
    """A file of the shared folder; skips the test where the folder is absent."""
    named = os.environ.get(VARIABLE)
    folder = Path(named) if named else BESIDE
    path = folder / relative
    if named or folder.is_dir():
        assert path.is_file(), f"{folder} has no {relative}"
        return path
    pytest.skip(f"no ../shared beside the repository: set {VARIABLE} to the folder that has {relative}")
