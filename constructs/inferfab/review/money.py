"""Dollars of GPU groups in a Terraform plan, from the same prices as the FleetPlan's."""

from collections.abc import Sequence
from functools import cache

from inferfab.catalog.instances import Cloud, instances
from inferfab.catalog.prices import price_table
from inferfab.environment.capacity import Capacity, CapacityBlock, OnDemand, Reservation, Spot
from inferfab.environment.money import PriceOverlay
from inferfab.plan.cost import HourlyPrice, Money, hourly_price
from inferfab.plan.quantities import Range
from inferfab.review.gpus.group import Buys, GpuGroup
from inferfab.review.lines import PriceLine
from inferfab.review.span import UNKNOWN, product

# Only the kind decides a price here; the ids are not in every plan.
_CAPACITY: dict[Buys, Capacity] = {
    "on demand": OnDemand(),
    "spot": Spot(kind="spot"),
    "reservation": Reservation(kind="reservation", id="in-a-plan"),
    "capacity block": CapacityBlock.model_validate(
        {"kind": "capacity_block", "id": "cr-00000000", "ends_at": "2000-01-01T00:00:00Z"}
    ),
}
Overlay = tuple[PriceOverlay, ...]


@cache
def price(cloud: Cloud, region: str, machine: str, buys: Buys, overlay: Overlay = ()) -> HourlyPrice:
    """Of one machine-hour. Without a region the range over the regions that the catalog has, and it says so."""
    if region:
        return hourly_price(cloud, region, machine, _CAPACITY[buys], overlay)
    kind = "on_demand" if buys in ("reservation", "on demand") else "spot" if buys == "spot" else "capacity_block"
    found = [p for key, p in price_table().items() if key[0] == cloud and key[2:] == (machine, kind)]
    if not found:
        return hourly_price(cloud, "", machine, _CAPACITY[buys], overlay)
    usd = Range(low=min(p.usd_per_hour_low for p in found), high=max(p.usd_per_hour_high for p in found))
    how = f"the plan does not say the region: range over {len(found)} region(s) of the catalog, {found[0].source}"
    return HourlyPrice(instance=machine, kind=buys, usd=usd, basis="bound", how=how)


def cost(group: GpuGroup | None, overlay: Overlay = ()) -> tuple[Money, Money]:
    """At the desired and at the largest size."""
    if group is None:
        nothing = Money.hourly(Range.exact(0.0))
        return nothing, nothing
    sums = []
    for size in ("desired", "max"):
        usd = Range.exact(0.0)
        for buys, nodes in group.buys:
            usd = usd.plus(product(getattr(nodes, size), _each(group, buys, overlay)))
        # A limit in GPUs bounds the nodes that the parts leave open (Karpenter).
        sums.append(Money.hourly(_limited(group, size, usd, overlay)))
    return sums[0], sums[1]


def _limited(group: GpuGroup, size: str, usd: Range, overlay: Overlay) -> Range:
    gpus: Range = getattr(group.gpus, size)
    if usd.high is not None or gpus.high is None or len(group.buys) != 1:
        return usd
    per_gpu = []
    for name in group.machines:
        machine = instances(group.cloud).get(name)
        if machine is None:
            return usd
        high = price(group.cloud, group.region, name, group.buys[0][0], overlay).usd.high
        if high is None:
            return usd
        per_gpu.append(high / machine.gpu_count)
    return Range(low=usd.low, high=gpus.high * max(per_gpu)) if per_gpu else usd


def _each(group: GpuGroup, buys: Buys, overlay: Overlay) -> Range:
    """Of one node: from the cheapest to the dearest machine that the group may use."""
    ranges = [price(group.cloud, group.region, name, buys, overlay).usd for name in group.machines]
    if not ranges:
        return UNKNOWN
    highs = [r.high for r in ranges]
    return Range(low=min(r.low for r in ranges), high=None if None in highs else max(h for h in highs if h is not None))


def price_lines(groups: Sequence[GpuGroup], overlay: Overlay = ()) -> tuple[PriceLine, ...]:
    """Where the prices of groups come from, each once."""
    found: dict[PriceLine, None] = {}
    for group in groups:
        for buys, _ in group.buys:
            for name in group.machines:
                one = price(group.cloud, group.region, name, buys, overlay)
                found[
                    PriceLine(
                        instance=name,
                        region=f"{group.cloud}:{group.region}" if group.region else "region not seen",
                        kind=buys,
                        usd_per_hour=one.usd,
                        basis=one.basis,
                        how=one.how,
                    )
                ] = None
    return tuple(found)
