"""Measure the forecast on rate series and write the tables of docs/autoscaling.md.

``python tools/backtest_table.py FOLDER`` prints them; with ``--write`` they go into the page. FOLDER holds rate series
(``window_start_s,rate_rps,mean_input_tokens,mean_output_tokens``); those of the page are ServeGen's, added up over all
clients to windows of ten minutes (alibaba/ServeGen, Apache-2.0, arXiv 2505.09999).
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from inferfab.autoscale.backtest import Role, Subject, backtest
from inferfab.autoscale.forecast import candidate, forecast
from inferfab.autoscale.judging import judge
from inferfab.autoscale.policies import Fleet
from inferfab.autoscale.result import PoolBacktest
from inferfab.autoscale.rolling import quantile
from inferfab.autoscale.settings import ForecastSettings
from inferfab.catalog.cold_start import cold_start
from inferfab.environment.autoscaling import Autoscaling
from inferfab.plan.autoscaling.provisioning import REACTION_SECONDS
from inferfab.traffic.series import RateSeries, read_series

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "autoscaling.md"
MARKED = re.compile(r"(<!-- backtest -->\n).*?(<!-- /backtest -->)", re.DOTALL)
WORKERS = 24
"""Of the fleet that is tried: its largest serves the first half's peak with one spare worker."""
COLD_START_S = cold_start().measured_seconds - cold_start().benchmark_seconds + REACTION_SECONDS
"""One measured cold start without its benchmark, and what it takes to notice."""
HORIZONS_S = (600, 1800)
QUANTILES = (0.9, 0.95, 0.99)
WINDOW_HOURS = (24, 48, 72, 120)


def series(folder: Path) -> list[tuple[str, RateSeries]]:
    """By short name."""
    files = sorted(folder.glob("servegen_*_10min.csv"))
    return [(f.name.removeprefix("servegen_").removesuffix("_10min.csv"), read_series(f)) for f in files]


def settings(q: float, hours: int, horizon_s: int) -> ForecastSettings:
    return ForecastSettings(
        quantile=q, window_s=hours * 3600, horizon_s=horizon_s, headroom=Autoscaling().headroom, interval_s=600
    )


def constant(first: list[float | None], q: float, horizon_s: int) -> float:
    """The quantile of relative changes in the first half."""
    steps = horizon_s // 600
    changes = sorted(b / a for a, b in zip(first, first[steps:], strict=False) if a and b is not None)
    return max(1.0, quantile(changes, q))


def losses(found: list[tuple[str, RateSeries]]) -> Iterator[str]:
    """Pinball loss and coverage in the second half: constant factor against each window."""
    yield "| series | ahead | quantile | constant factor | " + " | ".join(f"{h} h" for h in WINDOW_HOURS) + " |"
    yield "|---|---|---|---|" + "---|" * len(WINDOW_HOURS)
    for name, one in found:
        rate, half = list(one.rates), len(one.rates) // 2
        for horizon in HORIZONS_S:
            for q in QUANTILES:
                factor = constant(rate[:half], q, horizon)
                cells = [(None if r is None else r * factor for r in rate)]
                cells += [candidate(rate, settings(q, h, horizon)) for h in WINDOW_HOURS]  # type: ignore[misc]
                told = []
                for made in cells:
                    judged = judge(rate, list(made), settings(q, 72, horizon), half, len(rate))
                    assert judged is not None
                    told.append(f"{judged.pinball_percent:.2f} ({judged.coverage_percent:.1f})")
                told[0] = f"× {factor:.2f}: {told[0]}"
                yield f"| {name} | {horizon // 60} min | {q:g} | " + " | ".join(told) + " |"


def chosen(found: list[tuple[str, RateSeries]]) -> Iterator[str]:
    """The rules as they are by default, with their fallback, overall and in quiet hours."""
    default = Autoscaling()
    yield "| series | ahead | constant, loss (covered) | forecast | constant, quiet hours | forecast, quiet hours |"
    yield "|---|---|---|---|---|---|"
    for name, one in found:
        rate, half = list(one.rates), len(one.rates) // 2
        for horizon in HORIZONS_S:
            asked = settings(default.quantile, default.window_hours, horizon)
            factor = constant(rate[:half], default.quantile, horizon)
            theirs = judge(rate, [None if r is None else r * factor for r in rate], asked, half, len(rate))
            ours = judge(rate, forecast(rate, asked).forecast, asked, half, len(rate))
            assert theirs is not None
            assert ours is not None
            yield (
                f"| {name} | {horizon // 60} min | {theirs.pinball_percent:.2f} ({theirs.coverage_percent:.1f}) "
                f"| {ours.pinball_percent:.2f} ({ours.coverage_percent:.1f}) "
                f"| {theirs.quiet_pinball_percent:.2f} ({theirs.quiet_coverage_percent:.1f}) "
                f"| {ours.quiet_pinball_percent:.2f} ({ours.quiet_coverage_percent:.1f}) |"
            )


def tried(one: RateSeries, spare: int) -> PoolBacktest:
    """The reference fleet on a series that its largest size just serves in the first half."""
    first = [r for r in one.rates[: len(one.rates) // 2] if r is not None]
    default = Autoscaling()
    fleet = Fleet(
        requests_per_second=max(first) / (WORKERS - spare), spare=spare, least=2, most=WORKERS * 2,
        delay=1 + -(-COLD_START_S // 600), hold=default.scale_in_minutes // 10, step=2,
    )  # fmt: skip
    subject = Subject(
        cell="reference", pool="reference", tier="standard", model="-", mode="keda",
        roles=(Role(name="worker", fleet=fleet, gpus_of=lambda workers: workers),),
        settings=settings(default.quantile, default.window_hours, -(-(COLD_START_S + 600) // 600) * 600),
    )  # fmt: skip
    return backtest(subject, one, 1.0, 1.0)


def ways(found: list[tuple[str, RateSeries]]) -> Iterator[str]:
    """Broken minutes and GPU-hours of each way of scaling."""
    yield "| series | spare workers | way | promise broken | GPU-hours | over the bound |"
    yield "|---|---|---|---|---|---|"
    for name, one in found:
        for spare in (0, 1):
            for policy in tried(one, spare).policies:
                yield (
                    f"| {name} | {spare} | {policy.name} | {policy.broken_minutes:,.0f} min "
                    f"({policy.broken_percent:.2f} %) | {policy.gpu_hours:,.0f} | {policy.over_bound:.2f} |"
                )


def tables(folder: Path) -> str:
    """All tables, as Markdown."""
    found = series(folder)
    if not found:
        raise SystemExit(f"{folder} has no servegen_*_10min.csv")
    parts = (
        ("Pinball loss in percent of mean demand (and coverage in percent), second half:", losses(found)),
        ("As the rules choose by default, second half:", chosen(found)),
        (f"A fleet of at most {WORKERS * 2} workers of one GPU, second half of each series:", ways(found)),
    )
    return "\n".join(f"{title}\n\n" + "\n".join(rows) + "\n" for title, rows in parts)


def main(arguments: list[str]) -> int:
    folders = [a for a in arguments if not a.startswith("-")]
    if len(folders) != 1:
        print(__doc__)
        return 2
    text = tables(Path(folders[0]))
    if "--write" in arguments:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(MARKED.sub(lambda m: f"{m[1]}\n{text}\n{m[2]}", page), encoding="utf-8", newline="\n")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
