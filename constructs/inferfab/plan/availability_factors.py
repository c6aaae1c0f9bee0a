"""What keeps a tier from being available, factor by factor, each with its source.

Nodes, cells and regions are those of :mod:`inferfab.plan.availability`, each as if nothing else failed. Names in DNS,
gateways, routers and changes come from ``failures.yaml``; they count once, as shares of requests that are lost.
"""

import math

from pydantic import NonNegativeInt

from inferfab.catalog.failures import failure_facts
from inferfab.catalog.reliability import reliability
from inferfab.environment.tiers import Spill
from inferfab.plan.availability import CellCapacity, Failing, available_share
from inferfab.plan.availability_factor import MINUTES_PER_MONTH, AvailabilityFactor
from inferfab.plan.serving.cpu_components import ROUTERS

_HOURS_PER_YEAR = 8760


def availability_factors(
    cells: tuple[CellCapacity, ...],
    *,
    utilization: float,
    spill: Spill,
    gateways: dict[str, NonNegativeInt],
    over_tiers: bool,
    judge_minutes: int | None,
    first_share: float,
) -> tuple[AvailabilityFactor, ...]:
    """:param gateways: pods by cell.
    :param over_tiers: a router over tiers stands before the model's pools.
    :param judge_minutes: of the rollout; None: changes reach every cell at once.
    :param first_share: of the traffic, what the first cell of a rollout has.
    """
    rates, facts = reliability(), failure_facts()
    operations, dns = facts.operations, facts.dns
    shares, spills = _shares(cells), spill != "never"
    found = [
        AvailabilityFactor(
            name="nodes",
            unavailability=_alone(cells, utilization, spills, "nodes"),
            basis=rates.node.basis,
            how=f"{rates.node.unavailability:.4%} of the time for 8 GPUs: so much of it what is left does not hold "
            f"{utilization:.0%} of the desired capacity",
        ),
        AvailabilityFactor(
            name="cells",
            unavailability=_alone(cells, utilization, spills, "cells"),
            basis=rates.cell.basis,
            how=f"{rates.cell.unavailability:.2%} of the time each, {len(cells)} of them"
            + ("" if spills else "; each carries its own requests"),
        ),
        AvailabilityFactor(
            name="regions",
            unavailability=_alone(cells, utilization, spills, "regions"),
            basis=rates.region.basis,
            how=f"{rates.region.unavailability:.2%} of the time each, {len({c.region for c in cells})} of them",
        ),
    ]
    if spills and len(cells) > 1:
        found.append(_stranded(cells, utilization, spill, found[0].unavailability))
        # A cell is lost so often a year; its requests fail until names have moved.
        losses = rates.cell.unavailability * _HOURS_PER_YEAR / operations.cell_outage.hours
        lost = losses * dns.failover_seconds / (_HOURS_PER_YEAR * 3600)
        found.append(
            AvailabilityFactor(
                name="names",
                unavailability=lost,
                basis=operations.cell_outage.basis,
                how=f"a cell is lost {losses:.0f} times a year for {operations.cell_outage.hours:g} h each, and its "
                f"clients come back after {dns.failover_seconds:.0f} s ({dns.check_failures} checks of "
                f"{dns.check_interval_seconds} s, {dns.ttl_seconds} s time to live)",
            )
        )
    pods = {c.cell: gateways.get(c.cell, 0) for c in cells}
    if all(pods.values()):
        found.append(
            AvailabilityFactor(
                name="gateways",
                unavailability=math.fsum(shares[c] * operations.gateway_pod.unavailability**n for c, n in pods.items()),
                basis=operations.gateway_pod.basis,
                how="all of a cell's pods at once: " + ", ".join(f"{n} in {c}" for c, n in pods.items()),
            )
        )
    if over_tiers:
        found.append(
            AvailabilityFactor(
                name="routers",
                unavailability=operations.router_pod.unavailability**ROUTERS,
                basis=operations.router_pod.basis,
                how=f"both of {ROUTERS} routers over tiers of a cell at once",
            )
        )
    changes = operations.changes
    minutes = (judge_minutes or changes.seen_after_minutes) + changes.back_out_minutes
    # A bad change is seen in the first cell of a rollout; it is what the change reaches.
    reached = first_share if judge_minutes else 1.0
    found.append(
        AvailabilityFactor(
            name="changes",
            unavailability=changes.a_month * changes.bad_share * minutes / MINUTES_PER_MONTH * reached,
            basis=changes.basis,
            how=f"{changes.a_month:g} changes a month, {changes.bad_share:.0%} bad, {minutes:g} min each, for "
            f"{reached:.0%} of requests" + ("" if judge_minutes else "; no rollout judges them"),
        )
    )
    return tuple(found)


def _stranded(cells: tuple[CellCapacity, ...], utilization: float, spill: Spill, pooled: float) -> AvailabilityFactor:
    """Nodes are lost, others would have room, and requests stay where they are: a gateway that is up keeps them."""
    facts = failure_facts()
    alone = max(0.0, _alone(cells, utilization, False, "nodes") - pooled)
    seconds = facts.operations.node_repair_hours * 3600
    if spill == "any":
        seconds = min(seconds, facts.dns.spill_seconds)
        until = f"for {seconds:.0f} s, until names lead away from a full cell"
    else:
        until = f"until the node is back ({facts.operations.node_repair_hours:g} h): names leave only what is down"
    return AvailabilityFactor(
        name="stranded",
        unavailability=alone * seconds / (facts.operations.node_repair_hours * 3600),
        basis=reliability().node.basis,
        how=f"what nodes leave in a cell does not hold its own {utilization:.0%}, {until}",
    )


def _alone(cells: tuple[CellCapacity, ...], utilization: float, spills: bool, only: Failing) -> float:
    shares = _shares(cells)
    if spills:
        up = available_share(cells, utilization, only=only)
    else:
        up = math.fsum(shares[c.cell] * available_share((c,), utilization, only=only) for c in cells)
    return max(0.0, 1 - up)


def _shares(cells: tuple[CellCapacity, ...]) -> dict[str, float]:
    whole = sum(c.share for c in cells) or 1.0
    return {c.cell: c.share / whole for c in cells}
