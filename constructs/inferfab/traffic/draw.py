"""Requests drawn from a profile, and traces of any kind as the simulator reads them.

Drawn arrivals are a renewal process with gamma-distributed gaps. Their squared coefficient of variation is the trace's
dispersion of counts in 10 s, which such a process has in the long run: as bursty over seconds as the trace was. Lengths
come from the joint table, evenly in the logarithm within a cell. The same seed gives the same requests.
"""

import json
import math
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from inferfab.traffic.profile import TrafficProfile
from inferfab.traffic.rows import Request

BLOCK_TOKENS = 512
_MOST_CV2 = 100.0
_GROUP_IDS = 1_000_000_000
"""Shared blocks have identities from here on, so that no unique one is equal to them."""


class Undrawable(Exception):
    """A profile does not say enough to draw requests; the message says what is missing."""


def draw(profile: TrafficProfile, *, rate_rps: float, count: int, seed: int = 1) -> Iterator[Request]:
    """``count`` requests at a mean rate.

    :raises Undrawable: if the profile knows no lengths (a rate series).
    """
    if not profile.joint:
        raise Undrawable(
            f"profile {profile.name} comes from a rate series and has no lengths of single requests; fit a trace of "
            "requests, and scale it to the series' rate"
        )
    generator = random.Random(seed)
    burst = profile.burstiness
    cv2 = min(_MOST_CV2, max(1e-3, burst.dispersion_10s)) if burst else 1.0
    cells = generator.choices(profile.joint, weights=[c.count for c in profile.joint], k=count)
    at, unique = 0.0, 0
    for cell in cells:
        prompt = _within(generator, cell.prompt_from, cell.prompt_to)
        blocks = _blocks(generator, profile, prompt, unique)
        unique += len(blocks)
        yield Request(
            at_s=at,
            prompt_tokens=prompt,
            output_tokens=_within(generator, cell.output_from, cell.output_to),
            blocks=blocks,
        )
        at += generator.gammavariate(1 / cv2, cv2 / rate_rps)


def _within(generator: random.Random, low: int, high: int) -> int:
    return min(high, max(low, round(math.exp(generator.uniform(math.log(low), math.log(high + 1))))))


def _blocks(generator: random.Random, profile: TrafficProfile, prompt: int, unique: int) -> tuple[int, ...]:
    """Whole prompts' blocks: the shared part from one of the common beginnings, the rest new."""
    count = -(-prompt // BLOCK_TOKENS)
    shared = 0
    group = 0
    if profile.prefix is not None:
        exact = profile.prefix.shared_share * count
        shared = min(count, int(exact) + (generator.random() < exact % 1))
        group = generator.randrange(profile.prefix.first_block_groups)
    same = (_GROUP_IDS + group * 10_000 + at for at in range(shared))
    return (*same, *range(unique, unique + count - shared))


def write_replay(requests: Iterable[Request], path: Path) -> tuple[int, float]:
    """Write what the simulator reads (Mooncake's JSON lines), times from 0, in order of arrival.

    :return: number of requests, and seconds from first to last.
    """
    ordered = sorted(requests, key=lambda r: r.at_s)
    first = ordered[0].at_s if ordered else 0.0
    unique = 0
    with path.open("w", encoding="utf-8") as stream:
        for request in ordered:
            count = -(-request.prompt_tokens // BLOCK_TOKENS)
            blocks: list[int] = list(request.blocks[:count])
            if len(blocks) < count:
                # Text of its own: negative identities would be refused, so they start far above a trace's.
                blocks += [2 * _GROUP_IDS + unique + at for at in range(count - len(blocks))]
            unique += count
            row = {
                "timestamp": round((request.at_s - first) * 1000, 3),
                "input_length": request.prompt_tokens,
                "output_length": request.output_tokens,
                "hash_ids": blocks,
            }
            stream.write(json.dumps(row) + "\n")
    return len(ordered), (ordered[-1].at_s - first) if ordered else 0.0
