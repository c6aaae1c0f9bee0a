"""One add-on that EKS installs and keeps, and the role of its pods."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from inferfab.aws.account import AccountSpec
from inferfab.aws.pod_identity import PodIdentitySpec
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable
from inferfab.terraform.aws import eks

AddonVersion = Annotated[str, Field(pattern=r"^v\d+\.\d+\.\d+-eksbuild\.\d+$")]


class AddonVersions(Record):
    """Pinned versions, ``v1.22.4-eksbuild.1``. Default, each: EKS's default for the cluster's version, looked up by
    every plan: an upgrade of the cluster moves it, and so does AWS when it names another default.
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
    kubernetes_version: Annotated[str, Field(pattern=r"^1\.\d{2}$")]
    """The cluster's; add-ons without a pin take EKS's default for it."""
    versions: AddonVersions = AddonVersions()
    permissions_boundary_arn: str | None = None
    """Of the roles of the add-ons' pods. Default: no boundary."""


def make_addon(
    scope: Construct,
    spec: AddonsSpec,
    name: str,
    version: str | None,
    configuration: Mapping[str, object] | None = None,
    identities: Sequence[eks.EksAddonPodIdentityAssociation] = (),
    *,
    after: Sequence[ITerraformDependable] = (),
) -> eks.EksAddon:
    """The add-on, in a construct of its name.

    :param version: a pin. None: EKS's default for the cluster's Kubernetes, so that the two move together.
    :param configuration: by the add-on's own schema (``aws eks describe-addon-configuration``).
    :param identities: roles of its service accounts.
    :param after: what must be there first.
    """
    arguments: eks.EksAddonArguments = {
        "cluster_name": spec.cluster_name,
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
    if version is None:
        # By the version that is asked for, not the cluster's attribute: the plan then shows the add-on's new version
        # before the control plane has it. EKS's default, not its newest: AWS moves that one less often.
        version = eks.DataEksAddonVersion(
            scope, f"{name}-version", addon_name=name, kubernetes_version=spec.kubernetes_version
        ).version
    arguments["addon_version"] = version
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
