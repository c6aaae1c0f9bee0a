"""Writes one stack with every resource and data source that has a class, on the engine INFERFAB_ENGINE names.

    python one_of_each.py OUTDIR required|all

``required`` gives each only what it must have, ``all`` every argument down to the innermost block.
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin, is_typeddict

import inferfab.terraform
from inferfab.terraform import DataSource, Provider, Resource, TerraformStack, new_app, stack_backend_s3
from inferfab.terraform.arguments import argument_types

META = {"depends_on", "provider", "lifecycle", "moved_from"}
"""What every resource has beside its own arguments."""


def generated(kind: type) -> Iterator[type[Any]]:
    """Every generated class of that kind, in the order of their modules and names."""
    root = inferfab.terraform
    for info in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
        module = importlib.import_module(info.name)
        for _, value in sorted(vars(module).items()):
            ours = isinstance(value, type) and issubclass(value, kind) and value.__module__ == info.name
            if ours and hasattr(value, "ARGUMENTS"):
                yield value


def own_arguments(shape: Any) -> dict[str, Any]:
    """Name and type of what a resource, or a block in one, has of its own."""
    types = dict(argument_types(shape))
    return {name: type_ for name, type_ in types.items() if "depends_on" not in types or name not in META}


def sample(shape: Any, *, everything: bool) -> Any:
    """A value of the type: a block with what it must have, or with everything."""
    if is_typeddict(shape):
        types = own_arguments(shape)
        names = [name for name in types if everything or name in shape.__required_keys__]
        return {name: sample(types[name], everything=everything) for name in names}
    if get_origin(shape) is Sequence:
        return [sample(get_args(shape)[0], everything=everything)]
    if get_origin(shape) is Mapping:
        return {"Key_One": sample(get_args(shape)[1], everything=everything)}
    return {str: "text", bool: True, float: 1, object: "anything"}[shape]


def write(outdir: Path, *, everything: bool) -> Path:
    app = new_app(str(outdir))
    stack = TerraformStack(app, "one")
    stack_backend_s3(stack, bucket="state", key="one.tfstate", region="eu-west-1", kms_key_id="alias/state")
    for provider in generated(Provider):
        provider(stack, provider.__name__, **sample(provider.ARGUMENTS, everything=everything))
    for kind in (Resource, DataSource):
        for one in generated(kind):
            one(stack, one.__name__, **sample(one.ARGUMENTS, everything=everything))
    app.synth()
    return outdir / "stacks" / "one" / "cdk.tf.json"


if __name__ == "__main__":
    write(Path(sys.argv[1]), everything=sys.argv[2] == "all")
