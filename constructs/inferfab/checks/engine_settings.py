"""Settings of one engine, and of prefill against decode, that contradict."""

from collections.abc import Iterator

from inferfab.catalog.models import families_with_mtp, models
from inferfab.checks.facts import Facts
from inferfab.checks.places import once
from inferfab.checks.registry import Problem, rule

_P_AND_D = "vLLM 0.31.0 vllm/distributed/kv_transfer/kv_connector/v1/nixl: compatibility checks at handshake"


@rule(
    "IF-ENG-010",
    "a KV block that no attention kernel takes",
    joins=("engine",),
    why="attention kernels read the cache in blocks of 16 tokens or a multiple; for latent attention FlashMLA takes "
    "multiples of 64, FlashInfer's MLA 32 or 64, and with another size vLLM passes both over.",
    do="leave `block_tokens` out, or write a multiple of 16 (latent attention: 64).",
    source="vLLM 0.31.0: get_supported_kernel_block_sizes in vllm/v1/attention/backends",
)
def block_size_taken(facts: Facts) -> Iterator[Problem]:
    for name, pool in facts.environment.pools.items():
        tokens = pool.block_tokens
        if tokens is None:
            continue
        served = next((p.models for p in facts.fleet.pools if p.name == name), ())
        latent = [m for m in map(facts.model, served) if any(g.kind == "mla" for g in m.shape.attention)]
        path = ("pools", name, "block_tokens")
        if tokens % 16:
            near = 16 * max(1, round(tokens / 16))
            yield Problem(path, f"{tokens} is not a multiple of 16", f"write {64 if latent else near}, or leave it out")
        elif latent and tokens % 32:
            yield Problem(
                path,
                f"{latent[0].title} has latent attention, whose fast kernels take 64 tokens, not {tokens}",
                "write 64, or leave it out",
                severity="warning",
            )


@rule(
    "IF-ENG-011",
    "multi-token prediction of a model that has none",
    severity="warning",
    joins=("engine",),
    why="the method `mtp` runs modules that are part of the checkpoint; without them the engine stops at start.",
    do="use another method (`ngram`, or `eagle3` with a draft), or none.",
    source="families with such modules, in the catalog's models",
)
def prediction_modules_exist(facts: Facts) -> Iterator[Problem]:
    families = families_with_mtp()
    for name, asked in facts.environment.models.items():
        entry = models().get(asked.catalog or "")
        if asked.speculative is None or asked.speculative.method != "mtp" or entry is None:
            continue
        if entry.family not in families:
            yield Problem(
                ("models", name, "speculative", "method"),
                f"{entry.title} has no modules for multi-token prediction; the families {', '.join(families)} do",
                "write `ngram`",
            )


@rule(
    "IF-ENG-024",
    "suffix decoding without its package",
    severity="warning",
    joins=("engine",),
    why="the method `suffix` imports the package arctic-inference, on which vLLM does not depend; without it the "
    "engine stops at start, on a GPU that is paid for.",
    do="use `ngram`, or an image in which you have seen the package.",
    source="vLLM 0.31.0 vllm/config/speculative.py and its package metadata; that NVIDIA's image has it is unproven",
)
def suffix_package_there(facts: Facts) -> Iterator[Problem]:
    for name, asked in facts.environment.models.items():
        if asked.speculative is not None and asked.speculative.method == "suffix":
            yield Problem(
                ("models", name, "speculative", "method"),
                "`suffix` needs the package arctic-inference, and nobody has seen it in the image",
                "write `ngram`",
            )


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
