"""Every name that clouds and clusters will see, made in one place, with the limit of each."""

import hashlib
import json

DIGEST_LENGTH = 6


def digest(parts: object) -> str:
    """Six hexadecimal digits over what admission makes immutable; a change rolls a new graph beside the old."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


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


def namespace(tier: str) -> str:
    """Kubernetes namespace of a tier's pools."""
    return f"serving-{tier}"


def grove_length(graph: str, component: str, *, multinode: bool) -> int:
    """What Grove counts against its 45 characters: both names, and for multinode the leader's name again.

    Source: ai-dynamo/dynamo deploy/operator/internal/webhook/validation/dynamographdeployment.go.
    """
    return len(graph) + len(component) + (len(f"{component}-ldr") if multinode else 0)
