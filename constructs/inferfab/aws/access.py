"""Who may do what in a cluster's Kubernetes API, through EKS access entries."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.aws import eks

_POLICIES = {
    "cluster-admin": "AmazonEKSClusterAdminPolicy",
    "admin": "AmazonEKSAdminPolicy",
    "edit": "AmazonEKSEditPolicy",
    "view": "AmazonEKSViewPolicy",
    "admin-view": "AmazonEKSAdminViewPolicy",
}


class AccessEntry(Record):
    """One IAM role and what it may do."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    """Becomes part of the address in Terraform; ``deploy``."""
    principal_arn: str
    may: Literal["cluster-admin", "admin", "edit", "view", "admin-view"] = "view"
    """Default: look at everything but secrets."""
    namespaces: tuple[str, ...] = ()
    """Only in these namespaces. Default: the whole cluster."""


class ClusterAccessSpec(Record):
    """What :class:`ClusterAccess` needs."""

    cluster_name: str
    entries: tuple[AccessEntry, ...]
    partition: str = "aws"

    @field_validator("entries")
    @classmethod
    def _once(cls, entries: tuple[AccessEntry, ...]) -> tuple[AccessEntry, ...]:
        for what in ("name", "principal_arn"):
            values = [getattr(entry, what) for entry in entries]
            twice = sorted({v for v in values if values.count(v) > 1})
            if twice:
                raise ValueError(f"two access entries have the {what} {twice[0]!r}; EKS takes one a principal")
        return entries


class ClusterAccess(Construct):
    """Access entries of people and pipelines. Managed node groups make those of their nodes by themselves.

    Example::

        ClusterAccess(
            stack,
            "access",
            ClusterAccessSpec(
                cluster_name="prod-use1-a",
                entries=(
                    AccessEntry(
                        name="deploy",
                        principal_arn="arn:aws:iam::111122223333:role/inferfab-deploy",
                        may="cluster-admin",
                    ),
                ),
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: ClusterAccessSpec) -> None:
        super().__init__(scope, construct_id)
        associations = []
        for entry in spec.entries:
            made = eks.EksAccessEntry(
                self,
                entry.name,
                cluster_name=spec.cluster_name,
                principal_arn=entry.principal_arn,
                type="STANDARD",
                tags={"Name": entry.name},
            )
            scope_: eks.EksAccessPolicyAssociationAccessScope = {"type": "cluster"}
            if entry.namespaces:
                scope_ = {"type": "namespace", "namespaces": list(entry.namespaces)}
            associations.append(
                eks.EksAccessPolicyAssociation(
                    self,
                    f"{entry.name}-policy",
                    cluster_name=spec.cluster_name,
                    principal_arn=made.principal_arn,
                    policy_arn=f"arn:{spec.partition}:eks::aws:cluster-access-policy/{_POLICIES[entry.may]}",
                    access_scope=scope_,
                )
            )
        self.ready = tuple(associations)
        """What whoever works inside the cluster in the same apply must wait for."""
