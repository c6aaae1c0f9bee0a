"""A trace as rates over time, evenly spaced: what a forecast is tried on."""

from itertools import pairwise
from pathlib import Path

from pydantic import PositiveInt

from inferfab.record import Record
from inferfab.traffic.profile import digest_of
from inferfab.traffic.rates import read_windows
from inferfab.traffic.reading import Trace
from inferfab.traffic.rows import UnusableTrace

REQUEST_WINDOW_S = 60
"""Into which single requests are counted."""
MOST_SAMPLES = 60_000
"""Six weeks of minutes: about a minute of work for each pool."""


class RateSeries(Record):
    """Requests a second, window by window."""

    file: str
    """Name only."""
    sha256: str
    interval_s: PositiveInt
    rates: tuple[float | None, ...]
    """None: the collection has a gap there. It is not taken for no demand."""

    @property
    def gaps(self) -> int:
        return sum(1 for rate in self.rates if rate is None)

    def times(self, factor: float) -> "RateSeries":
        return self.model_copy(update={"rates": tuple(None if r is None else r * factor for r in self.rates)})


def read_series(path: Path) -> RateSeries:
    """A rate series at the resolution that it has; single requests are counted by the minute.

    In a rate series a window of rate 0, or one that is not there, is a gap of the collection, as in `traffic fit`.

    :raises UnusableTrace: if it is no trace, more than 1 % of its rows are bad, or it spans too much.
    """
    trace = Trace(path)
    windows: dict[float, float] = {}
    if trace.kind == "rates":
        windows = read_windows(trace)
        times = sorted(windows)
        width = round(min((b - a for a, b in pairwise(times)), default=0.0))
        if width < 1:
            raise UnusableTrace(f"{path} has fewer than two windows, or windows of less than a second")
        off = sum(1 for at in times if abs((at - times[0]) / width - round((at - times[0]) / width)) > 0.05)
        if off > len(times) / 100:
            raise UnusableTrace(
                f"{path}: {off:,} of {len(times):,} windows do not begin at a multiple of {width} s after the first; "
                "write windows of one width"
            )
        fill: float | None = None
    else:
        width, fill = REQUEST_WINDOW_S, 0.0
        for request in trace.requests():
            at = request.at_s // width * width
            windows[at] = windows.get(at, 0.0) + 1.0 / width
        times = sorted(windows)
    count = round((times[-1] - times[0]) / width) + 1
    if count > MOST_SAMPLES:
        raise UnusableTrace(f"{path} spans {count:,} windows of {width} s; at most {MOST_SAMPLES:,} are read")
    rates: list[float | None] = [fill] * count
    for at, rate in windows.items():
        rates[min(count - 1, round((at - times[0]) / width))] = rate
    return RateSeries(file=path.name, sha256=digest_of(path), interval_s=width, rates=tuple(rates))
