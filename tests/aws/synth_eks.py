"""Short ways from a cluster's constructs to the Terraform JSON that they become."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from inferfab.terraform import TerraformStack, new_app, stack_backend_local
from inferfab.terraform.aws.provider import AwsProvider

STACK = "eks"
Document = Mapping[str, Any]


def stack_text(build: Callable[[TerraformStack], object]) -> str:
    """The stack's file as it is written."""
    with TemporaryDirectory() as folder:
        app = new_app(folder)
        stack = TerraformStack(app, STACK)
        stack_backend_local(stack, "eks.tfstate")
        AwsProvider(stack, "aws", region="us-east-1")
        build(stack)
        app.synth()
        return (Path(folder) / "stacks" / STACK / "cdk.tf.json").read_text()


def stack_json(build: Callable[[TerraformStack], object]) -> Document:
    document: Document = json.loads(stack_text(build))
    return document


def resources(document: Document, type_: str, kind: str = "resource") -> dict[str, dict[str, Any]]:
    """Resources of a type by the path of their construct in the stack."""
    found = document.get(kind, {}).get(type_, {})
    return {body["//"]["metadata"]["path"].removeprefix(f"{STACK}/"): body for body in found.values()}


def only(document: Document, type_: str) -> dict[str, Any]:
    """The one resource of its type."""
    (body,) = resources(document, type_).values()
    return body


def address(document: Document, type_: str, path: str) -> str:
    """Address of the resource at a path."""
    return f"{type_}.{resources(document, type_)[path]['//']['metadata']['uniqueId']}"


def statements(policy: str) -> dict[str, dict[str, Any]]:
    """Statements of a policy by their id."""
    return {statement["Sid"]: statement for statement in json.loads(policy)["Statement"]}
