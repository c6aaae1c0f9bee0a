"""What newer facts would change in the catalog. Nothing is written here."""

import json
from collections.abc import Iterable
from datetime import date

from pydantic import NonNegativeInt

from inferfab.catalog.instances import EfaNics, InstanceFile, InstanceType
from inferfab.catalog.prices import Price, PriceFile
from inferfab.record import Record
from inferfab.refresh.sources import Fact

Key = tuple[str, str, str, str]
_WRITABLE = ("vcpus", "memory_mib", "local_nvme_gb")
"""Facts that stand alone. GPUs and network cards decide layouts and pod limits, which a person works out."""
_FACTS = (
    "vcpus",
    "memory_mib",
    "gpu_count",
    "local_nvme_gb",
    "cards",
    "efa_interfaces",
    "enis_per_card",
    "ipv4_per_eni",
)
_MARK = "; refreshed "


class PriceChange(Record):
    """A price that is another now, or new; hourly, in USD."""

    region: str
    instance: str
    kind: str
    before: tuple[float, float] | None
    """Low and high; None: the catalog had no price."""
    before_as_of: date | None
    after: tuple[float, float]
    as_of: date

    @property
    def percent(self) -> float | None:
        """Change of the high end."""
        return (self.after[1] / self.before[1] - 1) * 100 if self.before else None


class FactChange(Record):
    """A fact of an instance type that is another now."""

    instance: str
    fact: str
    before: int | None
    after: int
    by_hand: bool
    """More hangs on it than the number: it is said, and not written."""


class Refresh(Record):
    """Everything that a refresh found."""

    prices: tuple[PriceChange, ...]
    confirmed: NonNegativeInt
    """Prices that are the same still; they get the new date."""
    older: NonNegativeInt
    """Prices that were read from something older than the catalog's own, and are left alone."""
    unconfirmed: tuple[str, ...]
    """Prices of the catalog that were asked for and not found."""
    facts: tuple[FactChange, ...]
    not_in_catalog: tuple[str, ...]
    """Instance types with GPUs that were read and the catalog does not have."""


def compare(
    file: PriceFile,
    machines: InstanceFile,
    prices: Iterable[Price],
    facts: Iterable[Fact],
    *,
    asked: Iterable[Key] = (),
) -> tuple[Refresh, PriceFile, InstanceFile]:
    """What changes, and both files as they would be.

    :param asked: prices that were looked for: those of the catalog among them that were not found are reported.
    """
    known = {m.name: m for m in machines.instances}
    table: dict[Key, Price] = {(p.cloud, p.region, p.instance, p.kind): p for p in file.prices}
    changes, confirmed, older, seen = [], 0, 0, set()
    newest: date | None = None
    strangers = set()
    for price in sorted(prices, key=lambda p: (p.region, p.instance, p.kind)):
        if price.instance not in known:
            strangers.add(price.instance)
            continue
        key = (price.cloud, price.region, price.instance, price.kind)
        seen.add(key)
        had = table.get(key)
        if had is not None and had.as_of > price.as_of:
            older += 1
            continue
        newest = max(newest or price.as_of, price.as_of)
        table[key] = price
        before = (had.usd_per_hour_low, had.usd_per_hour_high) if had else None
        after = (price.usd_per_hour_low, price.usd_per_hour_high)
        if before == after:
            confirmed += 1
            continue
        changes.append(
            PriceChange(
                region=price.region, instance=price.instance, kind=price.kind, before=before,
                before_as_of=had.as_of if had else None, after=after, as_of=price.as_of,
            )
        )  # fmt: skip
    fact_changes, rows = _facts(known, facts)
    missing = sorted(" ".join(key[1:]) for key in {*asked} & {*table} - seen)
    provenance = file.provenance
    if newest is not None:
        base = provenance.source.split(_MARK)[0]
        provenance = provenance.model_copy(update={"source": f"{base}{_MARK}{newest}"})
    refresh = Refresh(
        prices=tuple(changes),
        confirmed=confirmed,
        older=older,
        unconfirmed=tuple(missing),
        facts=tuple(fact_changes),
        not_in_catalog=tuple(sorted(s for s in strangers if s[0] in "pg")),
    )
    return (
        refresh,
        file.model_copy(update={"provenance": provenance, "prices": tuple(table[key] for key in sorted(table))}),
        machines.model_copy(update={"instances": rows}),
    )


def _facts(known: dict[str, InstanceType], facts: Iterable[Fact]) -> tuple[list[FactChange], tuple[InstanceType, ...]]:
    rows, changes = dict(known), []
    for fact in sorted(facts, key=lambda f: f.instance):
        machine = known.get(fact.instance)
        if machine is None:
            continue
        writable: dict[str, int] = {}
        for name in _FACTS:
            before, after = _now(machine, name), getattr(fact, name)
            if after is None or after == before:
                continue
            by_hand = name not in _WRITABLE
            changes.append(FactChange(instance=fact.instance, fact=name, before=before, after=after, by_hand=by_hand))
            if not by_hand:
                writable[name] = after
        rows[fact.instance] = machine.model_copy(update=writable)
    return changes, tuple(rows.values())


def _now(machine: InstanceType, name: str) -> int | None:
    of_nics = name in ("cards", "efa_interfaces", "enis_per_card", "ipv4_per_eni")
    if of_nics and not isinstance(machine.nics, EfaNics):
        return None
    value = getattr(machine.nics if of_nics else machine, name)
    return int(value) if value is not None else None


def price_text(file: PriceFile) -> str:
    """As the catalog's own file is written."""
    return json.dumps(file.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


def instance_text(file: InstanceFile) -> str:
    """One instance type a line, so that a change of one fact is a change of one line."""
    body = file.model_dump(mode="json")
    rows = ",\n".join(json.dumps(row) for row in body["instances"])
    return f'{{"provenance": {json.dumps(body["provenance"])},\n"instances": [\n{rows}\n]}}\n'
