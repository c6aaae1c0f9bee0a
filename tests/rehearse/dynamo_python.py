"""The python that has Dynamo, or a skip that says how to get it."""

import os

import pytest

from inferfab.extras import DYNAMO, ExtraMissing, python_of


def dynamo_python() -> str:
    """Skips where there is none; fails where one is named that is not there."""
    try:
        return python_of(DYNAMO)
    except ExtraMissing as missing:
        if os.environ.get(DYNAMO.variable):
            raise
        pytest.skip(str(missing))
