"""Programs of others that check what we write."""

import os
import shutil

import pytest


def tool(name: str) -> str:
    """Named by a variable (HELM, PROMTOOL, LLAMA_SWAP) or on the PATH; else the test skips."""
    variable = name.upper().replace("-", "_")
    found = shutil.which(os.environ.get(variable, name))
    if found is None:
        pytest.skip(f"{name} is not on this machine: put it on the PATH or name it in {variable}")
    return found
