"""Builds one stack and gives back its Terraform JSON, read."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from inferfab.terraform import TerraformStack, new_app, stack_backend_local
from inferfab.terraform.aws.provider import AwsProvider

ACCOUNT = {"account_id": "111122223333", "region": "us-east-1"}


def write_stack(folder: Path, build: Callable[[TerraformStack], object]) -> Path:
    """The ``cdk.tf.json`` of a stack that holds what ``build`` puts in."""
    app = new_app(str(folder))
    stack = TerraformStack(app, "global")
    stack_backend_local(stack, "global.tfstate")
    AwsProvider(stack, "aws", region="us-east-1")
    build(stack)
    app.synth()
    return folder / "stacks" / "global" / "cdk.tf.json"


def stack_json(build: Callable[[TerraformStack], object]) -> Mapping[str, Any]:
    """The stack's Terraform JSON."""
    with TemporaryDirectory() as folder:
        document: Mapping[str, Any] = json.loads(write_stack(Path(folder), build).read_text())
    return document


def resources(document: Mapping[str, Any], type_: str) -> dict[str, dict[str, Any]]:
    """Resources of one type by the path of their construct, without the stack's name."""
    found = document.get("resource", {}).get(type_, {})
    return {body["//"]["metadata"]["path"].removeprefix("global/"): body for body in found.values()}


def only(document: Mapping[str, Any], type_: str) -> dict[str, Any]:
    """The one resource of its type."""
    (resource,) = resources(document, type_).values()
    return resource


def address(body: Mapping[str, Any], type_: str) -> str:
    """How other resources refer to it."""
    return f"{type_}.{body['//']['metadata']['uniqueId']}"


def statements(policy: str) -> dict[str, dict[str, Any]]:
    """Statements of a policy document by their id."""
    return {statement["Sid"]: statement for statement in json.loads(policy)["Statement"]}
