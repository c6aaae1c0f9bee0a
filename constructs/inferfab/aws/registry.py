"""Container images in ECR: repositories for mirrored images, and caches of public registries."""

from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from inferfab.aws.account import AccountSpec, KmsAlias
from inferfab.aws.encryption_key import EncryptionKey, EncryptionKeySpec
from inferfab.aws.image_cache import NAME, ImageCache, ImageCacheSpec, PullThrough, untagged_expiry
from inferfab.terraform import Construct, Lifecycle
from inferfab.terraform.aws import ecr


class RegistrySpec(AccountSpec):
    """What :class:`Registry` needs."""

    prefix: Annotated[str, Field(pattern=NAME)]
    """Begins role and key descriptions: the environment's name."""
    key_alias: KmsAlias
    """Alias of the key that it makes."""
    repositories: tuple[Annotated[str, Field(pattern=NAME, min_length=2, max_length=256)], ...] = ()
    """Repositories that a mirror job pushes to. Default: none."""
    pull_through: tuple[PullThrough, ...] = ()
    """Default: no caches."""
    keep_untagged_days: PositiveInt = 14
    """When images without a tag go. Default: after 14 days; those with a tag stay for ever."""
    permissions_boundary_arn: str | None = None
    """Policy that bounds the role with which ECR makes cache repositories. Default: none."""
    prevent_destroy: bool = True
    """Default: Terraform refuses to destroy key and repositories."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.repositories and not self.pull_through:
            raise ValueError("neither repositories nor pull_through: leave the registry out")
        names = [*self.repositories, *(p.prefix for p in self.pull_through)]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"listed more than once: {', '.join(twice)}")
        return self


class Registry(Construct):
    """Repositories with immutable tags, scanned on push, under a key of our own; and caches made alike.

    A region has one of these in an account: caches belong to the account's registry, not to an environment.

    Example::

        from inferfab.aws.image_cache import PullThrough
        from inferfab.aws.registry import Registry, RegistrySpec

        registry = Registry(
            stack,
            "registry",
            RegistrySpec(
                account_id="111122223333",
                region="us-east-1",
                prefix="prod",
                key_alias="alias/prod-images",
                repositories=("prod/gateway",),
                pull_through=(PullThrough(prefix="prod-k8s", upstream="registry.k8s.io"),),
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: RegistrySpec) -> None:
        super().__init__(scope, id)
        key = EncryptionKey(
            self,
            "key",
            EncryptionKeySpec(
                **spec.model_dump(include=set(AccountSpec.model_fields)),
                alias=spec.key_alias,
                description=f"Container images of {spec.prefix}",
                prevent_destroy=spec.prevent_destroy,
            ),
        )
        self.urls: dict[str, str] = {}
        """Where to push to and pull from, by repository."""
        for name in spec.repositories:
            self.urls[name] = self._repository(name, spec, key.arn)
        if spec.pull_through:
            account = spec.model_dump(include=set(AccountSpec.model_fields))
            cache = ImageCacheSpec(
                **account,
                role_name=f"{spec.prefix}-image-cache-{spec.region}".replace("/", "-"),
                key_arn=key.arn,
                pull_through=spec.pull_through,
                keep_untagged_days=spec.keep_untagged_days,
                permissions_boundary_arn=spec.permissions_boundary_arn,
            )
            ImageCache(self, "cache", cache)

    def _repository(self, name: str, spec: RegistrySpec, key_arn: str) -> str:
        repository = ecr.EcrRepository(
            self,
            name,
            name=name,
            image_tag_mutability="IMMUTABLE",
            image_scanning_configuration={"scan_on_push": True},
            encryption_configuration=[{"encryption_type": "KMS", "kms_key": key_arn}],
            tags={"Name": name},
            lifecycle=Lifecycle(prevent_destroy=spec.prevent_destroy),
        )
        ecr.EcrLifecyclePolicy(
            self, f"{name}-expiry", repository=repository.name, policy=untagged_expiry(spec.keep_untagged_days)
        )
        return repository.repository_url
