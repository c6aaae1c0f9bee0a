"""How one engine is cut: GPUs, heads, batches."""

from collections.abc import Iterator

import inferfab.checks.engine_settings
import inferfab.checks.parallelism  # noqa: F401 - enter the rules that judge manifests too
from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.remedies import splits_heads
from inferfab.checks.serving.known_models import model_of
from inferfab.checks.serving.manifest_views import spot
from inferfab.checks.serving.register import judges_manifests, of_manifests, serving_rule
from inferfab.checks.serving.views import EngineView, Serving
from inferfab.manifests.model import Manifests

_RANKS_ELSEWHERE = (
    "--data-parallel-rank",
    "--data-parallel-start-rank",
    "--data-parallel-hybrid-lb",
    "--data-parallel-external-lb",
    "--data-parallel-address",
    "--enable-elastic-ep",
    "--nnodes",
)
_TP, _PP, _DP = "--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size"


@judges_manifests("IF-ENG-003")
def heads_divide(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        model, split = model_of(engine), engine.tensor
        if model is not None and split and split > 0 and not splits_heads(model.shape, split):
            near = [n for n in range(1, 17) if splits_heads(model.shape, n)]
            yield engine.at(_TP).problem(
                f"{model.title} has {model.shape.query_heads} attention heads, which {split} GPUs cannot share evenly",
                f"one of: {', '.join(map(str, near))}",
                value=str(split),
            )


@judges_manifests("IF-ENG-005")
def batch_limits_agree(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        tokens, sequences = engine.whole("--max-num-batched-tokens"), engine.whole("--max-num-seqs")
        if tokens is not None and sequences is not None and tokens < sequences:
            yield engine.at("--max-num-batched-tokens").problem(
                f"{tokens} tokens a pass for {sequences} sequences", f"write at least {sequences}", value=str(tokens)
            )


@judges_manifests("IF-ENG-008")
def stages_have_layers(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        model, stages = model_of(engine), engine.pipeline
        if model is not None and stages is not None:
            layers = sum(g.layers for g in model.shape.attention)
            if stages > layers:
                what = f"{model.title} has {layers} layers, for {stages} stages"
                yield engine.at(_PP).problem(what, f"write at most {layers}")


@judges_manifests("IF-ENG-006")
def experts_exist(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        model = model_of(engine)
        if model is not None and not model.shape.experts and engine.on("--enable-expert-parallel"):
            yield engine.at("--enable-expert-parallel").problem(
                f"{model.title} has no experts", "remove it, and use more replicas", severity="error"
            )


@judges_manifests("IF-ENG-010")
def block_size_taken(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        tokens, model = engine.whole("--block-size"), model_of(engine)
        latent = model is not None and any(g.kind == "mla" for g in model.shape.attention)
        where = engine.at("--block-size")
        if tokens is not None and (tokens < 1 or tokens % 16):
            yield where.problem(f"{tokens} is not a multiple of 16", f"write {64 if latent else 16}")
        elif tokens is not None and latent and tokens % 32:
            yield where.problem(
                f"{model.title if model else ''} has latent attention, whose fast kernels take 64 tokens, not {tokens}",
                "write 64, or leave it out",
                severity="warning",
            )


@serving_rule(
    "IF-ENG-018",
    "one pass that cannot hold a whole prompt",
    joins=("engine",),
    why="without chunked prefill a prompt is read in one pass, and vLLM does not start when the longest promised one "
    "does not fit into it.",
    do="leave chunked prefill on, or raise `--max-num-batched-tokens` to `--max-model-len`.",
    source="vLLM 0.31.0 vllm/config/scheduler.py SchedulerConfig.verify_max_model_len",
)
def prompts_fit_a_pass(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        tokens, longest = engine.whole("--max-num-batched-tokens"), engine.whole("--max-model-len")
        off = engine.on("--enable-chunked-prefill") is False
        if off and tokens is not None and longest is not None and tokens < longest:
            yield engine.at("--max-num-batched-tokens").problem(
                f"{engine.name} reads at most {tokens:,} tokens a pass and promises {longest:,} with chunked prefill "
                "off",
                f"write at least {longest}, or leave chunked prefill on",
                value=str(tokens),
            )


@manifest_rule(
    "IF-ENG-019",
    "parallelism that is not the GPUs of the pod",
    joins=("engine", "pod"),
    why="with too few GPUs the engine does not start; with more than it uses the rest are paid for and idle.",
    do="make tensor x pipeline x data parallelism the GPUs of the pod times its nodes.",
    source="vLLM: vllm/config/parallel.py world_size; Dynamo operator: deploy/operator/internal/dynamo/backend_vllm.go",
)
def gpus_match(manifests: Manifests) -> Iterator[Problem]:
    for serving in of_manifests(manifests):
        for engine in serving.engines:
            yield from _gpus(engine)


def _gpus(engine: EngineView) -> Iterator[Problem]:
    # Where more flags may come, what is given is the least.
    tensor, pipeline, data = (engine.whole(f, 1) if f in engine.given else 1 for f in (_TP, _PP, _DP))
    local = engine.whole("--data-parallel-size-local")
    if not engine.gpus or not tensor or not pipeline or not data or engine.workload is None:
        return
    mig = any(name.startswith("nvidia.com/mig-") for name in engine.resources)
    ranks = local if local is not None else data
    one, there = tensor * pipeline, engine.gpus * engine.nodes
    needs = one * ranks * (engine.nodes if local is not None else 1)
    # Ranks of data parallelism may be pods of their own, each told which it is.
    outside = any(flag in engine.given for flag in _RANKS_ELSEWHERE)
    ray = engine.value("--distributed-executor-backend") == "ray" or engine.value("--data-parallel-backend") == "ray"
    spelled = " x ".join(str(n) for n in (tensor, pipeline, ranks) if n > 1) or "1"
    flag = _TP if _TP in engine.given else _PP if _PP in engine.given else _DP
    where = engine.at(flag)
    if needs > there and not outside and not (ray and engine.nodes == 1) and not mig:
        nodes = f" on {engine.nodes} nodes" if engine.nodes > 1 else ""
        yield where.problem(
            f"{engine.name} splits over {needs} GPUs ({spelled}) and has {there}{nodes}",
            f"ask for {-(-needs // engine.nodes)} GPUs a pod, or split over {there}",
            value=str(tensor),
        )
    elif needs < there and not outside and not mig and not engine.hidden and _alone(engine):
        yield where.problem(
            f"{engine.name} has {there} GPUs and uses {needs} ({spelled})",
            f"ask for {needs}, or split over {there}",
            value=str(tensor),
            severity="warning",
        )


def _alone(engine: EngineView) -> bool:
    """The container starts no second engine that would use the rest, and its script gives this one no part of them."""
    workload, process = engine.workload, engine.process
    assert workload is not None
    assert process is not None
    masked = process.env("CUDA_VISIBLE_DEVICES") is not process.container.env.get("CUDA_VISIBLE_DEVICES")
    if masked or (process.step is not None and process.step.looped) or "--omni" in engine.given:
        return False  # stages of vllm-omni choose their devices themselves
    return sum(1 for p in workload.engines if p.container is process.container) == 1


@manifest_rule(
    "IF-ENG-020",
    "a parallelism that the operator does not read",
    joins=("engine", "cluster"),
    why="Dynamo's operator decides from these flags how a worker of several nodes is started, and reads only the long "
    "form with a space: otherwise every node starts a whole engine of its own.",
    do="write `--tensor-parallel-size 16`, flag and number apart, in `args`.",
    source="ai-dynamo/dynamo deploy/operator/internal/dynamo/backend_vllm.go, read at 1.2.0",
)
def operator_reads_it(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        if workload.graph is None or workload.nodes < 2:
            continue
        for process in workload.engines:
            for option in process.options.given:
                if option.flag in (_TP, _PP, _DP) and (option.joined or option.spelled != option.flag):
                    shown = f"{option.spelled}={option.value}" if option.joined else option.spelled
                    yield spot(option.ref).problem(
                        f"`{shown}` of `{workload.name}`, which spans {workload.nodes} nodes",
                        f"write `{option.flag} {option.value}`, apart",
                    )
