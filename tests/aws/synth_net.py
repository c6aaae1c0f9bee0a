"""Short ways from a construct of the network to the Terraform JSON that it becomes."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inferfab.terraform import TerraformStack, new_app, stack_backend_local
from inferfab.terraform.aws.provider import AwsProvider


def stack_json(build: Callable[[TerraformStack], object], name: str = "net") -> dict[str, Any]:
    """The JSON of a stack with an AWS provider and whatever ``build`` puts into it."""
    with tempfile.TemporaryDirectory() as folder:
        app = new_app(folder)
        stack = TerraformStack(app, name)
        stack_backend_local(stack, "net.tfstate")
        AwsProvider(stack, "aws", region="us-east-1")
        build(stack)
        app.synth()
        written: dict[str, Any] = json.loads((Path(folder) / "stacks" / name / "cdk.tf.json").read_text())
        return written


def resources(document: dict[str, Any], type_: str) -> dict[str, dict[str, Any]]:
    """Resources of a type by their path in the stack, ``network/vpc``, without their ``//`` block."""
    found = {}
    for body in document["resource"].get(type_, {}).values():
        path = body["//"]["metadata"]["path"].partition("/")[2]
        found[path] = {key: value for key, value in body.items() if key != "//"}
    return found


def reference(document: dict[str, Any], type_: str, path: str, attribute: str = "id") -> str:
    """The reference to an attribute of the resource at that path, as it stands in the JSON."""
    for unique, body in document["resource"][type_].items():
        if body["//"]["metadata"]["path"].partition("/")[2] == path:
            return "${" + f"{type_}.{unique}.{attribute}" + "}"
    raise AssertionError(f"no {type_} at {path}")


def rules(document: dict[str, Any], direction: str) -> dict[str, dict[str, Any]]:
    """Rules by their path, in one direction: ``ingress`` or ``egress``."""
    return resources(document, f"aws_vpc_security_group_{direction}_rule")
