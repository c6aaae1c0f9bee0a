"""The examples in the docstrings run as they stand, and synthesize."""

import importlib
import inspect
import textwrap
from collections.abc import Iterator

import pytest

from inferfab.terraform import Construct, TerraformStack

from .synth_eks import stack_json

MODULES = (
    "access", "autoscaler_tags", "cluster", "cluster_key", "core_addons", "existing_cluster", "gpu_node_group",
    "hybrid_nodes", "iam", "launch_template", "network_addons", "pod_identity", "system_node_group",
)  # fmt: skip


def constructs() -> Iterator[type]:
    """Every construct of the modules."""
    for name in MODULES:
        module = importlib.import_module(f"inferfab.aws.{name}")
        for _, found in inspect.getmembers(module, inspect.isclass):
            if found.__module__ == module.__name__ and issubclass(found, Construct):
                yield found


@pytest.mark.parametrize("construct", list(constructs()), ids=lambda c: c.__name__)
def test_the_example_of_every_construct_runs(construct: type) -> None:
    """With what a caller would import, and a stack."""
    text = inspect.getdoc(construct) or ""
    assert "Example::\n" in text, f"{construct.__name__} has no example"
    code = textwrap.dedent(text.partition("Example::\n")[2])
    names: dict[str, object] = {}
    for name in (*MODULES, "node_labels"):
        names.update(vars(importlib.import_module(f"inferfab.aws.{name}")))

    def build(stack: TerraformStack) -> None:
        exec(compile(code, construct.__name__, "exec"), {**names, "stack": stack})

    document = stack_json(build)
    assert document.get("resource") or document.get("data")
