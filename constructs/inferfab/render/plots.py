"""Small plots as SVG text: bars, and lines over a logarithmic or plain axis. Labels are escaped."""

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise

from inferfab.record import Record

INK, GRID, BEST, OTHER, BOUND = "#1f2933", "#d9dee3", "#0b6e4f", "#9fb3c8", "#b42318"
LINES = ("#0b6e4f", "#c2570c", "#3b5bdb", "#7b3fa0")
_FONT = 'font-family="system-ui, sans-serif" font-size="12"'


class Line(Record):
    """One line of a plot."""

    name: str
    points: tuple[tuple[float, float], ...]


class Bound(Record):
    """A horizontal line that must not be crossed."""

    name: str
    at: float


def bars(rows: Sequence[tuple[str, float, str]], *, width: int = 760) -> str:
    """Horizontal bars: name, value, text at its end. The first is the one that was chosen."""
    most = max((value for _, value, _ in rows), default=1.0) or 1.0
    left, height = 300, 26
    widest = max((len(text) for _, _, text in rows), default=0)
    parts = [_open(width, height * len(rows) + 8)]
    for number, (name, value, text) in enumerate(rows):
        y = number * height + 4
        length = max(1.0, value / most * (width - left - 12 - 7.2 * widest))
        colour = OTHER if number else BEST
        parts.append(f'<text x="{left - 8}" y="{y + 16}" text-anchor="end" fill="{INK}" {_FONT}>{escape(name)}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{height - 6}" rx="2" fill="{colour}"/>')
        parts.append(f'<text x="{left + length + 6:.1f}" y="{y + 16}" fill="{INK}" {_FONT}>{escape(text)}</text>')
    return "".join([*parts, "</svg>"])


def lines(
    found: Sequence[Line], *, x_name: str, y_name: str, bounds: Sequence[Bound] = (), marks: Sequence[Bound] = (),
    width: int = 760, height: int = 320,
) -> str:  # fmt: skip
    """Lines over a plain x axis and a logarithmic y axis.

    :param bounds: horizontal lines.
    :param marks: vertical lines, ``at`` an x.
    """
    points = [p for line in found for p in line.points if p[1] > 0]
    if not points:
        return ""
    x0, x1 = min(p[0] for p in points), max(p[0] for p in points)
    ys = [p[1] for p in points] + [b.at for b in bounds]
    y0, y1 = math.floor(math.log10(min(ys)) * 2) / 2, math.ceil(math.log10(max(ys)) * 2) / 2
    y1 = y1 if y1 > y0 else y0 + 0.5
    box = (64.0, 14.0, width - 170.0, height - 46.0)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            box[0] + (x - x0) / ((x1 - x0) or 1) * (box[2] - box[0]),
            box[3] - (math.log10(y) - y0) / (y1 - y0) * (box[3] - box[1]),
        )

    parts = [_open(width, height)]
    for decade in range(math.floor(y0), math.ceil(y1) + 1):
        for digit in (1, 2, 5):
            value = digit * 10.0**decade
            if y0 - 1e-9 <= math.log10(value) <= y1 + 1e-9:
                y = at(x0, value)[1]
                parts.append(f'<line x1="{box[0]}" x2="{box[2]}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>')
                parts.append(_text(box[0] - 6, y + 4, f"{value:,.10g}", "end"))
    for value in sorted({p[0] for p in points}):
        parts.append(_text(at(value, 10**y0)[0], box[3] + 18, f"{value:.10g}", "middle"))
    for mark in marks:
        x = at(mark.at, 10**y0)[0]
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{box[1]}" y2="{box[3]}" stroke="{INK}" stroke-dasharray="2 4"/>'
        )
        parts.append(_text(x + 4, box[1] + 10, mark.name, "start"))
    for bound in bounds:
        y = at(x0, bound.at)[1]
        parts.append(
            f'<line x1="{box[0]}" x2="{box[2]}" y1="{y:.1f}" y2="{y:.1f}" stroke="{BOUND}" stroke-dasharray="6 4"/>'
        )
        parts.append(_text(box[0] + 6, y - 5, bound.name, "start", BOUND))
    taken: list[float] = []
    for line, colour in zip(found, LINES, strict=False):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*p) for p in line.points if p[1] > 0))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = at(*line.points[-1])
        while any(abs(y - other) < 14 for other in taken):
            y += 14
        taken.append(y)
        parts.append(_text(x + 8, y + 4, line.name, "start", colour))
    parts.append(_text((box[0] + box[2]) / 2, height - 6, x_name, "middle"))
    middle = (box[1] + box[3]) / 2
    parts.append(
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})" fill="{INK}" {_FONT}>'
        f"{escape(y_name)}</text>"
    )
    return "".join([*parts, "</svg>"])


def _open(width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'


def _text(x: float, y: float, text: str, anchor: str, colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" {_FONT}>{escape(text)}</text>'


def timeline(
    found: Sequence[Line], *, x_name: str, y_name: str, x_step: float, shaded: Sequence[tuple[float, float]] = (),
    width: int = 760, height: int = 260,
) -> str:  # fmt: skip
    """Lines over time, both axes plain and the lower end of the upright one 0. A gap in x breaks a line.

    :param x_step: between two marks of the x axis, from a multiple of it on.
    :param shaded: stretches of x that are marked as bad.
    """
    points = [p for line in found for p in line.points]
    if not points:
        return ""
    x0, x1 = min(p[0] for p in points), max(p[0] for p in points)
    top = _round_up(max(p[1] for p in points))
    box = (64.0, 14.0, width - 150.0, height - 46.0)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            box[0] + (x - x0) / ((x1 - x0) or 1) * (box[2] - box[0]),
            box[3] - y / top * (box[3] - box[1]),
        )

    parts = [_open(width, height)]
    for begin, end in shaded:
        left, right = at(begin, 0)[0], at(end, 0)[0]
        parts.append(
            f'<rect x="{left:.1f}" y="{box[1]}" width="{max(1.0, right - left):.1f}" height="{box[3] - box[1]:.1f}" '
            f'fill="{BOUND}" opacity="0.25"/>'
        )
    for part in range(5):
        value = top * part / 4
        y = at(x0, value)[1]
        parts.append(f'<line x1="{box[0]}" x2="{box[2]}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>')
        parts.append(_text(box[0] - 6, y + 4, f"{value:,.4g}", "end"))
    for number in range(math.ceil(x0 / x_step), math.floor(x1 / x_step) + 1):
        parts.append(_text(at(number * x_step, 0)[0], box[3] + 18, f"{number * x_step:.10g}", "middle"))
    step = min((b[0] - a[0] for line in found for a, b in pairwise(line.points)), default=0.0)
    for number, (line, colour) in enumerate(zip(found, LINES, strict=False)):
        run: list[str] = []
        before: float | None = None
        for x, y in line.points:
            if before is not None and x - before > 1.5 * step:
                parts.append(_path(run, colour))
                run = []
            run.append("{:.1f},{:.1f}".format(*at(x, y)))
            before = x
        parts.append(_path(run, colour))
        parts.append(_text(box[2] + 8, box[1] + 14 + 18 * number, line.name, "start", colour))
    parts.append(_text((box[0] + box[2]) / 2, height - 6, x_name, "middle"))
    middle = (box[1] + box[3]) / 2
    parts.append(
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})" fill="{INK}" {_FONT}>'
        f"{escape(y_name)}</text>"
    )
    return "".join([*parts, "</svg>"])


def _path(points: Sequence[str], colour: str) -> str:
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.4"/>'


def _round_up(value: float) -> float:
    """To the next of 1, 2, 4 or 8 of its power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((m * power for m in (1, 2, 4, 8, 10) if m * power >= value), 10 * power)
