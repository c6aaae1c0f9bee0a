"""A rate series: requests a second by window, with mean lengths. It says nothing of single requests."""

from datetime import UTC, datetime
from itertools import pairwise

from inferfab.traffic.formats import Columns, split
from inferfab.traffic.profile import Provenance, Rates, TrafficProfile, digest_of
from inferfab.traffic.reading import Trace
from inferfab.traffic.rows import MOST_TOKENS, BadRow, UnusableTrace, moment

HOUR_S, DAY_S = 3600.0, 86_400.0
MONDAY_S = 4 * DAY_S
MOST_RPS = 1e9
_MOST_WINDOWS = 1_000_000


def fit_rates(trace: Trace, name: str) -> TrafficProfile:
    """Windows of rate 0 are gaps of the collection, and left out.

    :raises UnusableTrace: if more than 1 % of the rows are bad, or none is good.
    """
    windows, weights, gaps = _read(trace)
    if not windows:
        trace.judge()
        raise UnusableTrace(f"{trace.path} has no window with a rate above 0")
    trace.judge()
    times = sorted(windows)
    width = min((b - a for a, b in pairwise(times)), default=600.0)
    span = times[-1] - times[0] + width
    mean = sum(windows.values()) / len(windows)
    hours = _by(windows, DAY_S, 24, 0.0 if trace.dated else times[0]) if span >= 2 * DAY_S else None
    days = _by(windows, 7 * DAY_S, 7, MONDAY_S if trace.dated else times[0]) if span >= 14 * DAY_S else None
    row = max(1, round(HOUR_S / width))
    hour = max(
        (sum(windows.get(t + k * width, 0.0) for k in range(row)) / row for t in times), default=mean
    ) if span >= HOUR_S else None  # fmt: skip
    total = sum(w for w, _, _ in weights)
    unknown = [
        "burstiness within a window", "distribution and tail of lengths: the series has their means",
        "shared prefixes",
        *(["time of day: the series is shorter than two days"] if hours is None else []),
        *(["day of week: the series is shorter than two weeks"] if days is None else []),
        *([] if trace.dated else ["time of day in a clock's sense: the series has no dates"]),
        *([f"{gaps} window(s) of rate 0: gaps of the collection, left out"] if gaps else []),
    ]  # fmt: skip
    return TrafficProfile(
        name=name,
        provenance=Provenance(
            file=trace.path.name,
            format="rates",
            sha256=digest_of(trace.path),
            rows=trace.rows,
            bad_rows=trace.bad,
            failed_rows=0,
            first_day=datetime.fromtimestamp(times[0], UTC).date() if trace.dated else None,
            span_s=span,
        ),
        rates=Rates(
            mean_rps=mean,
            peak_rps=max(windows.values()),
            window_s=width,
            worst_hour_rps=hour,
            hours_of_day=hours,
            days_of_week=days,
        ),
        burstiness=None,
        prompts=None,
        outputs=None,
        mean_prompt_tokens=sum(w * p for w, p, _ in weights) / total,
        mean_output_tokens=sum(w * o for w, _, o in weights) / total,
        joint=(),
        prefix=None,
        unknown=tuple(unknown),
    )


def read_windows(trace: Trace) -> dict[float, float]:
    """Rates above 0 by the second at which their windows begin.

    :raises UnusableTrace: if more than 1 % of the rows are bad, or none is good.
    """
    windows, _, _ = _read(trace)
    if not windows:
        trace.judge()
        raise UnusableTrace(f"{trace.path} has no window with a rate above 0")
    trace.judge()
    return windows


def _read(trace: Trace) -> tuple[dict[float, float], list[tuple[float, float, float]], int]:
    """Rates by window, (rate, mean prompt, mean answer) of each, and windows without traffic."""
    columns = Columns(split(trace.first_line))
    time, rate = columns.find(("window_start_s",)), columns.find(("rate_rps",))
    prompt, out = columns.find(("mean_input_tokens",)), columns.find(("mean_output_tokens",))
    if time is None or rate is None or prompt is None or out is None:
        raise UnusableTrace(
            f"{trace.path}: a rate series has the columns window_start_s,rate_rps,mean_input_tokens,mean_output_tokens"
        )
    windows: dict[float, float] = {}
    weights, gaps, header = [], 0, True
    for number, line in trace.lines():
        if not line.strip():
            continue
        if header:
            header = False
            continue
        try:
            cells = split(line)
            if len(cells) <= max(time, rate, prompt, out):
                raise BadRow(f"{len(cells)} columns where the header has {len(columns.names)}")
            at, dated = moment(cells[time], "window_start_s")
            value = moment(cells[rate], "rate_rps")[0]
            if not 0 <= value <= MOST_RPS:
                raise BadRow(f"a rate of {value:g}")
            # A window without traffic has no mean length.
            lengths = (
                (_length(cells[prompt], "mean_input_tokens"), _length(cells[out], "mean_output_tokens"))
                if value
                else (0.0, 0.0)
            )
            if at in windows:
                # Of two rows the last would count alone, and the demand of the other would be gone.
                raise BadRow("a window that is there already; add up what comes at one time, or take a file for each")
            if len(windows) >= _MOST_WINDOWS:
                raise UnusableTrace(f"{trace.path} has more than {_MOST_WINDOWS:,} windows; make them wider")
        except BadRow as error:
            trace.note_bad(number, str(error))
            continue
        trace.rows += 1
        trace.dated = dated
        if value == 0:
            gaps += 1
            continue
        windows[at] = value
        weights.append((value, *lengths))
    return windows, weights, gaps


def _length(text: str, name: str) -> float:
    value = moment(text, name)[0]
    if not 0 < value <= MOST_TOKENS:
        raise BadRow(f"{name} is {value:g}")
    return value


def _by(windows: dict[float, float], period: float, parts: int, start: float) -> tuple[float, ...]:
    totals, counts = [0.0] * parts, [0] * parts
    for at, rate in windows.items():
        part = int((at - start) % period / (period / parts))
        totals[part] += rate
        counts[part] += 1
    rates = [t / n if n else 0.0 for t, n in zip(totals, counts, strict=True)]
    mean = sum(rates) / parts
    return tuple(round(r / mean, 4) for r in rates)
