"""From a trace to a profile, in one pass and bounded memory."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from inferfab.traffic.formats import MOONCAKE_BLOCK_TOKENS
from inferfab.traffic.profile import (
    Burstiness,
    Cell,
    Lengths,
    PrefixSharing,
    Provenance,
    Rates,
    TrafficProfile,
    digest_of,
)
from inferfab.traffic.rates import fit_rates
from inferfab.traffic.reading import Trace
from inferfab.traffic.rows import Request
from inferfab.traffic.sketches import JOINT_BINS_PER_OCTAVE, LogBins, Windows, bin_of, edges

PEAK_WINDOW_S = 60.0
HOUR_S, DAY_S = 3600.0, 86_400.0
MONDAY_S = 4 * DAY_S
"""The first Monday after 1 January 1970, which was a Thursday."""
MOST_BLOCKS = 2_000_000
"""Block identities that are remembered: about 200 MB at most."""


def fit(path: Path, name: str | None = None) -> tuple[TrafficProfile, Trace]:
    """Read a trace once and say what it says; the trace holds what was skipped.

    :raises UnusableTrace: if it is no trace, or more than 1 % of its rows are bad.
    """
    trace = Trace(path)
    name = name or path.name.split(".")[0]
    if trace.kind == "rates":
        return fit_rates(trace, name), trace
    seen = _Seen()
    for request in trace.requests():
        seen.add(request)
    return seen.profile(trace, name), trace


class _Seen:
    def __init__(self) -> None:
        self.fine, self.peak, self.fives = Windows(10.0), Windows(PEAK_WINDOW_S), Windows(HOUR_S / 12)
        self.prompts, self.outputs = LogBins(), LogBins()
        self.joint: Counter[tuple[int, int]] = Counter()
        self.first = self.last = 0.0
        self.rows = 0
        self.before: float | None = None
        self.gaps, self.gap_sum, self.gap_squares = 0, 0.0, 0.0
        self.blocks: set[int] = set()
        self.whole = True
        self.prompt_blocks, self.shared_tokens, self.hashed_tokens = 0, 0, 0
        self.heads: Counter[int] = Counter()

    def add(self, request: Request) -> None:
        at = request.at_s
        self.first = at if not self.rows else min(self.first, at)
        self.last = at if not self.rows else max(self.last, at)
        self.rows += 1
        for windows in (self.fine, self.peak, self.fives):
            windows.add(at)
        if self.before is not None and at >= self.before:
            self.gaps += 1
            self.gap_sum += at - self.before
            self.gap_squares += (at - self.before) ** 2
        self.before = at
        self.prompts.add(request.prompt_tokens)
        self.outputs.add(request.output_tokens)
        key = bin_of(request.prompt_tokens, JOINT_BINS_PER_OCTAVE), bin_of(request.output_tokens, JOINT_BINS_PER_OCTAVE)
        self.joint[key] += 1
        if request.blocks:
            self._share(request)

    def _share(self, request: Request) -> None:
        run = 0
        for block in request.blocks:
            if block not in self.blocks:
                break
            run += 1
        self.shared_tokens += min(request.prompt_tokens, run * MOONCAKE_BLOCK_TOKENS)
        self.hashed_tokens += request.prompt_tokens
        if len(self.blocks) < MOST_BLOCKS:
            self.blocks.update(request.blocks)
            self.heads[request.blocks[0]] += 1
        else:
            self.whole = False

    def profile(self, trace: Trace, name: str) -> TrafficProfile:
        span = self.last - self.first
        mean = self.rows / span if span > 0 else float(self.rows)
        rates = self._rates(trace, span, mean)
        unknown = [
            *(["time of day: the trace is shorter than two days"] if rates.hours_of_day is None else []),
            *(["day of week: the trace is shorter than two weeks"] if rates.days_of_week is None else []),
            *(["the busiest hour: the trace is shorter than an hour"] if rates.worst_hour_rps is None else []),
            *(["shared prefixes: the trace has no hashes of them"] if not self.hashed_tokens else []),
            *(["time of day in a clock's sense: the trace has no dates"]
              if rates.hours_of_day is not None and not trace.dated else []),
        ]  # fmt: skip
        burst = self._burstiness(span, mean, rates)
        if burst is None:
            unknown.append("burstiness: the trace is shorter than 100 seconds")
        return TrafficProfile(
            name=name,
            provenance=Provenance(
                file=trace.path.name,
                format=trace.kind,
                sha256=digest_of(trace.path),
                rows=trace.rows,
                bad_rows=trace.bad,
                failed_rows=trace.failed,
                first_day=datetime.fromtimestamp(self.first, UTC).date() if trace.dated else None,
                span_s=round(span, 3),
            ),
            rates=rates,
            burstiness=burst,
            prompts=_lengths(self.prompts),
            outputs=_lengths(self.outputs),
            mean_prompt_tokens=self.prompts.total / self.rows,
            mean_output_tokens=self.outputs.total / self.rows,
            joint=_cells(self.joint, self.prompts.longest, self.outputs.longest),
            prefix=self._prefix(),
            unknown=tuple(unknown),
        )

    def _rates(self, trace: Trace, span: float, mean: float) -> Rates:
        start = self.first if not trace.dated else 0.0
        width = self.peak.width_s
        peak = max(self.peak.counts.values()) / width
        return Rates(
            mean_rps=mean,
            peak_rps=max(peak, mean),
            window_s=width,
            worst_hour_rps=self.fives.busiest(HOUR_S) / HOUR_S
            if span >= HOUR_S and self.fives.width_s <= HOUR_S
            else None,
            hours_of_day=shape(self.fives, start, DAY_S, 24) if span >= 2 * DAY_S else None,
            days_of_week=shape(self.fives, start + MONDAY_S * trace.dated, 7 * DAY_S, 7)
            if span >= 14 * DAY_S
            else None,
        )

    def _burstiness(self, span: float, mean: float, rates: Rates) -> Burstiness | None:
        moments = self.fine.moments(self.first, self.last)
        if moments is None or not self.gap_sum:
            return None
        average = self.gap_sum / self.gaps
        return Burstiness(
            gap_cv2=max(0.0, self.gap_squares / self.gaps / average**2 - 1),
            dispersion_10s=moments[1] / moments[0] if moments[0] else 0.0,
            peak_over_mean=rates.peak_rps / mean,
        )

    def _prefix(self) -> PrefixSharing | None:
        if not self.hashed_tokens:
            return None
        total, seen, groups = sum(self.heads.values()), 0, 0
        for _, count in self.heads.most_common():
            groups += 1
            seen += count
            if seen >= 0.9 * total:
                break
        return PrefixSharing(
            block_tokens=MOONCAKE_BLOCK_TOKENS,
            shared_share=self.shared_tokens / self.hashed_tokens,
            first_block_groups=max(1, groups),
            whole=self.whole,
        )


def shape(windows: Windows, start: float, period: float, parts: int) -> tuple[float, ...]:
    """Rate of each part of a period over the mean; windows without any arrival are gaps of the trace, not quiet."""
    totals, widths = [0.0] * parts, [0] * parts
    for index, count in windows.counts.items():
        part = int(((index + 0.5) * windows.width_s - start) % period / (period / parts))
        totals[part] += count
        widths[part] += 1
    rates = [t / w if w else 0.0 for t, w in zip(totals, widths, strict=True)]
    mean = sum(rates) / parts
    return tuple(round(r / mean, 4) for r in rates)


def _lengths(bins: LogBins) -> Lengths:
    return Lengths(mean=bins.total / bins.count, quantiles=bins.quantiles())


def _cells(joint: Counter[tuple[int, int]], longest_prompt: int, longest_output: int) -> tuple[Cell, ...]:
    found = []
    for (prompt, output), count in sorted(joint.items()):
        (low_p, high_p), (low_o, high_o) = edges(prompt, JOINT_BINS_PER_OCTAVE), edges(output, JOINT_BINS_PER_OCTAVE)
        found.append(
            Cell(
                prompt_from=low_p, prompt_to=max(low_p, min(high_p, longest_prompt)),
                output_from=low_o, output_to=max(low_o, min(high_o, longest_output)), count=count,
            )
        )  # fmt: skip
    return tuple(found)
