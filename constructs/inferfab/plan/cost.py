"""Dollars, from prices with source and date; a range where a price is not known, never a guess."""

from collections.abc import Iterable
from typing import Literal

from pydantic import NonNegativeFloat

from inferfab.catalog.instances import Cloud
from inferfab.catalog.prices import PriceKind, price_file, price_table
from inferfab.environment.capacity import CapacityBlock, Owned, PlannedCapacity
from inferfab.environment.money import PriceOverlay
from inferfab.plan.quantities import HOURS_PER_MONTH, Range
from inferfab.record import Record


class HourlyPrice(Record):
    """One instance-hour."""

    instance: str
    kind: str
    usd: Range
    basis: Literal["overlay", "catalog", "environment", "bound", "unknown"]
    how: str
    """Source and date, or why it is a range."""

    @property
    def unknown(self) -> bool:
        """Neither a price nor a bound of it is known."""
        return self.basis == "unknown"


class Money(Record):
    """GPU node cost at one size."""

    usd_per_hour: Range
    usd_per_month: Range

    @staticmethod
    def hourly(usd: Range) -> "Money":
        return Money(usd_per_hour=usd, usd_per_month=usd.times(HOURS_PER_MONTH))

    @staticmethod
    def total(parts: Iterable["Money"]) -> "Money":
        return Money.hourly(Range.total(p.usd_per_hour for p in parts))


class TokenCost(Record):
    """Dollars per million tokens at the planned utilization, in both definitions."""

    usd_per_million_output_tokens: Range
    """All cost over answer tokens alone."""
    usd_per_million_total_tokens: Range
    """All cost over prompt and answer tokens together."""
    utilization: NonNegativeFloat
    band_usd_per_million_tokens: Range | None
    """What the project's mission expects of this model on this GPU; None where it says nothing."""
    measured: str | None
    """The closest published measurement, for comparison; None where the catalog has none."""


class CostPlan(Record):
    """GPU nodes of one thing (pool, cell, tier, environment)."""

    desired: Money
    maximum: Money


def hourly_price(
    cloud: Cloud,
    region: str,
    instance: str,
    capacity: PlannedCapacity,
    overlay: tuple[PriceOverlay, ...],
    owned_usd: float | None = None,
) -> HourlyPrice:
    """The price of an instance-hour under the way it is bought.

    Order: the team's overlay, the environment's own figure, the catalog's price of that kind and region, a
    published bound on the on-demand price, and otherwise from 0 to unknown. A reservation is billed at the
    on-demand rate, used or not, so the team's on-demand rate is its rate too.
    """
    if isinstance(capacity, Owned):
        return _owned(instance, owned_usd)
    kind: PriceKind = "on_demand" if capacity.kind == "reservation" else capacity.kind
    own = _own(cloud, region, instance, capacity.kind, overlay) or _own(cloud, region, instance, kind, overlay)
    if own:
        usd = Range.exact(own.usd_per_hour)
        how = f"{own.source}, {own.as_of}"
        return HourlyPrice(instance=instance, kind=capacity.kind, usd=usd, basis="overlay", how=how)
    if isinstance(capacity, CapacityBlock) and capacity.usd_per_instance_hour is not None:
        usd = Range.exact(capacity.usd_per_instance_hour)
        how = "stated beside the capacity block"
        return HourlyPrice(instance=instance, kind=capacity.kind, usd=usd, basis="environment", how=how)
    found = price_table().get((cloud, region, instance, kind))
    if found:
        usd = Range(low=found.usd_per_hour_low, high=found.usd_per_hour_high)
        how = f"{found.source}, {found.as_of}"
        return HourlyPrice(instance=instance, kind=capacity.kind, usd=usd, basis="catalog", how=how)
    return _bounded(cloud, region, instance, capacity.kind, kind, overlay)


def _owned(instance: str, usd: float | None) -> HourlyPrice:
    """:param usd: what the inventory states."""
    if usd is not None:
        how = "stated in the inventory of the racks"
        return HourlyPrice(instance=instance, kind="owned", usd=Range.exact(usd), basis="environment", how=how)
    how = f"what a {instance} of your own costs is not known; give `racks.usd_per_server_hour`"
    return HourlyPrice(instance=instance, kind="owned", usd=Range(low=0.0, high=None), basis="unknown", how=how)


def _own(cloud: Cloud, region: str, instance: str, kind: str, overlay: tuple[PriceOverlay, ...]) -> PriceOverlay | None:
    """The last line of the overlay that fits; a line that names the region goes before one that does not."""
    fitting = [o for o in overlay if (o.cloud, o.instance, o.kind) == (cloud, instance, kind)]
    exact = [o for o in fitting if o.region == region]
    anywhere = [o for o in fitting if o.region is None]
    found = exact or anywhere
    return found[-1] if found else None


def _bounded(
    cloud: Cloud, region: str, instance: str, shown: str, kind: PriceKind, overlay: tuple[PriceOverlay, ...]
) -> HourlyPrice:
    """A range from a published bound on the on-demand price, or from 0 to unknown."""
    rule = next((r for r in price_file().rules if r.kind == kind), None)
    listed = price_table().get((cloud, region, instance, "on_demand"))
    own = _own(cloud, region, instance, "on_demand", overlay)
    low = own.usd_per_hour if own else listed.usd_per_hour_low if listed else None
    high = own.usd_per_hour if own else listed.usd_per_hour_high if listed else None
    name = kind.replace("_", " ")
    if rule and low is not None and high is not None:
        usd = Range(low=low * rule.of_on_demand_low, high=high * rule.of_on_demand_high)
        dated = own.as_of if own else listed.as_of if listed else ""
        how = f"no {name} price known; {rule.why} ({rule.source}), on-demand price of {dated}"
        return HourlyPrice(instance=instance, kind=shown, usd=usd, basis="bound", how=how)
    how = f"the catalog has no {name} price of {instance} in {region}; give one under `prices.overlay`"
    return HourlyPrice(instance=instance, kind=shown, usd=Range(low=0.0, high=None), basis="unknown", how=how)


def token_cost(
    usd_per_hour: Range,
    requests_per_second: Range,
    *,
    prompt_tokens: int,
    output_tokens: int,
    utilization: float,
    band: Range | None,
    measured: str | None,
) -> TokenCost | None:
    """Cost over tokens of ``requests_per_second`` at full load times ``utilization``; None if nothing is served."""
    if not requests_per_second.low or requests_per_second.high is None:
        return None
    per_request = usd_per_hour.times(1 / 3600).over(requests_per_second.times(utilization))
    return TokenCost(
        usd_per_million_output_tokens=per_request.times(1e6 / output_tokens),
        usd_per_million_total_tokens=per_request.times(1e6 / (prompt_tokens + output_tokens)),
        utilization=utilization,
        band_usd_per_million_tokens=band,
        measured=measured,
    )
