"""Builds one stack for Google Cloud and gives back its Terraform JSON, read."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from inferfab.terraform import TerraformStack, new_app, stack_backend_local
from inferfab.terraform.google.provider import GoogleProvider


def stack_json(build: Callable[[TerraformStack], object]) -> Mapping[str, Any]:
    """The stack's Terraform JSON."""
    with TemporaryDirectory() as folder:
        app = new_app(folder)
        stack = TerraformStack(app, "google")
        stack_backend_local(stack, "google.tfstate")
        GoogleProvider(stack, "google", project="example-inference")
        build(stack)
        app.synth()
        document: Mapping[str, Any] = json.loads((Path(folder) / "stacks" / "google" / "cdk.tf.json").read_text())
    return document
