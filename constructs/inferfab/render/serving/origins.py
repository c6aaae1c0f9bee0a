"""Which field of the environment a value came from, for the reader of a rendered file."""

from inferfab.environment.pools import SharedPool
from inferfab.plan.serving.component import ComponentPlan, GraphPlan

_OF_MODEL = {
    "--model": "source, .revision",
    "--max-model-len": "context_tokens",
    "--kv-cache-dtype": "kv_cache_dtype",
    "--enable-prefix-caching": "prefix_caching",
    "--no-enable-prefix-caching": "prefix_caching",
    "--speculative-config": "speculative",
    "--enable-lora": "adapters",
    "--max-loras": "adapters",
    "--max-lora-rank": "adapters",
}
_OF_ROLE = {
    "--tensor-parallel-size": "tensor_parallel",
    "--pipeline-parallel-size": "pipeline_parallel",
    "--data-parallel-size": "data_parallel",
    "--enable-expert-parallel": "expert_parallel",
    "--gpu-memory-utilization": "gpu_memory_utilization",
    "--max-num-seqs": "max_sequences",
    "--max-num-batched-tokens": "max_batched_tokens",
}


def argument_from(graph: GraphPlan, part: ComponentPlan, flag: str) -> str:
    """Path of the field that says a flag's value, or would say it where the plan decided; empty where none does."""
    if part.node_group is None:
        return f"pools.{graph.pool}.block_tokens" if flag == "--router-block-size" else ""
    if flag in _OF_MODEL:
        return f"models.{graph.model}.{_OF_MODEL[flag]}"
    if flag == "--block-size":
        return f"pools.{graph.pool}.block_tokens"
    if flag not in _OF_ROLE:
        return ""
    field = _OF_ROLE[flag]
    if graph.role != "shared":
        return _of_role(graph, part, field)
    return f"pools.{graph.pool}.{field}" if field in SharedPool.model_fields else ""


def replicas_from(graph: GraphPlan, part: ComponentPlan) -> str:
    """The same for the number of pods."""
    if part.kind == "frontend":
        return f"pools.{graph.pool}.frontends" if graph.pool else ""
    if part.node_group is None:
        return ""
    if graph.role == "shared":
        return f"pools.{graph.pool}.models, as packed on its nodes"
    return _of_role(graph, part, "replicas")


def _of_role(graph: GraphPlan, part: ComponentPlan, field: str) -> str:
    return f"pools.{graph.pool}.{part.kind}.{field}"
