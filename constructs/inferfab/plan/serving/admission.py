"""How many requests wait in a router before it refuses more: the last tier first, the first one last.

A router that is full answers 529 (``request_queue_limit_per_worker`` of a policy class; seen with ai-dynamo 1.6.1 and
its mock engine, tests/rehearse/test_shedding.py), which the gateway hands on as 503 with ``Retry-After``.

Not behind a router over tiers: there 1.6.1 tells the client of a full queue as HTTP 400 "Invalid request" (seen with
real processes, ten requests at once to queues of one: eight times 400), which no client tries again. So routers of such
pools have no limit, and gateways let no more in than engines and queues of that length would hold
(:mod:`inferfab.plan.gateway.tiers`).
"""

from collections.abc import Iterable
from typing import TypeVar

from inferfab.environment.gateway import TierGate
from inferfab.plan.engine import Argument

QUEUE_FACTORS = (4, 2, 1)
"""Waiting requests for each place of a batch, by rank: under the same relative overload the last tier's queue is full
first. The mission's order."""
_DEFAULT_PLACES = 256
"""vLLM's ``--max-num-seqs`` where nothing says another."""
T = TypeVar("T")


def by_rank(values: tuple[T, ...], rank: int) -> T:
    """:param rank: of the tier; 1 is the most important. The last value is that of all further ones."""
    return values[min(rank, len(values)) - 1]


def places_of(arguments: Iterable[Argument]) -> int:
    """Requests that an engine works on at once."""
    stated = next((a.value for a in arguments if a.flag == "--max-num-seqs"), None)
    return int(stated) if stated else _DEFAULT_PLACES


def queue_limit(gate: TierGate | None, rank: int, places: int) -> int:
    """Requests that wait for each worker.

    :param places: of one worker's batch.
    """
    if gate is not None and gate.queue_per_worker is not None:
        return gate.queue_per_worker
    return by_rank(QUEUE_FACTORS, rank) * max(1, places)
