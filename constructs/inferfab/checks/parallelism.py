"""How a worker is cut: heads, layers, experts."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.places import once
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import splits_heads


def _splits(kv_heads: int, split: int) -> bool:
    """KV heads are shared out, or copied where there are more GPUs than heads."""
    return kv_heads % split == 0 or split % kv_heads == 0


@rule(
    "IF-ENG-003",
    "attention heads that do not divide",
    joins=("engine", "pod"),
    why="vLLM refuses to start: each GPU takes the same number of heads, and whole KV heads.",
    do="use a tensor_parallel that divides the model's heads, and its KV heads or is a multiple of them.",
    source="vLLM: total number of attention heads must be divisible by tensor parallel size; "
    "vllm/model_executor/models/llama.py LlamaAttention",
)
def heads_divide(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        heads, split = at.model.shape.query_heads, at.role.parallelism.tensor
        kv_heads = {g.kv_heads for g in at.model.shape.attention if g.kind != "mla"}
        if splits_heads(at.model.shape, split):
            continue
        if heads % split:
            what = f"{heads} attention heads, which {split} GPUs cannot share evenly"
        else:
            few = next(n for n in sorted(kv_heads) if not _splits(n, split))
            what = f"{few} KV heads, which {split} GPUs can neither share nor copy evenly"
        near = [n for n in range(1, at.group.gpus_per_node + 1) if splits_heads(at.model.shape, n)]
        yield Problem(
            at.path("tensor_parallel"), f"{at.model.title} has {what}", f"one of: {', '.join(map(str, near))}"
        )


@rule(
    "IF-ENG-008",
    "stages without layers",
    joins=("engine", "pod"),
    why="each pipeline stage takes whole layers; vLLM does not start with a stage that has none.",
    do="use at most as many stages as the model has layers.",
    source="vLLM: vllm/distributed/utils.py get_pp_indices",
)
def stages_have_layers(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        layers = sum(g.layers for g in at.model.shape.attention)
        if at.role.parallelism.pipeline > layers:
            yield Problem(
                at.path("pipeline_parallel"),
                f"{at.model.title} has {layers} layers, for {at.role.parallelism.pipeline} stages",
                f"write at most {layers}",
            )


@rule(
    "IF-ENG-009",
    "experts that do not divide",
    severity="warning",
    joins=("engine", "pod"),
    why="vLLM gives the remainder one expert more each: the fullest GPUs need more memory and the others wait.",
    do="use a tensor_parallel times data_parallel that divides the model's experts.",
    source="vLLM: expert_map_manager.py determine_expert_map",
)
def experts_divide(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        parallel, experts = at.role.parallelism, at.model.shape.experts
        devices = parallel.tensor * parallel.data
        if not experts or not parallel.expert or experts % devices == 0:
            continue
        near = [d for d in range(1, experts + 1) if experts % d == 0 and d % parallel.tensor == 0]
        below = max((d for d in near if d < devices), default=None)
        above = min((d for d in near if d > devices), default=None)
        fixes = [f"`data_parallel: {d // parallel.tensor}`" for d in (below, above) if d is not None]
        yield Problem(
            at.path("data_parallel"),
            f"{experts} experts of {at.model.title} over {devices} GPUs (tensor x data): some hold "
            f"{-(-experts // devices)}, some {experts // devices}",
            f"use {' or '.join(fixes)}" if fixes else "use a `tensor_parallel` that divides them",
            value=str(parallel.data),
        )


@rule(
    "IF-ENG-006",
    "experts that the model does not have",
    joins=("engine",),
    why="expert and data parallelism of attention are for mixture-of-experts models; on a dense model they only "
    "copy weights.",
    do="use more replicas instead.",
    source="vLLM: expert parallel deployment",
    severity="warning",
)
def experts_exist(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        parallel = at.role.parallelism
        if not at.model.shape.experts and (parallel.expert or parallel.data > 1):
            field = "expert_parallel" if parallel.expert else "data_parallel"
            yield Problem(
                at.path(field),
                f"{at.model.title} has no experts",
                "remove it, and use more replicas",
                severity="error" if parallel.expert else "warning",
            )
