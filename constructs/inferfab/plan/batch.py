"""How many sequences a data-parallel rank may run at once: decided here for engine and estimate alike.

The estimate assumes a batch, and vLLM runs whatever it is allowed to. If both did not read one number, the plan
would promise the step time of a batch of 60 while ``--max-num-seqs 256`` lets the engine decode 256. So an ITL
promise that a smaller batch keeps becomes the engine's limit. A stated ``max_sequences`` is taken as it is, by both:
the plan then shows the step time of that batch, and the checks hold it against the promise.
"""

from typing import Literal

from pydantic import PositiveInt

from inferfab.catalog.gpus import Gpu
from inferfab.environment.pools import Workers
from inferfab.plan.memory import MemoryPlan, Parallelism, sequence_bytes
from inferfab.plan.performance import batch_within_itl
from inferfab.plan.served import ModelPlan
from inferfab.record import Record

MOST_DEFAULT_SEQUENCES = 256


class BatchPlan(Record):
    """Most sequences that a data-parallel rank runs at once."""

    max_sequences: PositiveInt
    """``--max-num-seqs``; vLLM applies it per data-parallel rank (vllm/config/scheduler.py SchedulerConfig)."""
    bound_by: Literal["environment", "default", "memory", "itl promise"]
    """What decided: the file, the default of 256, the KV cache's size, or the tier's strictest ITL promise."""


def plan_batch(
    workers: Workers,
    model: ModelPlan,
    gpu: Gpu,
    parallel: Parallelism,
    memory: MemoryPlan,
    *,
    mean_sequence_tokens: float,
    itl_at_most_ms: float | None,
) -> BatchPlan:
    """As stated; else the least of 256, what the KV cache holds of typical requests, and what keeps the ITL promise.

    Typical, not longest: a batch sized for the promised context would leave most of the cache empty, and vLLM
    preempts the youngest sequences in the rare case that many are long. Windows count as full as they are at
    that length, which is fuller a token than at the promised context.

    :param itl_at_most_ms: the strictest ITL promise; None where there is none, and for workers that write no answers.
    """
    if workers.max_sequences is not None:
        return BatchPlan(max_sequences=workers.max_sequences, bound_by="environment")
    tokens = round(mean_sequence_tokens)
    least = BatchPlan(max_sequences=MOST_DEFAULT_SEQUENCES, bound_by="default")
    held = max(1, int(memory.kv_capacity_bytes_per_gpu / sequence_bytes(model, parallel, tokens)))
    if held < least.max_sequences:
        least = BatchPlan(max_sequences=held, bound_by="memory")
    if itl_at_most_ms is not None:
        kept = batch_within_itl(model, gpu, parallel, memory, tokens, itl_at_most_ms)
        if kept < least.max_sequences:
            least = BatchPlan(max_sequences=kept, bound_by="itl promise")
    return least
