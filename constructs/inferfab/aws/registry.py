"""Container images in ECR: repositories for mirrored images, and caches of public registries."""

import json
from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from inferfab.aws.account import AccountSpec, KmsAlias
from inferfab.aws.encryption_key import EncryptionKey, EncryptionKeySpec
from inferfab.aws.iam_policy import policy_document
from inferfab.aws.optional import optional
from inferfab.record import Record
from inferfab.terraform import Construct, Lifecycle
from inferfab.terraform.aws import ecr, iam

_NAME = r"^(?:[a-z0-9]+(?:[._-][a-z0-9]+)*/)*[a-z0-9]+(?:[._-][a-z0-9]+)*$"


class PullThrough(Record):
    """A public registry that ECR fetches from on the first pull, and keeps."""

    prefix: Annotated[str, Field(pattern=_NAME, min_length=2, max_length=30)]
    """Begins the names of its repositories here."""
    upstream: str
    """Host of one of the registries that ECR knows."""
    credential_arn: Annotated[str, Field(pattern=r":secret:ecr-pullthroughcache/|TfToken\[")] | None = None
    """Secret with the login; its name has to begin with ``ecr-pullthroughcache/``. Default: none; some registries
    want one.
    """


class RegistrySpec(AccountSpec):
    """What :class:`Registry` needs."""

    prefix: Annotated[str, Field(pattern=_NAME)]
    """Begins role and key descriptions: the environment's name."""
    key_alias: KmsAlias
    """Alias of the key that it makes."""
    repositories: tuple[Annotated[str, Field(pattern=_NAME, min_length=2, max_length=256)], ...] = ()
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

        from inferfab.aws.registry import PullThrough, Registry, RegistrySpec

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
            role_arn = self._creation_role(spec, key.arn)
            for cache in spec.pull_through:
                self._cache(cache, spec, key.arn, role_arn)

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
            self, f"{name}-expiry", repository=repository.name, policy=_expiry(spec.keep_untagged_days)
        )
        return repository.repository_url

    def _cache(self, cache: PullThrough, spec: RegistrySpec, key_arn: str, role_arn: str) -> None:
        # First the template: a repository that a pull makes before would have mutable tags and AWS's key.
        template = ecr.EcrRepositoryCreationTemplate(
            self,
            f"{cache.prefix}-template",
            prefix=cache.prefix,
            description=f"Cache of {cache.upstream}",
            applied_for=["PULL_THROUGH_CACHE"],
            image_tag_mutability="IMMUTABLE",
            encryption_configuration=[{"encryption_type": "KMS", "kms_key": key_arn}],
            lifecycle_policy=_expiry(spec.keep_untagged_days),
            custom_role_arn=role_arn,
        )
        ecr.EcrPullThroughCacheRule(
            self,
            f"{cache.prefix}-cache",
            ecr_repository_prefix=cache.prefix,
            upstream_registry_url=cache.upstream,
            credential_arn=optional(cache.credential_arn),
            depends_on=[template],
        )

    def _creation_role(self, spec: RegistrySpec, key_arn: str) -> str:
        name = f"{spec.prefix}-image-cache-{spec.region}".replace("/", "-")
        role = iam.IamRole(
            self,
            "cache-role",
            name=name,
            description="With it ECR makes the repositories of its caches",
            assume_role_policy=policy_document(
                [
                    {
                        "Sid": "Ecr",
                        "Effect": "Allow",
                        "Principal": {"Service": "ecr.amazonaws.com"},
                        "Action": "sts:AssumeRole",
                        "Condition": {"StringEquals": {"aws:SourceAccount": spec.account_id}},
                    }
                ]
            ),
            permissions_boundary=optional(spec.permissions_boundary_arn),
            tags={"Name": name},
        )
        repositories = f"arn:{spec.partition}:ecr:{spec.region}:{spec.account_id}:repository"
        iam.IamRolePolicy(
            self,
            "cache-policy",
            name="make-repositories",
            role=role.name,
            policy=policy_document(
                [
                    {
                        "Sid": "Repositories",
                        "Effect": "Allow",
                        "Action": ["ecr:CreateRepository", "ecr:ReplicateImage", "ecr:TagResource"],
                        "Resource": [f"{repositories}/{c.prefix}/*" for c in spec.pull_through],
                    },
                    {
                        "Sid": "Key",
                        "Effect": "Allow",
                        "Action": ["kms:CreateGrant", "kms:RetireGrant", "kms:DescribeKey"],
                        "Resource": key_arn,
                    },
                ]
            ),
        )
        return role.arn


def _expiry(untagged_days: int) -> str:
    rule = {
        "rulePriority": 1,
        "description": "Images without a tag",
        "selection": {
            "tagStatus": "untagged",
            "countType": "sinceImagePushed",
            "countUnit": "days",
            "countNumber": untagged_days,
        },
        "action": {"type": "expire"},
    }
    return json.dumps({"rules": [rule]}, separators=(",", ":"))
