"""The example in each construct's docstring runs and synthesizes."""

import importlib
import inspect
import re
import textwrap

import pytest

from inferfab.terraform import Construct, TerraformStack

from .synth_gcp import stack_json

MODULES = (
    "cluster", "cluster_key", "gpu_node_pool", "model_reader", "model_store", "network", "node_account",
    "rdma_network", "system_node_pool",
)  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_the_example_synthesizes(module: str) -> None:
    """An example is code that a reader can copy: it makes resources in a stack named ``stack``."""
    loaded = importlib.import_module(f"inferfab.gcp.{module}")
    (construct,) = (
        value for value in vars(loaded).values()
        if inspect.isclass(value) and issubclass(value, Construct) and value.__module__ == loaded.__name__
    )  # fmt: skip
    found = re.search(r"Example::\n\n(.*)\Z", inspect.getdoc(construct) or "", re.DOTALL)
    assert found, f"{construct.__name__} has no example"
    code = textwrap.dedent(found[1])

    def build(stack: TerraformStack) -> None:
        exec(compile(code, f"example of {construct.__name__}", "exec"), {"stack": stack})

    assert stack_json(build)["resource"]
