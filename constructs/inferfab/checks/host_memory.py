"""Memory and disks of the node: shared memory, the CPU tier, the disk tier."""

import math
from collections.abc import Iterator

from inferfab.checks.facts import Facts, Placed
from inferfab.checks.places import machine, once
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import (
    at_least,
)
from inferfab.findings import YamlPath
from inferfab.plan.quantities import GB, GIB

SYSTEM_MEMORY_SHARE = 0.06
"""Of a node's memory, kept by kubelet, system and daemons."""


@rule(
    "IF-MEM-005",
    "the node's memory does not hold its pods",
    joins=("cloud", "pod"),
    why="/dev/shm is tmpfs and counts against the memory limit, like the CPU KV tier: the pods stay pending or are "
    "killed (kubernetes#128339).",
    do="make the CPU tier smaller, or use a machine with more memory.",
    source="Kubernetes: emptyDir with medium Memory; Dynamo sharedMemorySize",
)
def host_memory_holds(facts: Facts) -> Iterator[Problem]:
    # One mistake a field: of the roles and machines that it concerns, the one that lacks most.
    worst: dict[YamlPath, tuple[float, Problem]] = {}
    for at in once(facts.roles()):
        node = machine(at)
        if node.memory_mib is None:
            continue
        per_node = max(1, at.group.workers_per_node)
        # A worker that spans nodes has one pod on each.
        pods = (
            at.role.engine.memory_limit_bytes / at.group.nodes_per_worker * per_node
            + at.group.hugepages_2mi_mib * 1024**2
        )
        usable = node.memory_mib * 1024**2 * (1 - SYSTEM_MEMORY_SHARE)
        if pods <= usable:
            continue
        engine = at.role.engine
        tier = engine.cpu_tier_bytes
        process = engine.memory_limit_bytes - engine.shm_bytes
        path = ("models", at.model.name, "offload", "cpu_gib_per_gpu") if tier else at.path("tensor_parallel")
        key = path if tier else path[:2]
        over = (pods - usable) / GIB / (per_node * at.role.parallelism.gpus / at.group.nodes_per_worker)
        if key in worst and worst[key][0] >= over:
            continue
        less = math.ceil(over)
        left = at.model.cpu_tier_bytes_per_gpu / GIB - less
        problem = Problem(
            path,
            f"{per_node} pods of {at.where} ask for {pods / GIB:,.0f} GiB a node "
            f"({(engine.shm_bytes - tier) / GIB:,.0f} GiB shared memory, "
            f"{tier / GIB:,.0f} GiB CPU tier in it, and {process / GIB:,.0f} GiB for processes each), "
            f"{node.name} has {usable / GIB:,.0f} GiB to give",
            f"take {less} GiB a GPU off the CPU tier"
            if tier and left > 0
            else "remove `offload`, or use a machine with more memory a GPU"
            if tier
            else "use a machine with more memory a GPU",
            severity="error" if tier else "warning",
        )
        worst[key] = (over, problem)
    yield from (problem for _, problem in worst.values())


@rule(
    "IF-MEM-006",
    "tiers of KV cache that shrink",
    severity="warning",
    joins=("pod", "engine"),
    why="a lower tier that is smaller than the one above it only holds copies, and pays their transfer for nothing.",
    do="size tiers GPU ≤ CPU ≤ disk, or leave the tier out.",
    source="Dynamo KV block manager documentation; dynamo#6101, #6506",
)
def tiers_grow(facts: Facts) -> Iterator[Problem]:
    # Of a model's workers those with the largest cache decide: what suits them suits all.
    largest: dict[str, Placed] = {}
    for at in once(facts.roles()):
        known = largest.setdefault(at.model.name, at)
        if at.role.memory.kv_capacity_bytes_per_gpu > known.role.memory.kv_capacity_bytes_per_gpu:
            largest[at.model.name] = at
    for at in largest.values():
        cpu, gpu_cache = at.model.cpu_tier_bytes_per_gpu, at.role.memory.kv_capacity_bytes_per_gpu
        if cpu and cpu < gpu_cache:
            yield Problem(
                ("models", at.model.name, "offload", "cpu_gib_per_gpu"),
                f"the CPU tier of {cpu / GIB:,.0f} GiB a GPU is smaller than the GPU's own KV cache of "
                f"{gpu_cache / GIB:,.0f} GiB ({at.where})",
                f"write at least {at_least(gpu_cache / GIB)}, or leave `offload` out",
            )
        if at.model.nvme_tier_bytes_per_gpu and at.model.nvme_tier_bytes_per_gpu < cpu:
            yield Problem(
                ("models", at.model.name, "offload", "nvme_gib_per_gpu"),
                f"the disk tier of {at.model.nvme_tier_bytes_per_gpu / GIB:,g} GiB a GPU is smaller than the CPU tier "
                f"of {cpu / GIB:,g} GiB",
                f"write at least {at_least(cpu / GIB)}",
            )


@rule(
    "IF-MEM-007",
    "a disk tier without the disk",
    joins=("cloud", "pod"),
    why="the tier would fill the root volume, or a network disk that is slower than computing the cache again.",
    do="use a machine with local NVMe, or a smaller disk tier.",
    source="instance tables in the catalog; dynamo#4508",
)
def disk_holds(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        node = machine(at)
        asked = at.model.nvme_tier_bytes_per_gpu * node.gpu_count
        if asked > node.local_nvme_gb * GB:
            yield Problem(
                ("models", at.model.name, "offload", "nvme_gib_per_gpu"),
                f"{node.name} has {node.local_nvme_gb:,} GB of local NVMe for {node.gpu_count} GPUs, "
                f"{asked / GB:,.0f} GB are asked for",
                f"write at most {math.floor(node.local_nvme_gb * GB / node.gpu_count / GIB)}"
                if node.local_nvme_gb
                else "remove `nvme_gib_per_gpu`",
            )
