"""What a node cannot be ready without: Pod Identity agent, VPC CNI, kube-proxy."""

import json

from pydantic import PositiveInt

from inferfab.aws.addon import AddonsSpec, addon_identity, make_addon
from inferfab.aws.iam import RoleName
from inferfab.aws.pod_identity import PodIdentity
from inferfab.terraform import Construct, ITerraformDependable


class NetworkAddonsSpec(AddonsSpec):
    """What :class:`NetworkAddons` needs."""

    cni_role_name: RoleName
    prefix_delegation: bool = True
    """Give nodes addresses in blocks of 16. Default: yes; an efa-only interface takes a slot on card 0, and single
    addresses would leave a p5.48xlarge 51 pods. The subnet needs free /28 blocks.
    """
    warm_prefixes: PositiveInt = 1
    """Blocks that a node holds ready. Default: 1, the least; the setting is one for all nodes of the cluster."""
    network_policy: bool = True
    """Enforce Kubernetes network policies. Default: yes; without policies nothing is blocked."""
    hybrid: bool = False
    """Servers outside AWS join too: they have no instance metadata, so the Pod Identity agent needs another DaemonSet
    there. Default: no.
    """


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
                kubernetes_version="1.36",
                cni_role_name="prod-use1-a-cni",
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: NetworkAddonsSpec) -> None:
        super().__init__(scope, construct_id)
        agent = make_addon(
            self,
            spec,
            "eks-pod-identity-agent",
            spec.versions.eks_pod_identity_agent,
            {"daemonsets": {"hybrid": {"create": True}}} if spec.hybrid else None,
        )
        role = PodIdentity(self, "cni", addon_identity(spec, spec.cni_role_name, "aws-node", "AmazonEKS_CNI_Policy"))
        configuration: dict[str, object] = {
            "enableNetworkPolicy": json.dumps(spec.network_policy),
            "env": {"ENABLE_PREFIX_DELEGATION": json.dumps(spec.prefix_delegation)}
            | ({"WARM_PREFIX_TARGET": str(spec.warm_prefixes)} if spec.prefix_delegation else {}),
        }
        cni = make_addon(
            self,
            spec,
            "vpc-cni",
            spec.versions.vpc_cni,
            configuration,
            [{"service_account": "aws-node", "role_arn": role.role_arn}],
            after=[agent, *role.ready],
        )
        proxy = make_addon(self, spec, "kube-proxy", spec.versions.kube_proxy)
        self.ready: tuple[ITerraformDependable, ...] = (agent, cni, proxy)
        """What must be there before a node starts."""
