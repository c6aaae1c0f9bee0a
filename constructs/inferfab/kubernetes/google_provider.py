"""How Terraform reaches a GKE cluster that another stack made: by its name."""

from inferfab.terraform import Fn, TerraformStack
from inferfab.terraform.google.container import DataContainerCluster
from inferfab.terraform.helm import HelmProvider


def google_cluster_provider(stack: TerraformStack, name: str, zone: str, project: str) -> HelmProvider:
    """Look a cluster up by name and let the stack's Helm releases go to it.

    Each command asks for a token of its own, so the machine that runs Terraform needs ``gke-gcloud-auth-plugin`` and
    a way to the cluster's endpoint.
    """
    cluster = DataContainerCluster(stack, "cluster", name=name, location=zone, project=project)
    return HelmProvider(
        stack,
        "helm",
        kubernetes={
            "host": f"https://{cluster.endpoint}",
            "cluster_ca_certificate": Fn.base64decode(cluster.cluster_ca_certificate),
            "exec": {"api_version": "client.authentication.k8s.io/v1beta1", "command": "gke-gcloud-auth-plugin"},
        },
    )
