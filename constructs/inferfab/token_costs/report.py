"""Dollars per million tokens by day, for pools, tiers and models; in both definitions, idle time included."""

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from pydantic import NonNegativeFloat

from inferfab.plan.fleet import FleetPlan
from inferfab.record import Record
from inferfab.token_costs.prometheus import COST, DAY_SECONDS, Series, Source

Level = Literal["pool", "tier", "model"]
LEVELS: tuple[Level, ...] = ("pool", "tier", "model")
WEEK_DAYS = 7


class DayCost(Record):
    """One pool, tier or model over all cells on one day (UTC)."""

    day: date
    level: Level
    name: str
    usd_low: NonNegativeFloat
    usd_high: NonNegativeFloat
    output_tokens: NonNegativeFloat
    total_tokens: NonNegativeFloat
    """Of prompts and answers."""

    def usd_per_million(self, definition: Literal["output", "total"], bound: Literal["low", "high"]) -> float | None:
        """None where no token was served."""
        return per_million(
            self.usd_low if bound == "low" else self.usd_high,
            self.output_tokens if definition == "output" else self.total_tokens,
        )


class Trend(Record):
    """The last seven days over the seven before; per million answer tokens, upper bound."""

    level: Level
    name: str
    usd_per_million_before: float
    usd_per_million_now: float

    @property
    def ratio(self) -> float:
        return self.usd_per_million_now / self.usd_per_million_before


class CostReport(Record):
    days: tuple[DayCost, ...]
    """In the order of days, then pools, tiers and models as the plan has them."""
    trends: tuple[Trend, ...]
    missing: tuple[str, ...]
    """Pools (``cell/pool``) of the plan of which no source has a cost."""


def per_million(usd: float, tokens: float) -> float | None:
    """Dollars over millions of tokens."""
    return usd / tokens * 1e6 if tokens > 0 else None


def cost_report(fleet: FleetPlan, sources: Sequence[Source], until: date, days: int) -> CostReport:
    """Days before ``until``.

    A value at midnight is of the day before it. A store of several environments has cells and pools of one name twice:
    only series of this environment count, or those that say none, as a cell's own Prometheus has them. Cells that two
    sources have count once: the first source's.

    :raises NoAnswer: if a source cannot be read.
    """
    end = int(datetime(until.year, until.month, until.day, tzinfo=UTC).timestamp())
    start = end - (days - 1) * DAY_SECONDS
    values: dict[tuple[str, str, str], dict[int, float]] = {}
    for source in sources:
        taken = set(values)
        for series in source.series(start, end):
            if not _ours(series, fleet.ownership.name):
                continue
            key = _key(series)
            if key not in taken:
                values.setdefault(key, {}).update(_numbers(series))
    known = [(cell.name, pool) for cell in fleet.cells for pool in cell.pools]
    sums: dict[tuple[date, Level, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    missing = []
    for cell, pool in known:
        found = {kind: values.get((cell, pool.name, kind), {}) for kind in ("low", "high", "output", "total")}
        if not found["low"]:
            missing.append(f"{cell}/{pool.name}")
        model = pool.models[0] if len(pool.models) == 1 else "several"
        names: dict[Level, str] = {"pool": pool.name, "tier": pool.tier, "model": model}
        for at in sorted(found["low"]):
            day = datetime.fromtimestamp(at, UTC).date() - timedelta(days=1)
            for level, name in names.items():
                for kind, numbers in found.items():
                    sums[day, level, name][kind] += numbers.get(at, 0.0)
    order = {level: list(dict.fromkeys(_names(fleet, level))) for level in LEVELS}
    rows = tuple(
        DayCost(
            day=day,
            level=level,
            name=name,
            usd_low=kinds["low"],
            usd_high=kinds["high"],
            output_tokens=kinds["output"],
            total_tokens=kinds["total"],
        )
        for (day, level, name), kinds in sorted(
            sums.items(), key=lambda item: (item[0][0], LEVELS.index(item[0][1]), order[item[0][1]].index(item[0][2]))
        )
    )
    return CostReport(days=rows, trends=_trends(rows, until), missing=tuple(missing))


def _names(fleet: FleetPlan, level: Level) -> list[str]:
    if level == "tier":
        return [t.name for t in fleet.tiers]
    if level == "pool":
        return [p.name for p in fleet.pools]
    return [*(m.name for m in fleet.models), "several"]


def _ours(series: Series, environment: str) -> bool:
    return series.metric.get("environment", "") in ("", environment)


def _key(series: Series) -> tuple[str, str, str]:
    labels = series.metric
    name = labels.get("__name__", "")
    kind = labels.get("bound", "") if name == COST else labels.get("definition", "").removesuffix("_tokens")
    return labels.get("cell", ""), labels.get("pool", ""), kind


def _numbers(series: Series) -> dict[int, float]:
    """At midnights; what is no number is left out."""
    found = {}
    for at, text in series.values:
        value = float(text)
        if round(at) % DAY_SECONDS == 0 and math.isfinite(value) and value >= 0:
            found[round(at)] = value
    return found


def _over(days: Sequence[DayCost]) -> float | None:
    return per_million(sum(d.usd_high for d in days), sum(d.output_tokens for d in days))


def _trends(rows: Sequence[DayCost], until: date) -> tuple[Trend, ...]:
    found = []
    for level, name in dict.fromkeys((r.level, r.name) for r in rows):
        mine = [r for r in rows if (r.level, r.name) == (level, name)]
        now = [r for r in mine if r.day >= until - timedelta(days=WEEK_DAYS)]
        before = [r for r in mine if until - timedelta(days=2 * WEEK_DAYS) <= r.day < until - timedelta(days=WEEK_DAYS)]
        # Half a week against a whole one would compare weekdays with weekends.
        if len(now) < WEEK_DAYS or len(before) < WEEK_DAYS:
            continue
        week = [
            per_million(sum(r.usd_high for r in part), sum(r.output_tokens for r in part)) for part in (before, now)
        ]
        if week[0] and week[1] is not None:
            found.append(Trend(level=level, name=name, usd_per_million_before=week[0], usd_per_million_now=week[1]))
    return tuple(found)
