"""Prices with source and date, as ranges where a price is not known to a cent."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, model_validator

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.catalog.instances import Cloud
from inferfab.record import Record

Usd = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PriceKind = Literal["on_demand", "spot", "capacity_block"]


class Price(Record):
    """One instance-hour in one region."""

    cloud: Cloud
    region: str
    instance: str
    kind: PriceKind
    usd_per_hour_low: Usd
    usd_per_hour_high: Usd
    """Equal to the low end where the price is known; zones and days make spot a range."""
    as_of: date
    source: str

    @model_validator(mode="after")
    def _ordered(self) -> "Price":
        if self.usd_per_hour_low > self.usd_per_hour_high:
            raise ValueError("usd_per_hour_low is above usd_per_hour_high")
        return self


class PriceRule(Record):
    """A published bound that holds where no price was read (for example: spot never above on demand)."""

    kind: PriceKind
    of_on_demand_low: PositiveFloat
    of_on_demand_high: PositiveFloat
    why: str
    source: str


class PriceFile(FactFile):
    prices: tuple[Price, ...]
    rules: tuple[PriceRule, ...] = ()


Table = dict[tuple[Cloud, str, str, PriceKind], Price]
_instead: ContextVar[tuple[PriceFile, Table] | None] = ContextVar("prices", default=None)


def price_file() -> PriceFile:
    """Prices and their rules: the catalog's, or those of :func:`priced_by`."""
    instead = _instead.get()
    return instead[0] if instead is not None else _shipped()


def price_table() -> Table:
    """Prices by (cloud, region, instance, kind)."""
    instead = _instead.get()
    return instead[1] if instead is not None else _shipped_table()


@contextmanager
def priced_by(file: PriceFile) -> Iterator[None]:
    """Plan with other prices than the catalog's: what a refresh would change is seen before it is written."""
    token = _instead.set((file, _table(file)))
    try:
        yield
    finally:
        _instead.reset(token)


@cache
def _shipped() -> PriceFile:
    return read_facts(DATA / "prices.json", PriceFile)


@cache
def _shipped_table() -> Table:
    return _table(_shipped())


def _table(file: PriceFile) -> Table:
    return {(p.cloud, p.region, p.instance, p.kind): p for p in file.prices}
