"""What cannot be, without a simulation: shapes that are too slow at rest, and fewest nodes for the work itself."""

import math

from inferfab.simulate.demand import Demand
from inferfab.sizing.shapes import Shape


def too_slow(shape: Shape, demand: Demand) -> str:
    """Why no number of nodes would do; empty if one may.

    A prompt that is read alone is read no faster with more workers. Reuse of prefixes makes it faster, so nothing is
    said where the trace has any.
    """
    if any(r.blocks for r in demand.requests[:100]):
        return ""
    reads = next(r.role for r in shape.pool.roles if r.role != "decode")
    writes = next(r.role for r in shape.pool.roles if r.role != "prefill")
    prompts = demand.requests[:: max(1, len(demand.requests) // 2000)]
    for promise in shape.tier.promises:
        if promise.metric == "ttft":
            inside = sum(shape.profiles[reads].ttft_ms(r.prompt_tokens) <= promise.at_most_ms for r in prompts)
            if inside / len(prompts) < promise.percentile / 100:
                return f"{promise}: alone on a worker {inside / len(prompts):.1%} of prompts would be read in time"
        if promise.metric == "itl":
            alone = min(p.itl_ms for p in shape.profiles[writes].decode)
            if alone > promise.at_most_ms:
                return f"{promise}: a step takes {alone:.0f} ms at least"
    return ""


def fewest_nodes(shape: Shape, demand: Demand, load: float, spare: int = 1) -> tuple[int, ...]:
    """Of each role: below it, work alone takes longer than the trace, or answers do not fit; and the spare ones go.

    Every term is a lower bound, so nothing that could do is left out.
    """
    span = (demand.requests[-1].at_s - demand.requests[0].at_s) / demand.speedup / load
    shared = any(r.blocks for r in demand.requests[:100])
    found = []
    for index, role in enumerate(shape.pool.roles):
        profile = shape.profiles[role.role]
        need = 0.0
        if role.role != "decode" and not shared:
            fastest = max(p.prompt_tokens / p.ttft_ms for p in profile.prefill) * 1000
            need += sum(r.prompt_tokens for r in demand.requests) / fastest
        if role.role != "prefill":
            step = min(p.itl_ms for p in profile.decode) / 1000
            need += sum(r.output_tokens for r in demand.requests) * step / role.batch.max_sequences
        # The last requests may be served after the last has come: a tenth is room for that.
        workers = need / max(span, 1e-6) / role.parallelism.data * 0.9
        group = shape.groups[index]
        fewest = math.ceil(workers / max(1, group.workers_per_node))
        found.append(max(1 + spare, fewest) * shape.step(index))
    return tuple(found)
