"""Prices with source and date, as ranges where a price is not known to a cent."""

from datetime import date
from functools import cache
from typing import Literal

from pydantic import PositiveFloat, model_validator

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.catalog.instances import Cloud
from inferfab.record import Record

PriceKind = Literal["on_demand", "spot", "capacity_block"]


class Price(Record):
    """One instance-hour in one region."""

    cloud: Cloud
    region: str
    instance: str
    kind: PriceKind
    usd_per_hour_low: PositiveFloat
    usd_per_hour_high: PositiveFloat
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


@cache
def price_file() -> PriceFile:
    return read_facts(DATA / "prices.json", PriceFile)


@cache
def price_table() -> dict[tuple[Cloud, str, str, PriceKind], Price]:
    """Prices by (cloud, region, instance, kind)."""
    return {(p.cloud, p.region, p.instance, p.kind): p for p in price_file().prices}
