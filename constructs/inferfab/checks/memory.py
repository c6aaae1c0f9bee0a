"""Does it fit: GPU memory, host memory, local disks."""

import math
from collections.abc import Iterator

from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import InstanceType, instances
from inferfab.checks.facts import Facts, Placed
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import (
    DEFAULT_UTILIZATION,
    FP8_CACHE_LACKS,
    at_least,
    either,
    largest_context,
    more_memory,
    plain,
    workers_of,
)
from inferfab.environment.pools import SharedPool
from inferfab.findings import YamlPath
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import GB, GIB, Bounds
from inferfab.plan.served import ModelPlan
from inferfab.plan.sharing import plan_shared

_VLLM = "vLLM: KV cache is what gpu-memory-utilization leaves after weights and a profiling run (vllm#2418)"
SYSTEM_MEMORY_SHARE = 0.06
"""Of a node's memory, kept by kubelet, system and daemons."""
FP4_GPUS = "blackwell"
MOST_MEMORY_SHARE = 0.97


def gb(value: float) -> str:
    return f"{value / GB:,.1f} GB"


def once(places: Iterator[Placed]) -> Iterator[Placed]:
    """One placement for each pool, role and machine: the same workers in ten cells are one mistake."""
    seen: set[tuple[str, str, str]] = set()
    for at in places:
        key = (at.pool.name, at.role.role, at.group.instance)
        if key not in seen:
            seen.add(key)
            yield at


def machine(at: Placed) -> InstanceType:
    return instances(at.group.cloud)[at.group.instance]


@rule(
    "IF-MEM-001",
    "the weights do not fit",
    joins=("cloud", "pod", "engine"),
    why="the worker stops while loading, after the GPU has been paid for.",
    do="split over more GPUs, use a smaller precision or a larger GPU.",
    source=_VLLM,
)
def weights_fit(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        m = at.role.memory
        if m.kv_capacity_bytes_per_gpu > 0:
            continue
        usable = m.gpu_memory_bytes * m.gpu_memory_utilization
        needed = m.weights_bytes_per_gpu + m.draft_bytes_per_gpu + m.overhead_bytes_per_gpu
        ways = more_memory(facts, at)
        starved = bool(ways) and "gpu_memory_utilization" in ways[0]
        yield Problem(
            at.path("gpu_memory_utilization" if starved else "tensor_parallel"),
            f"{at.model.title} ({at.model.quantization}) needs {gb(needed)} a GPU before any KV cache, "
            f"{at.group.gpu} has {gb(usable)} to give ({m.gpu_memory_utilization:.0%} of {gb(m.gpu_memory_bytes)})",
            either(*ways) or "spread it over nodes with `pipeline_parallel`, or use a smaller model",
            value=f"{m.gpu_memory_utilization:g}" if starved else str(at.role.parallelism.tensor),
        )


@rule(
    "IF-MEM-002",
    "the promised context does not fit",
    joins=("cloud", "engine", "promise"),
    why="vLLM refuses to start when max-model-len is larger than its KV cache.",
    do="promise a shorter context, split over more GPUs, or use an fp8 KV cache.",
    source=_VLLM,
)
def context_fits(facts: Facts) -> Iterator[Problem]:
    short = [at for at in once(facts.roles()) if at.role.memory.kv_capacity_bytes_per_gpu > 0]
    short = [at for at in short if not at.role.memory.fits]
    # A model has one context: what is suggested suits all of its workers.
    suits: dict[str, int] = {}
    for at in short:
        suits[at.model.name] = min(suits.get(at.model.name, at.model.context_tokens), largest_context(at))
    needed = {name: tokens for name, (tokens, _) in longest_requests(facts).items()}
    for at in short:
        m, holds, most = at.role.memory, largest_context(at), suits[at.model.name]
        if holds < at.model.context_tokens:
            shorter = f"promise at most {most} tokens" if most >= max(1, needed.get(at.model.name, 1)) else ""
            yield Problem(
                ("models", at.model.name, "context_tokens"),
                f"one sequence of {m.context_tokens:,} tokens needs {gb(m.kv_bytes_per_sequence_per_gpu)} of KV "
                "cache a GPU; "
                f"{at.where} has {gb(m.kv_capacity_bytes_per_gpu)}, enough for {holds:,} tokens",
                either(shorter, *more_memory(facts, at))
                or f"no split of {at.group.gpu} holds it: use a smaller model or shorter requests",
            )


@rule(
    "IF-MEM-003",
    "a context longer than the model's",
    joins=("engine", "promise"),
    why="beyond the length it was trained for, a model answers nonsense, and vLLM refuses to start.",
    do="promise at most the model's own length.",
    source="max_position_embeddings in the model's config.json",
)
def context_within_model(facts: Facts) -> Iterator[Problem]:
    for model in facts.fleet.models:
        if model.context_tokens > model.shape.max_context_tokens:
            yield Problem(
                ("models", model.name, "context_tokens"),
                f"{model.title} was made for {model.shape.max_context_tokens:,} tokens, {model.context_tokens:,} "
                "are promised",
                f"write {model.shape.max_context_tokens}",
            )


@rule(
    "IF-MEM-004",
    "a precision that the GPU cannot compute in",
    joins=("cloud", "engine"),
    why="the engine stops at start, or unpacks weights to 16 bits and runs slower than planned.",
    do="use a checkpoint in a precision of the GPU, or another GPU.",
    source="vLLM supported hardware for quantized kernels; GPU architectures in the catalog",
)
def precision_supported(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        yield from _precisions(at.model, at.group.gpu, at.where, at.path())
    seen: set[tuple[str, str]] = set()
    for pool in facts.fleet.pools:
        gpu = next(g.gpu for g in facts.fleet.node_groups if g.pool == pool.name and g.cell == pool.cell)
        if pool.shared is not None and (pool.name, gpu) not in seen:
            seen.add((pool.name, gpu))
            for name in pool.models:
                yield from _precisions(facts.model(name), gpu, f"{pool.name} in {pool.cell}", ("pools", pool.name))


def _precisions(model: ModelPlan, gpu_id: str, where: str, workers: YamlPath) -> Iterator[Problem]:
    gpu = gpus()[gpu_id]
    path = ("models", model.name, "quantization")
    if "bf16" not in gpu.dense_tflops:
        yield Problem(
            workers,
            f"{gpu.title} ({where}) does not compute in bf16, which every model of the catalog uses",
            "use a GPU of the Ampere generation or newer",
            of_key=True,
        )
        return  # what else such a GPU cannot do is of no interest
    if model.quantization == "fp8" and "fp8" not in gpu.dense_tflops:
        yield Problem(
            path,
            f"{gpu.title} ({where}) has no fp8 arithmetic; vLLM runs fp8 weights there in 16 bits",
            "expect 16-bit prefill speed, or use another GPU",
            severity="warning",
        )
    elif model.quantization == "nvfp4" and gpu.architecture != FP4_GPUS:
        yield Problem(
            path,
            f"{gpu.title} ({where}) has no fp4 arithmetic; vLLM runs nvfp4 weights there in 16 bits",
            "expect 16-bit prefill speed, or use an fp8 checkpoint",
            severity="warning",
        )
    kv = ("models", model.name, "kv_cache_dtype")
    latent = any(group.kind == "mla" for group in model.shape.attention)
    if model.kv_precision == "nvfp4" and latent:
        yield Problem(
            kv,
            f"{model.title} has latent attention, for which vLLM has no dense NVFP4 cache",
            "write `kv_cache_dtype: fp8`",
        )
    elif model.kv_precision == "nvfp4" and gpu.architecture != FP4_GPUS:
        yield Problem(
            kv,
            f"an nvfp4 KV cache needs a Blackwell GPU, {where} runs on {gpu.title}",
            "write `kv_cache_dtype: fp8`",
        )
    elif model.kv_precision == "fp8" and gpu.architecture in FP8_CACHE_LACKS:
        yield Problem(
            kv,
            f"an fp8 KV cache needs an Ada, Hopper or Blackwell GPU, {where} runs on {gpu.title}",
            "write `kv_cache_dtype: bf16`",
        )


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


@rule(
    "IF-MEM-008",
    "models that find no place in a shared pool",
    joins=("cloud", "pod", "engine"),
    why="their requests would be refused: a model without an instance is not listed.",
    do="add nodes, ask for fewer instances or sequences, use smaller precisions or a larger GPU.",
    source="NVIDIA MIG user guide: profile placements",
)
def shared_models_placed(facts: Facts) -> Iterator[Problem]:
    # In every cell, as each may have other nodes; what is the same in two is one finding.
    for pool in facts.fleet.pools:
        asked = facts.asked(pool.name)
        if pool.shared is None or not isinstance(asked, SharedPool):
            continue
        group = next(g for g in facts.fleet.node_groups if g.pool == pool.name and g.cell == pool.cell)
        gpu = gpus()[group.gpu]
        if asked.sharing == "mig" and not gpu.mig_profiles:
            yield Problem(
                ("pools", pool.name, "sharing"),
                f"{gpu.title} has no MIG profiles in the catalog",
                "write `sharing: sleep`, or use a GPU with MIG",
            )
            continue
        if pool.shared.unplanned:
            yield Problem(
                ("pools", pool.name, "models"),
                f"too many different instances to pack exactly ({pool.shared.unplanned})",
                "split the pool into two",
            )
            continue
        positions = {m.model: n for n, m in enumerate(asked.models)}
        needs = {i.model: i.bytes_needed for i in pool.shared.instances}
        missing = pool.shared.packing.unserved
        fix = _make_room(facts, pool, asked, group) if missing else ""
        for model, count in missing.items():
            yield Problem(
                ("pools", pool.name, "models", positions[model]),
                f"{count} of {asked.models[positions[model]].instances} instances of `{model}` ({gb(needs[model])} "
                "each) find no place on "
                f"{group.gpus.desired} x {gpu.title} ({gb(gpu.memory_bytes)})",
                fix,
            )


@rule(
    "IF-MEM-011",
    "nodes of one pool that MIG would cut differently",
    joins=("cloud", "pod", "engine"),
    why="a node says by one label how its GPUs are cut, and all nodes of a group have the same labels; nodes that join "
    "or are replaced could not be told apart.",
    do="split the pool, so that models of one size stand together, or change the number of nodes.",
    source="NVIDIA GPU operator: MIG manager, nvidia.com/mig.config",
)
def nodes_cut_alike(facts: Facts) -> Iterator[Problem]:
    seen: set[str] = set()
    for pool in facts.fleet.pools:
        shared = pool.shared
        if shared is None or shared.mode != "mig" or shared.mig_layout or pool.name in seen:
            continue
        if shared.unplanned or shared.packing.unserved or not shared.packing.total:
            continue  # IF-MEM-008
        seen.add(pool.name)
        sizes = sorted({one.profile for gpu in shared.packing.gpus for one in gpu})
        yield Problem(
            ("pools", pool.name, "models"),
            f"what is asked fits only where the nodes are cut differently ({', '.join(sizes)}), and a node group has "
            "one layout",
            "split the pool, so that models of one size stand together",
        )


def _make_room(facts: Facts, pool: PoolPlan, asked: SharedPool, group: NodeGroupPlan) -> str:
    """What would give every asked instance a place; tried out."""
    node = instances(group.cloud)[group.instance]
    models = [facts.model(m.model) for m in asked.models]
    pair = facts.fleet.engine

    def places(nodes: int, **change: float | int) -> bool:
        bounds = Bounds(min=nodes, desired=nodes, max=nodes)
        shared = plan_shared(asked.model_copy(update=change), node, bounds, models, pair, None)
        return not shared.packing.unserved and not shared.unplanned

    ways = []
    present = group.nodes.desired
    if asked.gpu_memory_utilization < DEFAULT_UTILIZATION and places(
        present, gpu_memory_utilization=DEFAULT_UTILIZATION
    ):
        ways.append(f"write `gpu_memory_utilization: {DEFAULT_UTILIZATION}`")
    more = next((n for n in (present + 1, present + 2, present + 3, 2 * present + 2, 4 * present) if places(n)), None)
    if more is not None:
        ways.append(f"add nodes (`desired: {more}` has room)")
    fewer = next((n for n in _halves(asked.max_sequences) if places(present, max_sequences=n)), None)
    if fewer is not None:
        ways.append(f"lower `max_sequences` to {fewer}")
    return either(*ways[:3]) or "use a GPU with more memory, smaller precisions or a shorter context"


def _halves(number: int) -> Iterator[int]:
    while number > 1:
        number //= 2
        yield number


def longest_requests(facts: Facts) -> dict[str, tuple[int, PoolPlan]]:
    """The longest prompt and answer together that a model's pools are planned for, and the pool, by model."""
    found: dict[str, tuple[int, PoolPlan]] = {}
    for pool in facts.fleet.pools:
        tokens = pool.workload.prompt_tokens + pool.workload.output_tokens
        for name in pool.models:
            if tokens > found.get(name, (0, pool))[0]:
                found[name] = (tokens, pool)
    return found


@rule(
    "IF-MEM-009",
    "a context shorter than the planned requests",
    joins=("engine", "promise"),
    why="vLLM refuses a prompt that leaves no room for its answer, so the typical request of the plan would fail.",
    do="promise at least prompt and answer of the workload, or plan for shorter requests.",
    source="vLLM: max-model-len counts prompt and output together",
)
def context_holds_requests(facts: Facts) -> Iterator[Problem]:
    for name, (tokens, pool) in longest_requests(facts).items():
        model, load = facts.model(name), pool.workload
        if model.context_tokens >= tokens:
            continue
        possible = tokens <= model.shape.max_context_tokens
        longer = f"write at least {tokens}, or plan for" if possible else f"{model.title} takes no more: plan for"
        yield Problem(
            ("models", name, "context_tokens"),
            f"pool `{pool.name}` is planned for {load.prompt_tokens:,} prompt and {load.output_tokens:,} answer "
            f"tokens, and `{name}` takes {model.context_tokens:,} together",
            f"{longer} shorter requests in its `workload`",
        )


@rule(
    "IF-MEM-010",
    "nothing left on the GPU beside the engine",
    severity="warning",
    joins=("pod", "engine"),
    why="the driver, CUDA contexts and other processes take some hundred megabytes; vLLM measures what is free at "
    "start and refuses when it is less than it was told to take.",
    do="leave the default of 0.92, or go up to 0.97 after measuring.",
    source="vLLM: gpu-memory-utilization is checked against free memory at start (vllm#2418)",
)
def memory_left_beside(facts: Facts) -> Iterator[Problem]:
    shares: dict[YamlPath, float] = {
        at.path("gpu_memory_utilization"): workers_of(facts, at).gpu_memory_utilization for at in once(facts.roles())
    }
    for name, pool in facts.environment.pools.items():
        if isinstance(pool, SharedPool):
            shares["pools", name, "gpu_memory_utilization"] = pool.gpu_memory_utilization
    for path, share in shares.items():
        if share > MOST_MEMORY_SHARE:
            rest = plain(round(100 - share * 100, 6))
            what = f"{plain(round(share * 100, 6))} % of the GPU's memory leave {rest} % for the driver"
            yield Problem(path, what, "write at most 0.97")
