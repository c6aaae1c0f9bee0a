"""Every name that clouds and clusters will see, made in one place, with the limit of each."""

import hashlib
import json
import re

DIGEST_LENGTH = 6
SERVING_NAMESPACE = "serving"
"""Kubernetes namespace of everything that serves. One, because Dynamo's Kubernetes discovery sees a single namespace
(ai-dynamo/dynamo lib/runtime discovery/kube, ``Api::namespaced``): a router in another one finds no worker. Tiers
differ by label, priority class and graph.
"""
_COMMIT = re.compile(r"[0-9a-f]{12,64}")


def digest(parts: object) -> str:
    """Six hexadecimal digits over what admission makes immutable; a change rolls a new graph beside the old."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


SECRET_STORE = "aws-secrets-manager"
"""Name of the ClusterSecretStore by which pods get secrets of the cell's account."""


def cluster_name(environment: str, cell: str) -> str:
    return f"{environment}-{cell}"


def node_group_name(pool: str, role: str, *, lodger: str | None = None) -> str:
    """Unique within a cluster; a generation suffix is added by the stack when a group is replaced.

    :param lodger: environment whose nodes join somebody else's cluster, where others have names too.
    """
    name = pool if role in ("worker", "shared") else f"{pool}-{role}"
    return f"{lodger}-{name}" if lodger else name


def graph_name(pool: str, immutable: object) -> str:
    """Name of a DynamoGraphDeployment: the pool and a digest of its immutable parts."""
    return f"{pool}-{digest(immutable)}"


def dynamo_namespace(graph: str, namespace: str = SERVING_NAMESPACE) -> str:
    """Name under which a graph's components find each other; the operator makes it by this rule (DYN_NAMESPACE)."""
    return f"{namespace}-{graph}"


def priority_class_name(tier: str) -> str:
    """Kubernetes PriorityClass of a tier's pods."""
    return f"inferfab-{tier}"


def token_secret_name(reference: str) -> str:
    """Kubernetes Secret that holds a download token; the reference may hold what a Secret's name may not."""
    readable = re.sub(r"[^a-z0-9]+", "-", reference.lower()).strip("-")[:40].strip("-")
    return f"model-token-{readable}-{digest(reference)}" if readable != reference else f"model-token-{readable}"


def model_folder(model: str, revision: str) -> str:
    """Folder of one revision of a model's files: readable, and another for every other revision."""
    if _COMMIT.fullmatch(revision):
        return f"{model}-{revision[:12]}"
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", revision)[:12].strip("-.")
    return "-".join(part for part in (model, readable, digest(revision)) if part)


def grove_length(graph: str, component: str, *, multinode: bool) -> int:
    """What Grove counts against its 45 characters: both names, and for multinode the leader's name again.

    Source: ai-dynamo/dynamo deploy/operator/internal/webhook/validation/dynamographdeployment.go.
    """
    return len(graph) + len(component) + (len(f"{component}-ldr") if multinode else 0)
