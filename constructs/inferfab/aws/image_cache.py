"""Caches of public image registries in ECR, with repositories as safe as our own."""

import json
from typing import Annotated

from pydantic import Field, PositiveInt

from inferfab.aws.account import AccountSpec
from inferfab.aws.iam_policy import policy_document
from inferfab.aws.optional import optional
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.aws import ecr, iam

NAME = r"^(?:[a-z0-9]+(?:[._-][a-z0-9]+)*/)*[a-z0-9]+(?:[._-][a-z0-9]+)*$"
"""Names of ECR repositories, and what they begin with."""


class PullThrough(Record):
    """A public registry that ECR fetches from on the first pull, and keeps."""

    prefix: Annotated[str, Field(pattern=NAME, min_length=2, max_length=30)]
    """Begins the names of its repositories here."""
    upstream: str
    """Host of one of the registries that ECR knows."""
    credential_arn: Annotated[str, Field(pattern=r":secret:ecr-pullthroughcache/|TfToken\[")] | None = None
    """Secret with the login; its name has to begin with ``ecr-pullthroughcache/``. Default: none; some registries
    want one.
    """


class ImageCacheSpec(AccountSpec):
    """What :class:`ImageCache` needs."""

    role_name: Annotated[str, Field(max_length=64)]
    """Role with which ECR makes the repositories."""
    key_arn: str
    """Key that encrypts the images."""
    pull_through: Annotated[tuple[PullThrough, ...], Field(min_length=1)]
    keep_untagged_days: PositiveInt = 14
    """When images without a tag go. Default: after 14 days."""
    permissions_boundary_arn: str | None = None
    """Policy that bounds the role. Default: none."""


class ImageCache(Construct):
    """Pull-through rules, each with a template that gives its repositories immutable tags and our key.

    An immutable tag is never refreshed from upstream: pull by versions, not by ``latest``.

    Example::

        from inferfab.aws.image_cache import ImageCache, ImageCacheSpec, PullThrough

        cache = ImageCache(
            stack,
            "cache",
            ImageCacheSpec(
                account_id="111122223333",
                region="us-east-1",
                role_name="prod-image-cache",
                key_arn="arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
                pull_through=(PullThrough(prefix="prod-k8s", upstream="registry.k8s.io"),),
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: ImageCacheSpec) -> None:
        super().__init__(scope, id)
        role_arn = self._creation_role(spec)
        for cache in spec.pull_through:
            self._cache(cache, spec, role_arn)

    def _cache(self, cache: PullThrough, spec: ImageCacheSpec, role_arn: str) -> None:
        # First the template: a repository that a pull makes before would have mutable tags and AWS's key.
        template = ecr.EcrRepositoryCreationTemplate(
            self,
            f"{cache.prefix}-template",
            prefix=cache.prefix,
            description=f"Cache of {cache.upstream}",
            applied_for=["PULL_THROUGH_CACHE"],
            image_tag_mutability="IMMUTABLE",
            encryption_configuration=[{"encryption_type": "KMS", "kms_key": spec.key_arn}],
            lifecycle_policy=untagged_expiry(spec.keep_untagged_days),
            custom_role_arn=role_arn,
        )
        ecr.EcrPullThroughCacheRule(
            self,
            f"{cache.prefix}-rule",
            ecr_repository_prefix=cache.prefix,
            upstream_registry_url=cache.upstream,
            credential_arn=optional(cache.credential_arn),
            depends_on=[template],
        )

    def _creation_role(self, spec: ImageCacheSpec) -> str:
        role = iam.IamRole(
            self,
            "role",
            name=spec.role_name,
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
            tags={"Name": spec.role_name},
        )
        repositories = f"arn:{spec.partition}:ecr:{spec.region}:{spec.account_id}:repository"
        iam.IamRolePolicy(
            self,
            "policy",
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
                        "Resource": spec.key_arn,
                    },
                ]
            ),
        )
        return role.arn


def untagged_expiry(untagged_days: int) -> str:
    """A lifecycle policy under which images without a tag go after so many days."""
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
