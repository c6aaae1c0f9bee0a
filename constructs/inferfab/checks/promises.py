"""Whether times that a tier promises can be kept at all."""

import math
from collections.abc import Iterator

from inferfab.checks.facts import Facts, Placed
from inferfab.checks.places import once
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import Keeps, Tried, at_least, either, more_gpus, other_gpus, tried
from inferfab.findings import YamlPath
from inferfab.plan.performance import BANDWIDTH_EFFICIENCY, FLOPS_EFFICIENCY
from inferfab.plan.quantities import Range

_ROOFLINE = "roofline of the plan: datasheet FLOPs and bandwidth at stated efficiencies"


_DAY_MS = 86_400_000
"""More than that cannot be promised."""


def ms(value: float) -> str:
    """A time with so many digits that it differs from the promise that it breaks."""
    if value < 0.01:
        return f"{value:.2g} ms"
    return f"{value:,.2f} ms" if value < 10 else f"{value:,.1f} ms" if value < 10_000 else f"{value:,.0f} ms"


def exactly(promised: float) -> str:
    """A promise as the file has it."""
    return f"{promised:,.10g} ms"


def faster(facts: Facts, at: Placed, keeps: Keeps) -> list[str]:
    """More or other GPUs with which the promise is kept; none that would not help."""
    return more_gpus(facts, at, keeps) or other_gpus(facts, at, keeps)


def slower_promise(least: float | None) -> str:
    """``promise at least 431 ms``, where the format takes that."""
    return f"promise at least {at_least(least)} ms" if least is not None and least <= _DAY_MS else ""


def _high(value: Range | None) -> float | None:
    return value.high if value else None


def promise_path(facts: Facts, tier: str) -> YamlPath:
    """Where the file speaks of a tier; a tier of the defaults has no place of its own."""
    return ("tiers", tier) if facts.environment.tiers else ("pools",)


@rule(
    "IF-PRM-001",
    "a first token that cannot come in time",
    joins=("engine", "promise"),
    why="reading the prompt alone takes longer than the promise allows, on an idle GPU, before any queue or transfer.",
    do="split prefill over more GPUs, use a faster GPU, shorter prompts, or promise more time.",
    source=_ROOFLINE,
)
def prefill_in_time(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        promised, takes = at.tier.strictest_ms("ttft"), at.role.performance.prefill_ms
        if promised is None or takes is None or takes.high is None:
            continue
        moved = (at.pool.kv_transfer.transfer_ms or 0.0) if at.pool.kv_transfer else 0.0
        if takes.high + moved <= promised:
            continue
        impossible = takes.low + moved > promised

        def keeps(worker: Tried, most: float = promised - moved) -> bool:
            high = _high(worker.performance.prefill_ms)
            return high is not None and high <= most

        def can(worker: Tried, most: float = promised - moved) -> bool:
            reads = worker.performance.prefill_ms
            return reads is not None and reads.low <= most

        ways = faster(facts, at, keeps) or (faster(facts, at, can) if impossible else [])
        prompt = at.pool.workload.prompt_tokens
        if impossible:
            yield Problem(
                at.path("tensor_parallel"),
                f"{prompt:,} prompt tokens take at least {ms(takes.low)} to read ({FLOPS_EFFICIENCY.high:.0%} "
                "of peak) "
                f"and {ms(moved)} to move in {at.where}; tier `{at.tier.name}` promises {exactly(promised)}",
                either(*ways, slower_promise(takes.high + moved), "" if ways else "plan for shorter prompts"),
                value=str(at.role.parallelism.tensor),
            )
        else:
            yield Problem(
                at.path("tensor_parallel"),
                f"{prompt:,} prompt tokens take {ms(takes.low)} to {ms(takes.high)} to read in {at.where}; "
                f"tier `{at.tier.name}` promises {exactly(promised)}, which leaves little or nothing for queueing",
                either(*ways, "simulate before relying on it"),
                value=str(at.role.parallelism.tensor),
                severity="warning",
            )


@rule(
    "IF-PRM-002",
    "tokens that cannot follow fast enough",
    joins=("engine", "promise"),
    why="each token reads all weights from GPU memory; below that time no batch size helps.",
    do="split decode over more GPUs, use a smaller precision, or promise more time.",
    source=_ROOFLINE,
)
def tokens_in_time(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        promised, step = at.tier.strictest_ms("itl"), at.role.performance.decode_step_ms
        if promised is not None and step is not None and step.low > promised:

            def keeps(worker: Tried, most: float = promised) -> bool:
                token = worker.performance.decode_step_ms
                return token is not None and token.low <= most

            yield Problem(
                at.path("tensor_parallel"),
                f"a token takes at least {ms(step.low)} ({BANDWIDTH_EFFICIENCY.high:.0%} of memory bandwidth) "
                f"in {at.where}; "
                f"tier `{at.tier.name}` promises {exactly(promised)}",
                either(*_smaller_batch(facts, at, keeps), *faster(facts, at, keeps), slower_promise(step.low)),
                value=str(at.role.parallelism.tensor),
            )


def _smaller_batch(facts: Facts, at: Placed, keeps: Keeps) -> list[str]:
    """A limit on the batch with which the promise is kept: fewer sequences read less cache a token."""
    sequences = at.role.batch.max_sequences // 2
    while sequences:
        if keeps(tried(facts, at, max_sequences=sequences)):
            return [f"lower `max_sequences` to {sequences}"]
        sequences //= 2
    return []


@rule(
    "IF-PRM-003",
    "an answer that cannot be whole in time",
    joins=("engine", "promise"),
    why="first token plus the promised number of tokens takes longer than the promise.",
    do="promise shorter answers or more time, or use faster workers.",
    source=_ROOFLINE,
)
def answers_in_time(facts: Facts) -> Iterator[Problem]:
    for at in once(facts.roles()):
        step = at.role.performance.decode_step_ms
        if step is None:
            continue
        reader = next((r for r in at.pool.roles if r.performance.prefill_ms), at.role)
        first = reader.performance.prefill_ms.low if reader.performance.prefill_ms else 0.0
        if at.pool.kv_transfer:
            first += at.pool.kv_transfer.transfer_ms or 0.0
        for promise in at.tier.promises:
            if promise.metric != "whole_answer":
                continue
            tokens = promise.answers_up_to_tokens or at.pool.workload.output_tokens
            least = first + tokens * step.low
            if least <= promise.at_most_ms:
                continue
            budget = (promise.at_most_ms - first) / tokens

            def keeps(worker: Tried, most: float = budget) -> bool:
                token = worker.performance.decode_step_ms
                return token is not None and token.low <= most

            fitting = math.floor((promise.at_most_ms - first) / step.low)
            yield Problem(
                at.path("tensor_parallel"),
                f"{tokens:,} tokens take at least {ms(least)} in {at.where}; tier `{at.tier.name}` promises "
                f"{exactly(promise.at_most_ms)}",
                either(
                    *_smaller_batch(facts, at, keeps),
                    *faster(facts, at, keeps),
                    f"promise only answers of at most {fitting} tokens (`answers_up_to_tokens`)" if fitting > 0 else "",
                    slower_promise(least),
                ),
                value=str(at.role.parallelism.tensor),
            )
