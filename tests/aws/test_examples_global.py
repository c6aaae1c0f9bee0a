"""The example in each construct's docstring runs and synthesizes."""

import importlib
import inspect
import re
import textwrap
from typing import Any

import pytest

from inferfab.terraform import Construct, TerraformStack

from .synth_global import stack_json

MODULES = (
    "alerts", "budget", "capacity_health", "deploy_role", "encryption_key", "hosted_names", "image_cache",
    "model_reader", "model_store", "name_group", "private_bucket", "registry", "secrets", "state_bucket",
)  # fmt: skip


def constructs_of(module: str) -> list[type[Any]]:
    """The constructs that a module defines."""
    loaded = importlib.import_module(f"inferfab.aws.{module}")
    return [
        value
        for value in vars(loaded).values()
        if inspect.isclass(value) and issubclass(value, Construct) and value.__module__ == loaded.__name__
    ]


@pytest.mark.parametrize("module", MODULES)
def test_the_example_synthesizes(module: str) -> None:
    """An example is code that a reader can copy: it makes resources in a stack named ``stack``."""
    (construct,) = constructs_of(module)
    found = re.search(r"Example::\n\n(.*)\Z", inspect.getdoc(construct) or "", re.DOTALL)
    assert found, f"{construct.__name__} has no example"
    code = textwrap.dedent(found[1])

    def build(stack: TerraformStack) -> None:
        exec(compile(code, f"example of {construct.__name__}", "exec"), {"stack": stack})

    assert stack_json(build)["resource"]
