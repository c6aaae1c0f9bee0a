"""What EKS installs once there is a node: CoreDNS, the EBS driver, node monitoring."""

from collections.abc import Mapping, Sequence

from inferfab.aws.addon import AddonsSpec, addon_identity, make_addon
from inferfab.aws.iam import RoleName
from inferfab.aws.iam_policy import Statement
from inferfab.aws.pod_identity import PodIdentity
from inferfab.kubernetes.scheduling import GPU_NODES
from inferfab.terraform import Construct, ITerraformDependable

_HYBRID_DNS_REPLICAS = 4
"""Two as EKS has them, and two for servers outside."""


class CoreAddonsSpec(AddonsSpec):
    """What :class:`CoreAddons` needs."""

    ebs_csi_role_name: RoleName
    kms_key_arn: str
    """Key of the volumes that the storage classes ask for."""
    node_selector: Mapping[str, str] = {}
    """Labels of the nodes for CoreDNS and the EBS controller. Default: any node without taints."""
    hybrid_dns: bool = False
    """Let CoreDNS stand on hybrid nodes as well. Default: no; then pods there ask over the link to AWS."""
    volume_tags: Mapping[str, str] = {}
    """Tags of the volumes that the EBS driver makes: no provider sees those, so its default tags do not reach them.
    Default: only the driver's own.
    """


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
                kubernetes_version="1.36",
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
        controller = here | ({"extraVolumeTags": dict(spec.volume_tags)} if spec.volume_tags else {})
        names = _hybrid_dns(spec) if spec.hybrid_dns else here
        dns = make_addon(self, spec, "coredns", spec.versions.coredns, names, after=after)
        role = PodIdentity(
            self,
            "ebs-csi",
            addon_identity(
                spec, spec.ebs_csi_role_name, "ebs-csi-controller-sa", "service-role/AmazonEBSCSIDriverPolicy"
            ),
            statements=_volume_statements(spec),
        )
        ebs = make_addon(
            self,
            spec,
            "aws-ebs-csi-driver",
            spec.versions.aws_ebs_csi_driver,
            {"controller": controller} if controller else {},
            [{"service_account": "ebs-csi-controller-sa", "role_arn": role.role_arn}],
            after=[*after, *role.ready],
        )
        # Reports what node repair acts on: GPU errors (Xid), NVLink, EFA, kernel and disk conditions.
        monitoring = make_addon(
            self,
            spec,
            "eks-node-monitoring-agent",
            spec.versions.eks_node_monitoring_agent,
            after=after,
        )
        self.ready: tuple[ITerraformDependable, ...] = (dns, ebs, monitoring)


def _hybrid_dns(spec: CoreAddonsSpec) -> dict[str, object]:
    """On the nodes for it, or on servers outside; apart by node and by zone as far as it goes. Nothing of it holds a
    pod back, for the add-on is made before the first server joins. Source: EKS user guide, CoreDNS in mixed mode
    clusters.
    """
    system = [{"key": key, "operator": "In", "values": [value]} for key, value in spec.node_selector.items()]
    outside = [{"key": "eks.amazonaws.com/compute-type", "operator": "In", "values": ["hybrid"]}]
    terms = [{"matchExpressions": expressions} for expressions in (system, outside) if expressions]
    same = {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}]}
    apart = [
        {"weight": weight, "podAffinityTerm": {"labelSelector": same, "topologyKey": key}}
        for key, weight in (("kubernetes.io/hostname", 100), ("topology.kubernetes.io/zone", 50))
    ]
    return {
        "replicaCount": _HYBRID_DNS_REPLICAS,
        "affinity": {
            **(
                {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
                if system
                else {}
            ),
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": apart},
        },
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            *(one.values() for one in GPU_NODES),
        ],
    }


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
