"""The examples in the docstrings of the network's constructs run, and synthesize."""

import inspect
import textwrap

import pytest

from aws.synth_net import stack_json
from inferfab.aws import (
    endpoints,
    existing_network,
    flow_logs,
    inference_security_group,
    load_balancer_security_group,
    nat,
    network,
    subnets,
)
from inferfab.terraform import Construct

MODULES = (
    endpoints, existing_network, flow_logs, inference_security_group, load_balancer_security_group, nat, network,
    subnets,
)  # fmt: skip
CONSTRUCTS = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, Construct) and value.__module__ == module.__name__
]


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda construct: construct.__name__)
def test_the_example_runs(construct: type) -> None:
    """As it stands, with a stack that is there beforehand."""
    _, _, example = (inspect.getdoc(construct) or "").partition("Example::")
    assert example, f"{construct.__name__} has no example"
    stack_json(lambda stack: exec(textwrap.dedent(example), {"stack": stack}))


def test_every_module_has_one_construct() -> None:
    """So that no example is missed."""
    assert len(CONSTRUCTS) == len(MODULES)
