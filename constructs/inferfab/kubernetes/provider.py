"""How Terraform reaches a cluster that another stack made: by its name."""

from dataclasses import dataclass

from inferfab.terraform import Fn, TerraformStack
from inferfab.terraform.aws.eks import DataEksCluster
from inferfab.terraform.helm import HelmProvider


@dataclass(frozen=True)
class ClusterConnection:
    """A cluster that Helm releases of the stack go to."""

    provider: HelmProvider
    endpoint: str
    vpc_id: str


def cluster_provider(stack: TerraformStack, name: str, region: str, role_arn: str | None = None) -> ClusterConnection:
    """Look a cluster up by name and let the stack's Helm releases go to it.

    No remote state, and no token in the state: each command asks for a token of its own, so the machine that runs
    Terraform needs the AWS command line and a way to the cluster's endpoint.

    :param role_arn: role to take for the token; default: the credentials that the AWS command line finds.
    """
    cluster = DataEksCluster(stack, "cluster", name=name, region=region)
    role = ["--role-arn", role_arn] if role_arn else []
    provider = HelmProvider(
        stack,
        "helm",
        kubernetes={
            "host": cluster.endpoint,
            "cluster_ca_certificate": Fn.base64decode(cluster.certificate_authority_data),
            "exec": {
                "api_version": "client.authentication.k8s.io/v1beta1",
                "command": "aws",
                "args": ["eks", "get-token", "--cluster-name", name, "--region", region, "--output", "json", *role],
            },
        },
    )
    return ClusterConnection(provider=provider, endpoint=cluster.endpoint, vpc_id=cluster.vpc_id)
