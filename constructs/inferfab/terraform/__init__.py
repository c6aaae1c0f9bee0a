"""The one seam to Terraform: the engine's core classes, the base of the resource classes, and the classes.

Importing this starts jsii and its Node process; nothing else in inferfab does. The generated classes are in
``inferfab.terraform.aws`` (a module a service), ``inferfab.terraform.helm`` and ``inferfab.terraform.builtin``::

    from inferfab.terraform import Lifecycle, TerraformStack
    from inferfab.terraform.aws import eks, vpc
"""

from inferfab.terraform.arguments import ArgumentsError, Expression
from inferfab.terraform.base import (
    DataSource,
    Lifecycle,
    Provider,
    ProviderRelease,
    Resource,
    new_app,
    stack_backend_gcs,
    stack_backend_local,
    stack_backend_s3,
)
from inferfab.terraform.engine import (
    ENGINE,
    Annotations,
    App,
    Construct,
    EngineError,
    Fn,
    IResolvable,
    ITerraformDependable,
    TerraformElement,
    TerraformOutput,
    TerraformStack,
    Testing,
    Token,
)
from inferfab.terraform.skips import SkippedCheck, recorded_skips, skip_check

__all__ = [
    "ENGINE",
    "Annotations",
    "App",
    "ArgumentsError",
    "Construct",
    "DataSource",
    "EngineError",
    "Expression",
    "Fn",
    "IResolvable",
    "ITerraformDependable",
    "Lifecycle",
    "Provider",
    "ProviderRelease",
    "Resource",
    "SkippedCheck",
    "TerraformElement",
    "TerraformOutput",
    "TerraformStack",
    "Testing",
    "Token",
    "new_app",
    "recorded_skips",
    "skip_check",
    "stack_backend_gcs",
    "stack_backend_local",
    "stack_backend_s3",
]
