"""What EKS itself installs in a cluster: networking before the nodes, the rest after the first of them."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, PositiveInt

from inferfab.aws.account import AccountSpec
from inferfab.aws.iam import RoleName
from inferfab.aws.iam_policy import Statement
from inferfab.aws.pod_identity import PodIdentity, PodIdentitySpec
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


class NetworkAddonsSpec(AccountSpec):
    """What :class:`NetworkAddons` needs."""

    cluster_name: str
    cni_role_name: RoleName
    versions: AddonVersions = AddonVersions()
    prefix_delegation: bool = True
    """Give nodes addresses in blocks of 16. Default: yes; an efa-only interface takes a slot on card 0, and single
    addresses would leave a p5.48xlarge 51 pods. The subnet needs free /28 blocks.
    """
    warm_prefixes: PositiveInt = 1
    """Blocks that a node holds ready. Default: 1, the least; the setting is one for all nodes of the cluster."""
    network_policy: bool = True
    """Enforce Kubernetes network policies. Default: yes; without policies nothing is blocked."""
    permissions_boundary_arn: str | None = None
    """Default: no boundary."""


class NetworkAddons(Construct):
    """Pod Identity agent, VPC CNI and kube-proxy: a node is not ready without them, so nodes come after.

    Example::

        network = NetworkAddons(
            stack,
            "network-addons",
            NetworkAddonsSpec(
                account_id="111122223333",
                region="us-east-1",
                cluster_name="prod-use1-a",
                cni_role_name="prod-use1-a-cni",
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: NetworkAddonsSpec) -> None:
        super().__init__(scope, construct_id)
        agent = _addon(self, spec.cluster_name, "eks-pod-identity-agent", spec.versions.eks_pod_identity_agent)
        role = PodIdentity(self, "cni", _identity(spec, spec.cni_role_name, "aws-node", "AmazonEKS_CNI_Policy"))
        configuration: dict[str, object] = {
            "enableNetworkPolicy": json.dumps(spec.network_policy),
            "env": {"ENABLE_PREFIX_DELEGATION": json.dumps(spec.prefix_delegation)}
            | ({"WARM_PREFIX_TARGET": str(spec.warm_prefixes)} if spec.prefix_delegation else {}),
        }
        cni = _addon(
            self,
            spec.cluster_name,
            "vpc-cni",
            spec.versions.vpc_cni,
            configuration,
            [{"service_account": "aws-node", "role_arn": role.role_arn}],
            after=[agent, *role.ready],
        )
        proxy = _addon(self, spec.cluster_name, "kube-proxy", spec.versions.kube_proxy)
        self.ready: tuple[ITerraformDependable, ...] = (agent, cni, proxy)
        """What must be there before a node starts."""


class CoreAddonsSpec(AccountSpec):
    """What :class:`CoreAddons` needs."""

    cluster_name: str
    ebs_csi_role_name: RoleName
    kms_key_arn: str
    """Key of the volumes that the storage classes ask for."""
    versions: AddonVersions = AddonVersions()
    node_selector: Mapping[str, str] = {}
    """Labels of the nodes for CoreDNS and the EBS controller. Default: any node without taints."""
    permissions_boundary_arn: str | None = None
    """Default: no boundary."""


class CoreAddons(Construct):
    """CoreDNS, the EBS CSI driver and the node monitoring agent. EKS waits until they run, so they need a node.

    Volumes are encrypted or not made: the driver's role is denied the others.

    Example::

        CoreAddons(
            stack,
            "core-addons",
            CoreAddonsSpec(
                account_id="111122223333",
                region="us-east-1",
                cluster_name="prod-use1-a",
                ebs_csi_role_name="prod-use1-a-ebs-csi",
                kms_key_arn="arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
                node_selector={"inferfab/pool": "system"},
            ),
        )
    """

    def __init__(
        self, scope: Construct, construct_id: str, spec: CoreAddonsSpec, *, after: Sequence[ITerraformDependable] = ()
    ) -> None:
        """:param after: the system node group."""
        super().__init__(scope, construct_id)
        here = {"nodeSelector": dict(spec.node_selector)} if spec.node_selector else {}
        dns = _addon(self, spec.cluster_name, "coredns", spec.versions.coredns, here, after=after)
        role = PodIdentity(
            self,
            "ebs-csi",
            _identity(spec, spec.ebs_csi_role_name, "ebs-csi-controller-sa", "service-role/AmazonEBSCSIDriverPolicy"),
            statements=_volume_statements(spec),
        )
        ebs = _addon(
            self,
            spec.cluster_name,
            "aws-ebs-csi-driver",
            spec.versions.aws_ebs_csi_driver,
            {"controller": here} if here else {},
            [{"service_account": "ebs-csi-controller-sa", "role_arn": role.role_arn}],
            after=[*after, *role.ready],
        )
        # Reports what node repair acts on: GPU errors (Xid), NVLink, EFA, kernel and disk conditions.
        monitoring = _addon(
            self,
            spec.cluster_name,
            "eks-node-monitoring-agent",
            spec.versions.eks_node_monitoring_agent,
            after=after,
        )
        self.ready: tuple[ITerraformDependable, ...] = (dns, ebs, monitoring)


def _addon(
    scope: Construct,
    cluster_name: str,
    name: str,
    version: str | None,
    configuration: Mapping[str, object] | None = None,
    identities: Sequence[eks.EksAddonPodIdentityAssociation] = (),
    *,
    after: Sequence[ITerraformDependable] = (),
) -> eks.EksAddon:
    return eks.EksAddon(
        scope,
        name,
        cluster_name=cluster_name,
        addon_name=name,
        addon_version=version,
        configuration_values=json.dumps(configuration, sort_keys=True) if configuration else None,
        pod_identity_association=list(identities) or None,
        # Fields that we configure are ours, whoever changed them in the cluster.
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="OVERWRITE",
        tags={"Name": name},
        depends_on=list(after) or None,
        # Not stated, the version is what EKS chose on the first day. It must not follow a newer default by itself:
        # a CNI that rolls over all nodes during somebody's unrelated change would be nobody's decision.
        lifecycle=Lifecycle(ignore_changes=["addon_version"]) if version is None else None,
    )


def _identity(
    spec: NetworkAddonsSpec | CoreAddonsSpec, role_name: str, service_account: str, policy: str
) -> PodIdentitySpec:
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


def _volume_statements(spec: CoreAddonsSpec) -> list[Statement]:
    """Use of the key, through EC2 only; and no volume without encryption."""
    through_ec2 = {"kms:ViaService": f"ec2.{spec.region}.amazonaws.com"}
    use = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKeyWithoutPlaintext",
           "kms:ReEncryptFrom", "kms:ReEncryptTo"]  # fmt: skip
    return [
        {
            "Sid": "UseKey",
            "Effect": "Allow",
            "Action": use,
            "Resource": spec.kms_key_arn,
            "Condition": {"StringEquals": through_ec2},
        },
        {
            "Sid": "GrantToEc2",
            "Effect": "Allow",
            "Action": ["kms:CreateGrant"],
            "Resource": spec.kms_key_arn,
            "Condition": {"StringEquals": through_ec2, "Bool": {"kms:GrantIsForAWSResource": "true"}},
        },
        {
            "Sid": "DenyUnencrypted",
            "Effect": "Deny",
            "Action": ["ec2:CreateVolume"],
            # A denial is as wide as it can be, hence the wildcard.
            "Resource": "*",
            "Condition": {"Bool": {"ec2:Encrypted": "false"}},
        },
    ]
