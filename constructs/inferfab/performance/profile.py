"""A performance profile: one worker's prefill time over prompt length, its decode step over KV tokens and context.

Every point says how it came about. ``measured``: somebody ran it. ``interpolated``: from kernel times that were
measured on that GPU, between or beyond the sizes measured. ``assumed``: a bound, a nearest neighbour, or a fitted line.
"""

from collections import Counter
from datetime import date
from itertools import pairwise
from typing import Literal

from pydantic import PositiveFloat, PositiveInt

from inferfab.catalog.facts import FactFile
from inferfab.record import Record

How = Literal["measured", "interpolated", "assumed"]
STALE_DAYS = 180
"""Older profiles are called old: two vLLM releases a month change speeds."""


class Worker(Record):
    """What a profile is of."""

    model: str
    """Catalog id."""
    quantization: str
    kv_precision: str
    gpu: str
    tensor: PositiveInt


class PrefillPoint(Record):
    """Reading one prompt, alone."""

    prompt_tokens: PositiveInt
    ttft_ms: PositiveFloat
    how: How


class DecodePoint(Record):
    """One step of all running sequences."""

    kv_tokens: PositiveInt
    """Of all sequences together."""
    context_tokens: PositiveInt
    """Of one sequence, on average."""
    itl_ms: PositiveFloat
    how: How


class PerformanceProfile(FactFile):
    """Speed of one worker. Points of ``decode`` are a whole grid of KV tokens and contexts."""

    worker: Worker
    engine_version: str
    """``vllm 0.24.0``; empty for a roofline."""
    basis: Literal["aiconfigurator", "measured", "roofline"]
    prefill: tuple[PrefillPoint, ...]
    decode: tuple[DecodePoint, ...]

    @property
    def counted(self) -> dict[How, int]:
        """Points by origin."""
        found = Counter([*(p.how for p in self.prefill), *(p.how for p in self.decode)])
        return {how: found[how] for how in ("measured", "interpolated", "assumed") if found[how]}

    def age_days(self, as_of: date) -> int:
        return (as_of - self.provenance.retrieved).days

    def ttft_ms(self, prompt_tokens: float) -> float:
        """Between points on a line, beyond them in proportion."""
        points = [(float(p.prompt_tokens), p.ttft_ms) for p in self.prefill]
        return _line(points, prompt_tokens)

    def itl_ms(self, kv_tokens: float, context_tokens: float) -> float:
        """The same over both axes, held level at their ends."""
        contexts = sorted({p.context_tokens for p in self.decode})
        context = min(max(context_tokens, contexts[0]), contexts[-1])
        rows = [
            (float(c), _line([(float(p.kv_tokens), p.itl_ms) for p in self.decode if p.context_tokens == c], kv_tokens))
            for c in contexts
        ]
        return _line(rows, context)


def _line(points: list[tuple[float, float]], x: float) -> float:
    points = sorted(points)
    if x <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in pairwise(points):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return points[-1][1] * x / points[-1][0] if len(points) > 1 else points[-1][1]


class Surface(Record):
    """A profile as the simulator reads it."""

    prompts: tuple[int, ...]
    ttft_ms: tuple[float, ...]
    kv_tokens: tuple[int, ...]
    contexts: tuple[int, ...]
    itl_ms: tuple[tuple[float, ...], ...]
    """By KV tokens, then by context."""


class NotAGrid(Exception):
    """A profile's decode points do not make a grid; the message says what is missing."""


def surface(profile: PerformanceProfile) -> Surface:
    """:raises NotAGrid: if a combination of KV tokens and context is missing."""
    kv = sorted({p.kv_tokens for p in profile.decode})
    contexts = sorted({p.context_tokens for p in profile.decode})
    at = {(p.kv_tokens, p.context_tokens): p.itl_ms for p in profile.decode}
    missing = [(k, c) for k in kv for c in contexts if (k, c) not in at]
    if missing or len(kv) < 2 or len(contexts) < 2 or len(profile.prefill) < 2:
        raise NotAGrid(
            f"{len(missing)} of {len(kv) * len(contexts)} combinations of KV tokens and context are missing"
            if missing
            else "a profile needs two prompt lengths, two sizes of KV and two contexts at least"
        )
    ordered = sorted(profile.prefill, key=lambda p: p.prompt_tokens)
    return Surface(
        prompts=tuple(p.prompt_tokens for p in ordered),
        ttft_ms=tuple(p.ttft_ms for p in ordered),
        kv_tokens=tuple(kv),
        contexts=tuple(contexts),
        itl_ms=tuple(tuple(at[k, c] for c in contexts) for k in kv),
    )


def beside_pair(profile: PerformanceProfile, vllm: str) -> str | None:
    """A note where a profile's engine is not the one that is planned; None where it is."""
    if not profile.engine_version or profile.engine_version == f"vllm {vllm}":
        return None
    return f"measured with {profile.engine_version}, planned is vLLM {vllm}"


def too_old(profile: PerformanceProfile, as_of: date) -> str | None:
    """A note where a profile is old on a day; None where it is not, or is no measurement."""
    days = profile.age_days(as_of)
    if profile.basis == "roofline" or days <= STALE_DAYS:
        return None
    return f"{days} days old on {as_of}: renew it (`inferfab profile make`, or import a measurement)"
