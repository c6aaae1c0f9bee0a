"""Nodes by pool: how many are ready, what they are, and the devices that they offer."""

from collections import Counter
from collections.abc import Iterable

from inferfab.findings import YamlPath
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.verify.cluster import Cluster, NotSeen, Object
from inferfab.verify.seen import Seen

_DRA_DRIVERS = {"efa.networking.k8s.aws": "efa.networking.k8s.aws", "mrdma.google.com": "dra.net"}
"""Driver behind a DeviceClass, as ResourceSlices name it (aws-dranet; google/dranet)."""
_GPU_DRIVER = "gpu.nvidia.com"


def look_at_nodes(seen: Seen, cluster: Cluster) -> None:
    """Raises :class:`NotSeen` where nodes cannot be listed: then nothing else can be known either."""
    nodes = cluster.list("nodes", selector=f"inferfab/cell={seen.cell.name}")
    slices = _slices(seen, cluster)
    for group in seen.cell.node_groups:
        mine = [node for node in nodes if _has_labels(node, group.labels)]
        ready = [node for node in mine if _is_ready(node)]
        _count(seen, group, mine, ready)
        for node in ready:
            _kind(seen, group, node)
            _devices(seen, group, node, slices)
        _revisions(seen, group, ready)


def _path(group: NodeGroupPlan) -> YamlPath:
    return ("cells", group.cell, "pools", group.pool)


def _count(seen: Seen, group: NodeGroupPlan, mine: list[Object], ready: list[Object]) -> None:
    for node in mine:
        if node not in ready:
            seen.trouble(
                "IF-VFY-002", _path(group), f"node {_name(node)} of {group.name} is not ready: {_why_not(node)}",
                f"kubectl describe node {_name(node)}",
                severity="error" if len(ready) < group.nodes.min else "warning",
            )  # fmt: skip
    if len(ready) < group.nodes.min:
        seen.trouble(
            "IF-VFY-002", _path(group),
            f"{len(ready)} nodes of {group.name} are ready, and its minimum is {group.nodes.min}",
            "look at the node group's health in the cloud: quota, reservation and launch errors stand there",
        )  # fmt: skip
    elif len(mine) > group.nodes.max:
        seen.trouble(
            "IF-VFY-002", _path(group),
            f"{group.name} has {len(mine)} nodes, and its maximum is {group.nodes.max}",
            "an update may be under way; if not, somebody else scales it",
            severity="warning",
        )  # fmt: skip
    else:
        seen.line(f"{group.name}: {len(ready)} nodes ready (planned {group.nodes.min}–{group.nodes.max})")


def _kind(seen: Seen, group: NodeGroupPlan, node: Object) -> None:
    labels = node["metadata"].get("labels", {})
    if group.cloud != "racks":
        for label, planned in (
            ("node.kubernetes.io/instance-type", group.instance),
            ("topology.kubernetes.io/zone", group.zone),
        ):
            found = labels.get(label)
            if found is not None and found != planned:
                seen.trouble(
                    "IF-VFY-003", _path(group),
                    f"node {_name(node)} of {group.name} is {found}, and {planned} was planned",
                    "apply the cell's foundation, or bring the environment in line with what runs",
                )  # fmt: skip
    kubelet = str(node.get("status", {}).get("nodeInfo", {}).get("kubeletVersion", ""))
    minor = ".".join(kubelet.removeprefix("v").split(".")[:2])
    if minor and minor != seen.cell.kubernetes:
        seen.trouble(
            "IF-VFY-003", ("cells", seen.cell.name, "cluster", "kubernetes"),
            f"node {_name(node)} of {group.name} runs Kubernetes {minor}, and {seen.cell.kubernetes} is planned",
            "finish the upgrade: `inferfab upgrade plan` says in which order",
            severity="warning",
        )  # fmt: skip


def _revisions(seen: Seen, group: NodeGroupPlan, ready: Iterable[Object]) -> None:
    """EKS labels nodes with the version of the launch template that they came from, and with their image."""
    for label, word in (
        ("eks.amazonaws.com/sourceLaunchTemplateVersion", "launch template versions"),
        ("eks.amazonaws.com/nodegroup-image", "images"),
    ):
        found = Counter(node["metadata"].get("labels", {}).get(label) for node in ready)
        found.pop(None, None)
        if len(found) > 1:
            parts = ", ".join(f"{number} from {name}" for name, number in found.most_common())
            seen.trouble(
                "IF-VFY-003", _path(group), f"nodes of {group.name} come from several {word}: {parts}",
                "an update is under way or stopped half-way: look at the node group's updates",
                severity="warning",
            )  # fmt: skip


def _devices(seen: Seen, group: NodeGroupPlan, node: Object, slices: dict[str, Counter[str]] | None) -> None:
    pool = next(p for p in seen.cell.pools if p.name == group.pool)
    allocatable = node.get("status", {}).get("allocatable", {})
    claim = _claim(seen, group)
    if claim is not None:
        if slices is not None:
            here = slices.get(_name(node), Counter())
            for driver in (_GPU_DRIVER, _DRA_DRIVERS.get(claim, claim)):
                if not here[driver]:
                    _missing(seen, group, node, f"no device of {driver} in any ResourceSlice", driver)
        return
    for resource, least in _planned_resources(seen, group, pool).items():
        found = _number(allocatable.get(resource, "0"))
        if found < least:
            _missing(seen, group, node, f"{found} {resource} allocatable, and {least} planned", resource)


def _missing(seen: Seen, group: NodeGroupPlan, node: Object, what: str, resource: str) -> None:
    seen.trouble(
        "IF-VFY-004", _path(group), f"node {_name(node)} of {group.name} has {what}",
        f"look at the device plugin's or driver's pod on that node; it brings {resource}",
    )  # fmt: skip


def _planned_resources(seen: Seen, group: NodeGroupPlan, pool: PoolPlan) -> dict[str, int]:
    """Devices of a whole node: its GPUs, and as many NIC resources as its workers ask for together."""
    found = {} if pool.shared and any(k.startswith("nvidia.com/mig.config") for k in group.labels) else {
        "nvidia.com/gpu": group.gpus_per_node
    }  # fmt: skip
    for graph in seen.cell.serving.graphs:
        for part in graph.components:
            if part.node_group == group.name:
                for resource, number in part.resources.items():
                    total = number * max(1, group.workers_per_node)
                    found[resource] = max(found.get(resource, 0), total)
                if part.gpus and part.gpu_resource != "nvidia.com/gpu":
                    found.setdefault(part.gpu_resource, 1)
    return found


def _claim(seen: Seen, group: NodeGroupPlan) -> str | None:
    """DeviceClass of the NICs that pods on the group claim; None where they ask for resources."""
    names = {
        part.claim for graph in seen.cell.serving.graphs for part in graph.components
        if part.node_group == group.name and part.claim
    }  # fmt: skip
    return next((claim.nic_class for claim in seen.cell.serving.claims if claim.name in names), None)


def _slices(seen: Seen, cluster: Cluster) -> dict[str, Counter[str]] | None:
    """Devices by node and driver; None where no pod claims any, or nobody may look."""
    if not seen.cell.serving.claims:
        return None
    try:
        objects = cluster.list("resourceslices.resource.k8s.io")
    except NotSeen as error:
        seen.not_known("devices of DRA drivers (ResourceSlices)", str(error))
        return None
    found: dict[str, Counter[str]] = {}
    for one in objects:
        spec = one.get("spec", {})
        found.setdefault(spec.get("nodeName", ""), Counter())[spec.get("driver", "")] += len(spec.get("devices") or [])
    return found


def _has_labels(node: Object, labels: dict[str, str]) -> bool:
    have = node["metadata"].get("labels", {})
    # Whoever splits GPUs writes the label of a split again when it is done.
    return all(have.get(k) == v for k, v in labels.items() if k.startswith("inferfab/"))


def _is_ready(node: Object) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node.get("status", {}).get("conditions", ()))


def _why_not(node: Object) -> str:
    conditions: list[Object] = node.get("status", {}).get("conditions", [])
    ready = next((c for c in conditions if c["type"] == "Ready"), {})
    return str(ready.get("message") or ready.get("reason") or "it says nothing")


def _name(node: Object) -> str:
    return str(node["metadata"]["name"])


def _number(quantity: object) -> int:
    text = str(quantity)
    for suffix, factor in (("k", 1000), ("m", 0)):
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return int(text) if text.isdigit() else 0
