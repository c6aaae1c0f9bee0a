"""One add-on that EKS installs and keeps, and the role of its pods."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from inferfab.aws.account import AccountSpec
from inferfab.aws.pod_identity import PodIdentitySpec
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable, Lifecycle
from inferfab.terraform.aws import eks

AddonVersion = Annotated[str, Field(pattern=r"^v\d+\.\d+\.\d+-eksbuild\.\d+$")]


class AddonVersions(Record):
    """Pinned versions, ``v1.22.4-eksbuild.1``. Default, each: EKS's default for the cluster's version on the day the
    add-on is made, then kept.
    """

    vpc_cni: AddonVersion | None = None
    kube_proxy: AddonVersion | None = None
    eks_pod_identity_agent: AddonVersion | None = None
    coredns: AddonVersion | None = None
    aws_ebs_csi_driver: AddonVersion | None = None
    eks_node_monitoring_agent: AddonVersion | None = None


class AddonsSpec(AccountSpec):
    """What every set of add-ons needs."""

    cluster_name: str
    versions: AddonVersions = AddonVersions()
    permissions_boundary_arn: str | None = None
    """Of the roles of the add-ons' pods. Default: no boundary."""


def make_addon(
    scope: Construct,
    cluster_name: str,
    name: str,
    version: str | None,
    configuration: Mapping[str, object] | None = None,
    identities: Sequence[eks.EksAddonPodIdentityAssociation] = (),
    *,
    after: Sequence[ITerraformDependable] = (),
) -> eks.EksAddon:
    """The add-on, in a construct of its name.

    :param configuration: by the add-on's own schema (``aws eks describe-addon-configuration``).
    :param identities: roles of its service accounts.
    :param after: what must be there first.
    """
    arguments: eks.EksAddonArguments = {
        "cluster_name": cluster_name,
        "addon_name": name,
        # Fields that we configure are ours, whoever changed them in the cluster.
        "resolve_conflicts_on_create": "OVERWRITE",
        "resolve_conflicts_on_update": "OVERWRITE",
        "tags": {"Name": name},
    }
    if after:
        arguments["depends_on"] = list(after)
    if configuration:
        arguments["configuration_values"] = json.dumps(configuration, sort_keys=True)
    if identities:
        arguments["pod_identity_association"] = list(identities)
    if version is not None:
        arguments["addon_version"] = version
    else:
        # EKS chooses on the first day. The version must not follow a newer default by itself: a CNI that rolls over
        # all nodes during somebody's unrelated change would be nobody's decision.
        arguments["lifecycle"] = Lifecycle(ignore_changes=["addon_version"])
    return eks.EksAddon(scope, name, **arguments)


def addon_identity(spec: AddonsSpec, role_name: str, service_account: str, policy: str) -> PodIdentitySpec:
    """The role of an add-on's service account; the add-on itself makes the association."""
    return PodIdentitySpec(
        account_id=spec.account_id,
        region=spec.region,
        partition=spec.partition,
        cluster_name=spec.cluster_name,
        role_name=role_name,
        namespace="kube-system",
        service_account=service_account,
        managed_policies=(policy,),
        associate=False,
        permissions_boundary_arn=spec.permissions_boundary_arn,
    )
