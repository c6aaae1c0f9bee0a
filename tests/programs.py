"""Programs of others that check what we write."""

import os
import shutil
from pathlib import Path

import pytest


def tool(name: str) -> str:
    """Named by a variable (HELM, PROMTOOL, LLAMA_SWAP) or on the PATH; else the test skips."""
    variable = name.upper().replace("-", "_")
    found = shutil.which(os.environ.get(variable, name))
    if found is None:
        pytest.skip(f"{name} is not on this machine: put it on the PATH or name it in {variable}")
    return found


def named_or_own(variable: str, own: Path, missing: str) -> str:
    """What a variable names, which has to be there, or the repository's own; else the test skips."""
    named = os.environ.get(variable)
    if named:
        found = shutil.which(named)
        assert found, f"{variable}={named} is not a program that can run"
        return found
    if not own.is_file():
        pytest.skip(f"{missing}, or set {variable}")
    return str(own)
