"""Why a fleet is as large as it is: the chosen one at other loads, and without one cause of waiting at a time."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from inferfab.record import Record
from inferfab.simulate.demand import Demand
from inferfab.simulate.simulator import Outcome, Simulator
from inferfab.sizing.result import CurvePoint, Queueing, Tail
from inferfab.sizing.search import Choice
from inferfab.sizing.trial import Bench
from inferfab.traffic.draw import BLOCK_TOKENS, write_replay
from inferfab.traffic.rows import Request
from inferfab.traffic.sketches import Windows

CURVE = (0.25, 0.5, 0.75, 1.0, 1.15, 1.33, 1.6, 2.0)
"""Loads at which the chosen fleet is shown; 1.33 is where it was held against its promises."""
_BEYOND = (2.8, 4.0, 6.0, 9.0, 14.0, 20.0, 30.0)
"""Further loads, until p99 breaks: of a fleet of few nodes the spare one is much."""
_HALVINGS = 3
"""Of the interval in which p99 breaks: to about a fiftieth."""


class Explained(Record):
    curve: tuple[CurvePoint, ...]
    queueing: Queueing
    two_away_upto: float


def explained(simulator: Simulator, best: Choice, wanted: Demand, utilization: float) -> Explained:
    """:raises SimulatorFailed: if the simulator refuses."""
    with tempfile.TemporaryDirectory(prefix="inferfab-sizing-") as scratch:
        one = _Case(simulator, best, wanted, Path(scratch))
        curve = one.curve()
        windows = Windows(10.0)
        for request in wanted.requests:
            windows.add(request.at_s)
        moments = windows.moments(wanted.requests[0].at_s, wanted.requests[-1].at_s)
        prompts = sorted(r.prompt_tokens for r in wanted.requests)
        return Explained(
            curve=curve,
            queueing=Queueing(
                dispersion_10s=moments[1] / moments[0] if moments and moments[0] else None,
                prompt_p50=prompts[len(prompts) // 2],
                prompt_p99=prompts[int(len(prompts) * 0.99)],
                breaks_at=next((p.load for p in curve if not p.kept), None),
                broke=best.limit,
                tail=one.tail(curve, 1 / utilization),
            ),
            two_away_upto=one.bench.holds_up_to(best.trial.nodes, 2),
        )


class _Case:
    def __init__(self, simulator: Simulator, best: Choice, wanted: Demand, folder: Path) -> None:
        self.simulator, self.best, self.wanted, self.folder = simulator, best, wanted, folder
        self.bench = self._bench(wanted.requests, "as-it-is")
        self.workers = self.bench.workers(best.trial.nodes)

    def _bench(self, requests: Sequence[Request], name: str) -> Bench:
        trace = self.folder / f"{name}.jsonl"
        write_replay(requests, trace)
        return Bench(self.simulator, self.best.shape, self.wanted, trace, self.folder)

    def curve(self) -> tuple[CurvePoint, ...]:
        found = []
        for load in CURVE:
            outcome = self.bench.run(self.workers, load)
            found.append(
                CurvePoint(
                    load=load,
                    ttft_p50_ms=outcome.ttft_ms.get("50.0"),
                    ttft_p95_ms=outcome.ttft_ms.get("95.0"),
                    ttft_p99_ms=outcome.ttft_ms.get("99.0"),
                    itl_p95_ms=outcome.itl_ms.get("95.0"),
                    itl_p99_ms=outcome.itl_ms.get("99.0"),
                    kept=not self.bench.broken(outcome),
                )
            )
        return tuple(found)

    def tail(self, curve: Sequence[CurvePoint], load: float) -> Tail:
        promises = self.best.shape.tier.promises
        metric = "itl" if promises and all(p.metric == "itl" for p in promises) else "ttft"
        # Strict for the slowest one: the promise with the highest percentile, which speaks of the tail.
        ours = sorted((p for p in promises if p.metric == metric), key=lambda p: (p.percentile, -p.at_most_ms))
        bound = float(ours[-1].at_most_ms) if ours else None

        def p99(outcome: Outcome) -> float | None:
            return (outcome.ttft_ms if metric == "ttft" else outcome.itl_ms).get("99.0")

        long = _long(self.wanted.requests)
        even = self._bench(evenly(self.wanted.requests), "even")
        short = self._bench(shortened(self.wanted.requests, long), "short")
        return Tail(
            metric=metric.upper(),
            bound_ms=bound,
            p99_ms=p99(self.bench.run(self.workers, load)),
            even_p99_ms=p99(even.run(self.workers, load)),
            short_p99_ms=p99(short.run(self.workers, load)),
            long_prompt_tokens=long,
            breaks_at=self._breaks(curve, metric, bound) if bound is not None else None,
        )

    def _breaks(self, curve: Sequence[CurvePoint], metric: str, bound: float) -> float | None:
        def late(value: float | None) -> bool:
            return value is None or value > bound

        def breaks_at(load: float) -> bool:
            outcome = self.bench.run(self.workers, load)
            return late((outcome.ttft_ms if metric == "ttft" else outcome.itl_ms).get("99.0"))

        bad = next((p.load for p in curve if late(getattr(p, f"{metric}_p99_ms"))), None)
        good = max((p.load for p in curve if bad is None or p.load < bad), default=0.0)
        if bad is None:
            for load in _BEYOND:
                if breaks_at(load):
                    bad = load
                    break
                good = load
        if bad is None:
            return None
        for _ in range(_HALVINGS if good else 0):
            middle = (good + bad) / 2
            good, bad = (good, middle) if breaks_at(middle) else (middle, bad)
        return bad


def _long(requests: Sequence[Request]) -> int:
    prompts = sorted(r.prompt_tokens for r in requests)
    return max(1, prompts[int(len(prompts) * 0.95)])


def evenly(requests: Sequence[Request]) -> tuple[Request, ...]:
    """The same requests in the same order and time, at equal distances."""
    first, last = requests[0].at_s, requests[-1].at_s
    gap = (last - first) / (len(requests) - 1)
    return tuple(r.model_copy(update={"at_s": first + gap * n}) for n, r in enumerate(requests))


def shortened(requests: Sequence[Request], most: int) -> tuple[Request, ...]:
    """The same requests with prompts of ``most`` tokens at most, and the blocks that these have."""
    return tuple(
        r
        if r.prompt_tokens <= most
        else r.model_copy(update={"prompt_tokens": most, "blocks": r.blocks[: -(-most // BLOCK_TOKENS)]})
        for r in requests
    )
