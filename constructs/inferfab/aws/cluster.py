"""An EKS cluster's control plane, its logs, and who reaches its endpoint."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from inferfab.aws.cluster_ids import ClusterName
from inferfab.aws.hybrid_nodes import RemoteNetworks
from inferfab.aws.optional import optional
from inferfab.aws.values import Range, range_id
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable, Lifecycle
from inferfab.terraform.aws import cloudwatch, eks, vpc
from inferfab.terraform.skips import skip_check

RetentionDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
                        3288, 3653]  # fmt: skip
"""What CloudWatch takes."""


class EksClusterSpec(Record):
    """What :class:`EksCluster` needs."""

    name: ClusterName
    kubernetes_version: Annotated[str, Field(pattern=r"^1\.\d{2}$")]
    """Minor version, ``1.36``."""
    role_arn: str
    kms_key_arn: str
    """Key for Kubernetes secrets and for the logs; its policy must let both in."""
    subnet_ids: tuple[str, ...]
    """Subnets of the control plane's network interfaces: two or more, in two zones."""
    security_group_ids: tuple[str, ...] = ()
    """Further groups of these interfaces. Default: only the one that EKS makes."""
    private_access_cidrs: tuple[Range, ...] = ()
    """Ranges beside the cluster's own nodes that reach the endpoint from inside: runners, a VPN. Default: none."""
    public_access_cidrs: tuple[Range, ...] = ()
    """Ranges that reach the endpoint from the internet. Default: none, the endpoint is private."""
    service_cidr: Range = "172.20.0.0/16"
    """Range of Kubernetes services; must not meet the VPC or anything it talks to. Cannot be changed later."""
    log_retention_days: RetentionDays = 365
    """How long control-plane logs are kept. Default: a year."""
    support_type: Literal["STANDARD", "EXTENDED"] = "STANDARD"
    """At the end of standard support: be upgraded by EKS, or pay six times as much an hour and stay. Default:
    STANDARD; AWS's own default is EXTENDED.
    """
    remote: RemoteNetworks | None = None
    """Ranges of hybrid nodes and their pods. Default: none."""
    zonal_shift: bool = False
    """Let AWS move traffic away from an ailing zone. Default: no; a cell has all its nodes in one zone, so there is
    nowhere to move it to.
    """
    protected: bool = True
    """Default: neither Terraform nor the API deletes the cluster."""

    @field_validator("subnet_ids")
    @classmethod
    def _two_subnets(cls, ids: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(ids)) < 2:
            raise ValueError("EKS wants its control plane in two subnets, in two zones")
        return ids

    @model_validator(mode="after")
    def _not_open(self) -> "EksClusterSpec":
        if any(cidr.endswith("/0") for cidr in (*self.public_access_cidrs, *self.private_access_cidrs)):
            raise ValueError("a range of /0 opens the endpoint to the whole internet; name your ranges")
        return self


class EksCluster(Construct):
    """A control plane: API access entries only, its creator not an admin, secrets encrypted, everything logged.

    Example::

        cluster = EksCluster(
            stack,
            "cluster",
            EksClusterSpec(
                name="prod-use1-a",
                kubernetes_version="1.36",
                role_arn="arn:aws:iam::111122223333:role/prod-use1-a-cluster",
                kms_key_arn="arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
                subnet_ids=("subnet-0aaaaaaaaaaaaaaa1", "subnet-0aaaaaaaaaaaaaaa2"),
            ),
        )
    """

    def __init__(
        self, scope: Construct, construct_id: str, spec: EksClusterSpec, *, after: tuple[ITerraformDependable, ...] = ()
    ) -> None:
        """:param after: what must be there first: the role's policies (:attr:`ClusterRole.ready`)."""
        super().__init__(scope, construct_id)
        # Made beforehand: EKS would make it without encryption, and keep the logs for ever.
        logs = cloudwatch.CloudwatchLogGroup(
            self,
            "logs",
            name=f"/aws/eks/{spec.name}/cluster",
            retention_in_days=spec.log_retention_days,
            kms_key_id=spec.kms_key_arn,
            tags={"Name": f"/aws/eks/{spec.name}/cluster"},
        )
        if spec.log_retention_days < 365:
            skip_check(logs, "CKV_AWS_338", f"kept {spec.log_retention_days} days as the spec says")
        cluster = eks.EksCluster(
            self,
            "cluster",
            name=spec.name,
            version=spec.kubernetes_version,
            role_arn=spec.role_arn,
            vpc_config=_vpc_config(spec),
            # No aws-auth ConfigMap, and whoever runs Terraform is an admin only if an access entry says so.
            access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": False},
            # They come as add-ons with versions of their own.
            bootstrap_self_managed_addons=False,
            encryption_config={"provider": {"key_arn": spec.kms_key_arn}, "resources": ["secrets"]},
            enabled_cluster_log_types=["api", "audit", "authenticator", "controllerManager", "scheduler"],
            kubernetes_network_config={"ip_family": "ipv4", "service_ipv4_cidr": spec.service_cidr},
            upgrade_policy={"support_type": spec.support_type},
            zonal_shift_config={"enabled": spec.zonal_shift},
            remote_network_config=optional(_remote(spec)),
            deletion_protection=spec.protected,
            tags={"Name": spec.name},
            depends_on=[logs, *after],
            lifecycle=Lifecycle(prevent_destroy=spec.protected),
        )
        skip_check(cluster, "CKV_AWS_339", "checkov's list of EKS versions lags behind EKS; the version is pinned here")
        if spec.public_access_cidrs:
            skip_check(cluster, "CKV_AWS_39", "the endpoint is public on request, for the named ranges only")
        for cidr in spec.private_access_cidrs:
            vpc.VpcSecurityGroupIngressRule(
                self,
                f"api-from-{range_id(cidr)}",
                security_group_id=cluster.cluster_security_group_id,
                description=f"Kubernetes API from {cidr}",
                cidr_ipv4=cidr,
                ip_protocol="tcp",
                from_port=443,
                to_port=443,
                tags={"Name": f"{spec.name} API from {cidr}"},
            )
        self.name = cluster.name
        self.arn = cluster.arn
        self.endpoint = cluster.endpoint
        self.certificate_authority = cluster.certificate_authority_data
        self.security_group_id = cluster.cluster_security_group_id
        self.version = spec.kubernetes_version


def _remote(spec: EksClusterSpec) -> eks.EksClusterRemoteNetworkConfig | None:
    if spec.remote is None:
        return None
    return {
        "remote_node_networks": {"cidrs": [spec.remote.node_cidr]},
        "remote_pod_networks": {"cidrs": [spec.remote.pod_cidr]},
    }


def _vpc_config(spec: EksClusterSpec) -> eks.EksClusterVpcConfig:
    config: eks.EksClusterVpcConfig = {
        "subnet_ids": list(spec.subnet_ids),
        "endpoint_private_access": True,
        "endpoint_public_access": bool(spec.public_access_cidrs),
    }
    if spec.security_group_ids:
        config["security_group_ids"] = list(spec.security_group_ids)
    if spec.public_access_cidrs:
        config["public_access_cidrs"] = list(spec.public_access_cidrs)
    return config
