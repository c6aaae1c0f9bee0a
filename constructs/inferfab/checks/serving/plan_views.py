"""A plan's pools as views. Paths are those of the environment file, also of what the plan decides itself."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts, Placed
from inferfab.checks.serving.views import EngineView, Given, Serving, Spot, Variable
from inferfab.findings import YamlPath

_OF_MODEL = {
    "--model": "source", "--revision": "revision", "--max-model-len": "context_tokens",
    "--kv-cache-dtype": "kv_cache_dtype", "--enable-prefix-caching": "prefix_caching",
    "--speculative-config": "speculative",
}  # fmt: skip
_OF_ROLE = {
    "--tensor-parallel-size": "tensor_parallel", "--pipeline-parallel-size": "pipeline_parallel",
    "--data-parallel-size": "data_parallel", "--enable-expert-parallel": "expert_parallel",
    "--gpu-memory-utilization": "gpu_memory_utilization", "--max-num-seqs": "max_sequences",
    "--max-num-batched-tokens": "max_batched_tokens",
}  # fmt: skip


def plan_servings(facts: Facts) -> Iterator[Serving]:
    """One for each pool and set of machines: the same pool in ten cells is one mistake."""
    together: dict[tuple[str, str], list[Placed]] = {}
    for at in facts.roles():
        together.setdefault((at.pool.name, at.cell.name), []).append(at)
    seen: set[tuple[str, ...]] = set()
    for (pool, _), roles in together.items():
        key = (pool, *(at.group.instance for at in roles), *(at.role.fabric.kind for at in roles))
        if key not in seen:
            seen.add(key)
            yield Serving(f"pool `{pool}`", tuple(_view(facts, at) for at in roles), (), Spot(("pools", pool)))


def _view(facts: Facts, at: Placed) -> EngineView:
    engine, pair = at.role.engine, facts.fleet.engine
    asked = getattr(facts.asked(at.pool.name), at.role.role).flags
    given = {}
    for argument in engine.arguments:
        negative = argument.flag.startswith("--no-")
        flag = f"--{argument.flag.removeprefix('--no-')}" if negative else argument.flag
        given[flag] = Given(flag, argument.value, Spot(_path(at, flag, argument.flag, asked)), off=negative)
    role = at.role.role if at.role.role in ("prefill", "decode") else "worker"
    return EngineView(
        name=f"{role} of `{at.pool.name}`",
        role=role,
        program="dynamo.vllm",
        image_version=pair.dynamo,
        vllm=pair.vllm,
        given=given,
        env={v.name: Variable(v.value, v.field_ref, Spot(at.path())) for v in engine.env},
        spot=Spot(at.path()),
        resources={
            **engine.resources,
            **({"hugepages-2Mi": engine.hugepages_2mi_mib * 1024**2} if engine.hugepages_2mi_mib else {}),
        },
        privileged=engine.privileged,
        capabilities=engine.capabilities,
        # Google's NICs and DRANET's come by annotation and claim.
        networked=at.role.fabric.kind == "roce" or at.cell.fabric.plugin == "dranet",
        gpus=engine.gpus,
        nodes=at.group.nodes_per_worker,
    )


def _path(at: Placed, flag: str, spelled: str, asked: dict[str, object]) -> YamlPath:
    for name in (spelled, flag):
        if name in asked:
            return at.path("flags", name)
    if flag in _OF_MODEL:
        return ("models", at.model.name, _OF_MODEL[flag])
    if flag == "--block-size":
        return ("pools", at.pool.name, "block_tokens")
    return at.path(_OF_ROLE[flag]) if flag in _OF_ROLE else at.path()
