"""A sizing as one HTML page: for whoever pays, with the plots that say why. It loads nothing from elsewhere."""

from inferfab.render.plots import Bound, Line, bars, lines
from inferfab.render.templates import render
from inferfab.render.text.numbers import usd
from inferfab.render.text.sizing import grouped, maintenance_words, tail_words
from inferfab.sizing.result import Option, PoolSize, Sizing

MOST_BARS = 10
"""Of a plot; the table below it has all."""


def sizing_page(found: Sizing) -> str:
    """The whole page."""
    sized = [p for p in found.pools if p.best is not None]
    months = [p.best.usd_per_month for p in sized if p.best]
    total = sum(m for m in months if m is not None) if None not in months else None
    planned = [p.planned_usd_per_hour for p in sized]
    before = sum(p for p in planned if p is not None) * 730 if all(p is not None for p in planned) else None
    return render(
        "report/sizing.html.j2",
        environment=found.environment,
        engine=found.engine,
        utilization=f"{found.utilization:.0%}",
        spare=found.spare,
        total=_usd(total),
        gpus=sum(p.best.gpus for p in sized if p.best),
        before=usd(before) if before is not None else None,
        change=_change(before, total),
        pools=[_pool(p) for p in found.pools],
    )


def _usd(value: float | None) -> str:
    return "an unknown price" if value is None else usd(value)


def _change(before: float | None, after: float | None) -> str:
    if not before or after is None:
        return ""
    share = after / before - 1
    return f"{abs(share):.0%} {'less' if share < 0 else 'more'} than the file plans for them"


def _pool(one: PoolSize) -> dict[str, object]:
    head = {
        "title": f"{one.cell} · {one.pool}",
        "about": f"{one.model}, tier {one.tier}: {'; '.join(one.promises) or 'no promise'}",
        "why": one.why,
        "best": None,
    }
    if one.best is None:
        head["why"] = one.why or "No fleet that was tried keeps every promise."
        return {**head, "left_out": _left_out(one)}
    options = [one.best, *one.others]
    return {
        **head,
        "best": {"usd_month": _usd(one.best.usd_per_month), "words": _in_words(one.best), "gpus": one.best.gpus},
        "traffic": f"{one.rate_rps:.2f} requests a second ({one.requests:,} of {one.traffic})",
        "planned": f"{one.planned_gpus} GPUs"
        + (f", {usd(one.planned_usd_per_hour * 730)} a month" if one.planned_usd_per_hour is not None else ""),
        "cost_plot": bars(
            [
                (_short(o), o.cost, f"{_usd(o.usd_per_month)} · {o.gpus} GPUs")
                for o in options[:MOST_BARS]
            ]
        ),
        "load_plot": _load_plot(one) if one.curve else "",
        "options": [
            {
                "name": _in_words(o), "gpus": o.gpus, "usd": _usd(o.usd_per_month), "limit": o.limit,
                "speed": o.speed,
            }
            for o in options
        ],
        "queueing": _queueing(one),
        "priced": one.best.priced,
        "left_out": _left_out(one),
        "tried": f"{one.trials} fleets in {one.simulations} simulations"
        + (" (the limit of trials was reached: cheaper fleets of other shapes may exist)" if one.exhausted else ""),
    }  # fmt: skip


def _left_out(one: PoolSize) -> list[dict[str, str]]:
    return [{"shape": shapes, "why": why} for why, shapes in grouped(one.passed)]


def _short(option: Option) -> str:
    kind = {"aggregated": "agg", "disaggregated": "P+D"}.get(option.topology)
    if kind is None:
        return f"{option.instance} {option.topology}"
    return f"{option.instance} {kind} {option.split} b{option.batch}"


def _in_words(option: Option) -> str:
    roles = ", ".join(f"{option.nodes[r]} nodes with {n} {r} workers" for r, n in option.workers.items())
    roles = roles.replace("worker workers", "workers")
    roles = roles.replace("shared workers", "instances")
    split = f", {option.split}" if option.split else ""
    return f"{roles}; {option.instance}{split}, at most {option.batch} answers at once"


def _load_plot(one: PoolSize) -> str:
    figures = {"TTFT p50": "ttft_p50_ms", "TTFT p95": "ttft_p95_ms", "TTFT p99": "ttft_p99_ms", "ITL p95": "itl_p95_ms"}
    found = []
    for name, field in figures.items():
        points = tuple((p.load * 100, getattr(p, field)) for p in one.curve if getattr(p, field))
        if len(points) > 1:
            found.append(Line(name=name, points=points))
    bounds = [Bound(name=p, at=_bound(p)) for p in one.promises if "whole answer" not in p]
    return lines(
        found, x_name="load, % of the worst hour", y_name="milliseconds", bounds=bounds,
        marks=(Bound(name="worst hour", at=100.0),),
    )  # fmt: skip


def _bound(promise: str) -> float:
    return float(promise.split("≤")[1].split("ms", maxsplit=1)[0].strip().replace(",", ""))


def _queueing(one: PoolSize) -> str:
    why = one.queueing
    if why is None:
        return ""
    parts = []
    if why.dispersion_10s is not None:
        parts.append(
            f"Arrivals in 10 seconds vary {why.dispersion_10s:.1f} times as much as those of independent users, so "
            "queues build up well before machines are full."
        )
    parts.append(
        f"One prompt in a hundred has {why.prompt_p99:,} tokens or more, {why.prompt_p99 / max(1, why.prompt_p50):.1f} "
        "times the median; whoever comes behind it waits."
    )
    parts.append(
        f"A promise breaks at {why.breaks_at:.2f} times the worst hour: at the worst hour the fleet is "
        f"{1 / why.breaks_at:.0%} utilised."
        if why.breaks_at
        else "No promise breaks up to twice the worst hour: whole nodes and the spare one decide the size."
    )
    parts += [f"{line[0].upper()}{line[1:]}." for line in tail_words(why.tail)]
    if one.two_away_upto is not None:
        words = maintenance_words(one.two_away_upto).replace("`", "")
        parts.append(f"Maintenance: {words}.")
    return " ".join(parts)
