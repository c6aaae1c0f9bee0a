"""The thin base of the generated resource classes, and what a stack needs beside resources."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypedDict, overload

from inferfab.terraform.arguments import ArgumentsError, argument_types, did_you_mean, render
from inferfab.terraform.engine import (
    App,
    Construct,
    Fn,
    GcsBackend,
    IResolvable,
    ITerraformDependable,
    LocalBackend,
    S3Backend,
    TerraformDataSource,
    TerraformElement,
    TerraformProvider,
    TerraformProviderGeneratorMetadata,
    TerraformResource,
    TerraformResourceLifecycle,
    TerraformStack,
    Token,
)


@dataclass(frozen=True)
class ProviderRelease:
    """The provider that a module's classes were generated for; the stack asks Terraform for exactly this one."""

    name: str
    source: str
    version: str
    bindings: str
    """The package whose type description the classes came from, with its version."""

    @property
    def metadata(self) -> TerraformProviderGeneratorMetadata:
        return TerraformProviderGeneratorMetadata(provider_name=self.name, provider_version=self.version)


@dataclass(frozen=True)
class Lifecycle:
    """How Terraform may change a resource. Entries of ``ignore_changes`` are arguments or paths into them."""

    prevent_destroy: bool | None = None
    create_before_destroy: bool | None = None
    ignore_changes: Sequence[str] | Literal["all"] = ()
    replace_triggered_by: Sequence[TerraformResource | str] = ()

    def _struct(self) -> TerraformResourceLifecycle:
        ignored = self.ignore_changes
        return TerraformResourceLifecycle(
            prevent_destroy=self.prevent_destroy,
            create_before_destroy=self.create_before_destroy,
            ignore_changes=(ignored if isinstance(ignored, str) else list(ignored)) or None,
            replace_triggered_by=[_address(one) for one in self.replace_triggered_by] or None,
        )


class DataArguments(TypedDict, total=False):
    """What every data source takes."""

    depends_on: Sequence[ITerraformDependable]
    provider: TerraformProvider


class ResourceArguments(DataArguments, total=False):
    """What every resource takes."""

    lifecycle: Lifecycle
    moved_from: str
    """The address the resource had before, ``aws_eks_node_group.old``: becomes a ``moved`` block."""


_META = frozenset({"depends_on", "provider", "lifecycle", "moved_from"})
_LOOPS = frozenset({"count", "for_each"})


class Resource(TerraformResource):
    """A managed resource. Subclasses are generated: one a Terraform type, with its arguments and attributes."""

    TERRAFORM_TYPE: ClassVar[str]
    ARGUMENTS: ClassVar[type]
    PROVIDER: ClassVar[ProviderRelease | None] = None

    def __init__(self, scope: Construct, construct_id: str, arguments: Mapping[str, Any]) -> None:
        meta, own = _split(arguments)
        problems: list[str] = []
        self._arguments = _rendered(own, self.ARGUMENTS, problems)
        lifecycle: Lifecycle | None = meta.get("lifecycle")
        moved_from: str | None = meta.get("moved_from")
        if lifecycle is not None and lifecycle.ignore_changes != "all":
            problems.extend(_unknown_paths(lifecycle.ignore_changes, self.ARGUMENTS))
        if moved_from is not None and not moved_from.startswith(f"{self.TERRAFORM_TYPE}."):
            problems.append(f'moved_from "{moved_from}" is not the address of an {self.TERRAFORM_TYPE}')
        _raise(self, scope, construct_id, problems)
        super().__init__(
            scope,
            construct_id,
            terraform_resource_type=self.TERRAFORM_TYPE,
            terraform_generator_metadata=self.PROVIDER.metadata if self.PROVIDER else None,
            depends_on=meta.get("depends_on"),
            provider=meta.get("provider"),
            lifecycle=lifecycle._struct() if lifecycle else None,
        )
        if moved_from is not None:
            _Moved(self, "moved", from_=moved_from, to=_address(self))

    def _synthesize_attributes(self) -> Mapping[str, Any]:
        return self._arguments


class _Moved(TerraformElement):
    """A ``moved`` block. CDKTF's own wants a Terraform binary at synthesis, to ask it for its version."""

    def __init__(self, scope: Construct, construct_id: str, *, from_: str, to: str) -> None:
        super().__init__(scope, construct_id)
        self._block = {"from": from_, "to": to}

    def to_terraform(self) -> dict[str, Any]:
        return {"moved": [self._block]}


class DataSource(TerraformDataSource):
    """Something that Terraform looks up. Subclasses are generated."""

    TERRAFORM_TYPE: ClassVar[str]
    ARGUMENTS: ClassVar[type]
    PROVIDER: ClassVar[ProviderRelease | None] = None

    def __init__(self, scope: Construct, construct_id: str, arguments: Mapping[str, Any]) -> None:
        meta, own = _split(arguments)
        problems: list[str] = [f'no argument "{name}"' for name in ("lifecycle", "moved_from") if name in meta]
        self._arguments = _rendered(own, self.ARGUMENTS, problems)
        _raise(self, scope, construct_id, problems)
        super().__init__(
            scope,
            construct_id,
            terraform_resource_type=self.TERRAFORM_TYPE,
            terraform_generator_metadata=self.PROVIDER.metadata if self.PROVIDER else None,
            depends_on=meta.get("depends_on"),
            provider=meta.get("provider"),
        )

    def _synthesize_attributes(self) -> Mapping[str, Any]:
        return self._arguments


class Provider(TerraformProvider):
    """A provider's configuration. Subclasses are generated; ``alias`` makes it one more beside the default."""

    ARGUMENTS: ClassVar[type]
    PROVIDER: ClassVar[ProviderRelease]

    def __init__(self, scope: Construct, construct_id: str, arguments: Mapping[str, Any]) -> None:
        problems: list[str] = []
        rendered = _rendered(arguments, self.ARGUMENTS, problems)
        _raise(self, scope, construct_id, problems)
        alias = rendered.pop("alias", None)
        self._alias = str(alias) if alias is not None else None
        super().__init__(
            scope,
            construct_id,
            terraform_resource_type=self.PROVIDER.name,
            terraform_generator_metadata=self.PROVIDER.metadata,
            terraform_provider_source=self.PROVIDER.source,
        )
        # Overrides, because what a provider class synthesizes gets all its keys in snake case, also those of
        # mappings: the environment variable AWS_PROFILE of an exec plugin would become aws_profile.
        for name, value in rendered.items():
            self.add_override(name, value)

    @property
    def alias(self) -> str | None:
        return self._alias

    @alias.setter
    def alias(self, value: str | None) -> None:
        self._alias = value


class _Attribute:
    """A value that the provider knows; reading it gives a reference. The path defaults to the attribute's name.

    A path may go into nested values, ``certificate_authority[0].data``; ``[*]`` takes the only element of a set.
    """

    def __init__(self, path: str | None = None) -> None:
        self._path = path

    def __set_name__(self, owner: type, name: str) -> None:
        self._path = self._path or name

    def _reference(self, instance: TerraformResource | TerraformDataSource) -> IResolvable:
        assert self._path is not None
        reference = instance.interpolation_for_attribute(self._path)
        return Fn.one(reference) if "[*]" in self._path else reference


class StringAttribute(_Attribute):
    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: TerraformResource | TerraformDataSource, owner: type) -> str: ...
    def __get__(self, instance: TerraformResource | TerraformDataSource | None, owner: type) -> Self | str:
        return self if instance is None else Token.as_string(self._reference(instance))


class NumberAttribute(_Attribute):
    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: TerraformResource | TerraformDataSource, owner: type) -> float: ...
    def __get__(self, instance: TerraformResource | TerraformDataSource | None, owner: type) -> Self | float:
        return self if instance is None else Token.as_number(self._reference(instance))


class BooleanAttribute(_Attribute):
    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: TerraformResource | TerraformDataSource, owner: type) -> IResolvable: ...
    def __get__(self, instance: TerraformResource | TerraformDataSource | None, owner: type) -> Self | IResolvable:
        return self if instance is None else self._reference(instance)


class ListAttribute(_Attribute):
    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: TerraformResource | TerraformDataSource, owner: type) -> list[str]: ...
    def __get__(self, instance: TerraformResource | TerraformDataSource | None, owner: type) -> Self | list[str]:
        return self if instance is None else Token.as_list(self._reference(instance))


class MapAttribute(_Attribute):
    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: TerraformResource | TerraformDataSource, owner: type) -> Mapping[str, str]: ...
    def __get__(
        self, instance: TerraformResource | TerraformDataSource | None, owner: type
    ) -> Self | Mapping[str, str]:
        return self if instance is None else Token.as_string_map(self._reference(instance))


def new_app(outdir: str | None = None) -> App:
    """An app without stack traces in what it writes. The folder defaults to CDKTF_OUTDIR, then ``cdktf.out``."""
    return App(outdir=outdir, stack_traces=False)


def stack_backend_s3(
    stack: TerraformStack,
    *,
    bucket: str,
    key: str,
    region: str,
    kms_key_id: str | None = None,
    encrypt: bool = True,
    use_lockfile: bool = True,
) -> None:
    """Keep the stack's state in S3, encrypted, locked by a file beside it (Terraform 1.11 or OpenTofu 1.10).

    :param encrypt: False leaves encryption to the bucket's default, which every bucket has; True without a key asks
        for S3's own.

    The lock is an override: ``cdktf`` does not know it, and ``cdktn`` demands that the app state its Terraform.
    """
    S3Backend(stack, bucket=bucket, key=key, region=region, encrypt=encrypt or None, kms_key_id=kms_key_id)
    if use_lockfile:
        stack.add_override("terraform.backend.s3.use_lockfile", value=True)


def stack_backend_gcs(stack: TerraformStack, *, bucket: str, prefix: str) -> None:
    """Keep the stack's state in Google Cloud Storage, which encrypts and locks by itself."""
    GcsBackend(stack, bucket=bucket, prefix=prefix)


def stack_backend_local(stack: TerraformStack, path: str) -> None:
    """Keep the stack's state in a file beside it. Without any backend CDKTF would write an absolute path."""
    LocalBackend(stack, path=path)


def _address(resource: TerraformResource | str) -> str:
    """``aws_launch_template.gpu``. CDKTF itself would write ``${aws_launch_template.gpu}``, which Terraform refuses."""
    if isinstance(resource, str):
        return resource
    _ = resource.fqn  # from here on CDKTF refuses to change the logical id
    return f"{resource.terraform_resource_type}.{resource.friendly_unique_id}"


def _split(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    given = {name: value for name, value in arguments.items() if value is not None}
    return (
        {name: value for name, value in given.items() if name in _META},
        {name: value for name, value in given.items() if name not in _META},
    )


def _rendered(arguments: Mapping[str, Any], shape: type, problems: list[str]) -> dict[str, object]:
    loops = [name for name in arguments if name in _LOOPS]
    problems.extend(f'"{name}" is not supported: write a Python loop' for name in loops)
    own = {name: value for name, value in arguments.items() if name not in _LOOPS}
    return render(own, shape, problems)


def _unknown_paths(paths: Sequence[str], shape: type) -> list[str]:
    names = [name for name in argument_types(shape) if name not in _META] + ["tags_all"]
    firsts = [re.split(r"[.\[]", path, maxsplit=1)[0] for path in paths]
    return [
        f'lifecycle.ignore_changes names no argument: "{first}"{did_you_mean(first, names)}'
        for first in firsts
        if first not in names
    ]


def _raise(self: object, scope: Construct, construct_id: str, problems: list[str]) -> None:
    if problems:
        parent = scope.node.path
        path = f"{parent}/{construct_id}" if parent else construct_id
        raise ArgumentsError(f'{type(self).__name__} "{path}"', problems)
