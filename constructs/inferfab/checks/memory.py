"""Does it fit on a GPU: weights, the promised context, the planned requests."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.places import gb, once
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import (
    either,
    largest_context,
    more_memory,
    plain,
    workers_of,
)
from inferfab.environment.pools import SharedPool
from inferfab.findings import YamlPath
from inferfab.plan.memory import MOST_MEMORY_SHARE
from inferfab.plan.pools import PoolPlan

_VLLM = "vLLM: KV cache is what gpu-memory-utilization leaves after weights and a profiling run (vllm#2418)"


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
        needed = m.before_kv_bytes_per_gpu
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
