"""Command lines against the pair's flag lists, and prefill against decode."""

from collections.abc import Iterator

from inferfab.catalog.engines import Flag, vllm_flags
from inferfab.checks.facts import Facts, Placed
from inferfab.checks.memory import once
from inferfab.checks.registry import Problem, rule
from inferfab.environment.problems import meant
from inferfab.plan.engine import Argument

_P_AND_D = "vLLM 0.31.0 vllm/distributed/kv_transfer/kv_connector/v1/nixl: compatibility checks at handshake"
DECIDED = {
    "--model": "models.*.source", "--served-model-name": "the model's name", "--revision": "models.*.revision",
    "--max-model-len": "models.*.context_tokens", "--kv-cache-dtype": "models.*.kv_cache_dtype",
    "--enable-prefix-caching": "models.*.prefix_caching", "--no-enable-prefix-caching": "models.*.prefix_caching",
    "--speculative-config": "models.*.speculative", "--tensor-parallel-size": "tensor_parallel",
    "--pipeline-parallel-size": "pipeline_parallel", "--data-parallel-size": "data_parallel",
    "--enable-expert-parallel": "expert_parallel", "--block-size": "block_tokens",
    "--gpu-memory-utilization": "gpu_memory_utilization", "--max-num-seqs": "max_sequences",
    "--max-num-batched-tokens": "max_batched_tokens", "--disaggregation-mode": "topology",
    "--kv-transfer-config": "topology and fabric",
    "--kv-offloading-size": "models.*.offload", "--kv-offloading-backend": "models.*.offload",
    "--kv-events-config": "prefix caching and routing",
}  # fmt: skip
"""Flags that the plan decides, and the field that decides each: a second place would disagree one day."""


def stated_flags(facts: Facts) -> Iterator[tuple[Placed, str, str | int | float | bool]]:
    """(role, flag, value) of every flag that the environment adds."""
    for at in once(facts.roles()):
        asked = facts.asked(at.pool.name)
        workers = getattr(asked, at.role.role)
        for flag, value in workers.flags.items():
            yield at, flag, value


@rule(
    "IF-ENG-001",
    "a flag that the engine does not have",
    joins=("environment", "engine"),
    why="the engine exits at start with a usage message, in every pod.",
    do="use the long name of a flag of the pinned vLLM.",
    source="flag list of the pair, parsed from the released sources",
)
def flags_known(facts: Facts) -> Iterator[Problem]:
    known = vllm_flags(facts.fleet.engine.vllm)
    for at, flag, value in stated_flags(facts):
        path = at.path("flags", flag)
        if flag in DECIDED:
            yield Problem(
                path, f"`{flag}` is decided by {DECIDED[flag]}", "set it there and remove it here", of_key=True
            )
            continue
        declared = known.get(flag)
        negated = known.get(f"--{flag.removeprefix('--no-')}") if flag.startswith("--no-") else None
        if declared is None and negated is not None and negated.negatable:
            yield Problem(
                path,
                f"`{flag}` is written as its opposite",
                f"write `--{flag.removeprefix('--no-')}: false`",
                of_key=True,
            )
        elif declared is None or not flag.startswith("--"):
            long = next((f for f in declared.flags if f.startswith("--")), None) if declared else None
            fix = f"write `{long}`" if long else meant(flag, [f for f in known if f.startswith("--")])
            yield Problem(
                path,
                f"vLLM {facts.fleet.engine.vllm} has no flag `{flag}`"
                if not declared
                else f"`{flag}` is a short form that the operator does not read",
                fix,
                of_key=True,
            )
        else:
            yield from _value_fits(declared, flag, value, path)


def _value_fits(
    declared: Flag, flag: str, value: str | int | float | bool, path: tuple[str | int, ...]
) -> Iterator[Problem]:
    switch = declared.action in ("store_true", "store_false") or declared.type == "bool"
    if switch and not isinstance(value, bool):
        yield Problem(path, f"`{flag}` is a switch, not {value!r}", "write true or false")
    elif switch and value is False and not declared.negatable:
        yield Problem(path, f"`{flag}` is off unless named", "remove it")
    elif not switch and isinstance(value, bool):
        yield Problem(path, f"`{flag}` takes a value, not {str(value).lower()}", "write its value")
    elif declared.type in ("int", "float") and isinstance(value, str) and declared.choices is None:
        yield Problem(path, f"`{flag}` takes a number, not {value!r}", "write a number")
    elif isinstance(declared.choices, tuple) and not declared.choices_open and value not in declared.choices:
        yield Problem(path, f"`{flag}` cannot be {value!r}", meant(value, [str(c) for c in declared.choices], most=20))


@rule(
    "IF-ENG-002",
    "a command line that the pair does not accept",
    joins=("engine", "pod"),
    why="what the plan decides itself must be in the pair's list too; this finding means a fault of ours, or a pair "
    "that is half added.",
    do="report it; until then use another value or pair.",
    source="flag list of the pair, parsed from the released sources",
)
def decided_flags_known(facts: Facts) -> Iterator[Problem]:
    known = vllm_flags(facts.fleet.engine.vllm)
    for at in once(facts.roles()):
        asked = getattr(facts.asked(at.pool.name), at.role.role).flags
        stated = {*asked, *(f"--no-{flag.removeprefix('--')}" for flag in asked)}
        for argument in at.role.engine.arguments:
            if argument.flag in ("--disaggregation-mode", *stated) or _accepted(known, argument):
                continue  # a flag that the environment states is IF-ENG-001's
            shown = " ".join(part for part in (argument.flag, argument.value) if part)
            yield Problem(
                at.path(),
                f"vLLM {facts.fleet.engine.vllm} does not accept `{shown:.80}`",
                "choose another value",
                of_key=True,
            )


def _accepted(known: dict[str, Flag], argument: Argument) -> bool:
    declared = known.get(argument.flag)
    if declared is None:
        positive = known.get(f"--{argument.flag.removeprefix('--no-')}")
        return argument.flag.startswith("--no-") and positive is not None and positive.negatable
    if isinstance(declared.choices, tuple) and not declared.choices_open and argument.value is not None:
        return argument.value in [str(c) for c in declared.choices]
    return True


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
        if heads % split:
            what = f"{heads} attention heads, which {split} GPUs cannot share evenly"
        elif any(not _splits(n, split) for n in kv_heads):
            few = next(n for n in sorted(kv_heads) if not _splits(n, split))
            what = f"{few} KV heads, which {split} GPUs can neither share nor copy evenly"
        else:
            continue
        near = [
            n
            for n in range(1, at.group.gpus_per_node + 1)
            if heads % n == 0 and all(_splits(each, n) for each in kv_heads)
        ]
        yield Problem(
            at.path("tensor_parallel"), f"{at.model.title} has {what}", f"one of: {', '.join(map(str, near))}"
        )


def _splits(kv_heads: int, split: int) -> bool:
    """KV heads are shared out, or copied where there are more GPUs than heads."""
    return kv_heads % split == 0 or split % kv_heads == 0


@rule(
    "IF-ENG-004",
    "prefill and decode that do not understand each other",
    joins=("engine", "fabric"),
    why="the KV handshake is rejected, and every request fails.",
    do="make both roles agree.",
    source=_P_AND_D,
)
def prefill_matches_decode(facts: Facts) -> Iterator[Problem]:
    seen: set[str] = set()
    for pool in facts.fleet.pools:
        if pool.kv_transfer is None or pool.name in seen:
            continue
        seen.add(pool.name)
        prefill, decode = pool.role("prefill"), pool.role("decode")
        model = facts.model(pool.models[0])
        if decode.parallelism.pipeline > 1:
            yield Problem(
                ("pools", pool.name, "decode", "pipeline_parallel"),
                "a KV consumer cannot run pipeline parallelism",
                "write 1",
            )
        if model.kv_precision == "nvfp4" and prefill.parallelism.tensor != decode.parallelism.tensor:
            yield Problem(
                ("pools", pool.name, "decode", "tensor_parallel"),
                "an NVFP4 KV cache needs the same tensor_parallel on both sides "
                f"(prefill {prefill.parallelism.tensor}, decode {decode.parallelism.tensor})",
                f"write {prefill.parallelism.tensor}",
            )
        big, small = (
            max(prefill.parallelism.tensor, decode.parallelism.tensor),
            min(prefill.parallelism.tensor, decode.parallelism.tensor),
        )
        if big % small:
            yield Problem(
                ("pools", pool.name, "decode", "tensor_parallel"),
                f"tensor_parallel {big} is not a multiple of {small}",
                f"write {prefill.parallelism.tensor}",
            )


@rule(
    "IF-ENG-005",
    "batch limits that contradict",
    joins=("engine",),
    why="vLLM refuses to start when a pass holds fewer tokens than sequences.",
    do="raise max_batched_tokens, or lower max_sequences.",
    source="vLLM SchedulerConfig: max_num_batched_tokens >= max_num_seqs",
)
def batch_limits_agree(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        tokens, sequences = (
            int(at.role.engine.value_of(f) or 0) for f in ("--max-num-batched-tokens", "--max-num-seqs")
        )
        drafted = 1 + (at.model.speculative.tokens if at.model.speculative else 0)
        if tokens < sequences:
            yield Problem(
                at.path("max_batched_tokens"),
                f"{tokens} tokens a pass for {sequences} sequences",
                f"write at least {sequences}",
            )
        elif tokens < sequences * drafted and at.role.role != "prefill":
            yield Problem(
                at.path("max_batched_tokens"),
                f"{tokens} tokens a pass for {sequences} sequences of {drafted} tokens each (one, and {drafted - 1} "
                "drafted)",
                f"write at least {sequences * drafted}",
                severity="warning",
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


@rule(
    "IF-ENG-007",
    "offloading without prefix caching",
    joins=("engine", "pod"),
    severity="warning",
    why="blocks are found again by the hash of their prefix; without hashes the lower tiers are filled and never read.",
    do="switch prefix caching on, or leave `offload` out.",
    source="vLLM 0.31.0 vllm/v1/kv_offload: blocks are keyed by prefix hash (read from source)",
)
def offload_has_hashes(facts: Facts) -> Iterator[Problem]:
    for model in facts.fleet.models:
        if model.cpu_tier_bytes_per_gpu and not model.prefix_caching:
            yield Problem(
                ("models", model.name, "offload"),
                "KV cache is offloaded and prefix caching is off",
                "remove `prefix_caching: false`, or `offload`",
                of_key=True,
            )
