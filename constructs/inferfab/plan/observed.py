"""What was seen in an account, and how it bears on a plan. Read from a file that `preflight` wrote; never decided."""

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AwareDatetime, Field, NonNegativeInt, PositiveInt, ValidationError

from inferfab.record import Record

if TYPE_CHECKING:
    from inferfab.plan.fleet import FleetPlan
    from inferfab.plan.placement import NodeGroupPlan


Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ObservedReservation(Record):
    """A capacity reservation or capacity block as EC2 describes it."""

    state: str
    """EC2's own word, or `not found`."""
    instance: str = ""
    zone: str = ""
    count: NonNegativeInt = 0
    """Instances reserved in all."""
    available: NonNegativeInt = 0
    """Of these not in use, by anybody."""
    kind: Literal["default", "capacity-block"] = "default"
    starts_at: AwareDatetime | None = None
    ends_at: AwareDatetime | None = None
    """None: until somebody cancels it."""


class Observed(Record):
    """What ``preflight`` saw in an account. Dated, never decided, absent by default."""

    as_of: date
    account_id: str | None = None
    """None in files of earlier releases."""
    quotas: dict[str, Amount]
    """Granted quota by cloud, region and quota name (``aws:us-east-1:…``)."""
    used: dict[str, Amount] = {}
    """What others in the account use of it, by the same names, with zone or cluster behind where each has its own."""
    reservations: dict[str, ObservedReservation] = {}
    """By id; only those that the plan names."""
    offered: dict[str, bool] = {}
    """``us-east-1a/p5en.48xlarge``: whether the zone sells that machine type at all."""
    reservation_topology: dict[str, tuple[str, ...]]
    """Network nodes, top to bottom, by reservation id: those that all of its capacity stands under."""


class ReservedLocality(Record):
    """Where a pool's nodes will stand, known from its reservation before any of them runs."""

    pool: str
    reservation: str
    layer: PositiveInt
    """Deepest network layer that all nodes share."""
    layers: PositiveInt
    """Layers that the machine type reports; equal to ``layer``: nothing nearer can be told."""
    network_node: str


class UnreadableObserved(Exception):
    """A file is not what `preflight --out` writes; the message says why and what to do."""


_WRITE = "`inferfab preflight ENV --out FILE` writes one"


def read_observed(text: str | bytes) -> Observed:
    """
    :raises UnreadableObserved: if it is not JSON, or not what preflight writes.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableObserved(f"not JSON: {error}; {_WRITE}") from error
    if isinstance(raw, dict) and isinstance(raw.get("observed"), dict):
        # The report of `preflight --format json`, whole.
        raw = raw["observed"]
    try:
        return Observed.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UnreadableObserved(
            f"not what preflight saw: {where or 'the file'}: {first['msg']} ({error.error_count()} problem(s) in all); "
            f"{_WRITE}"
        ) from error


def with_observed(fleet: "FleetPlan", observed: Observed) -> "FleetPlan":
    """The plan with what was seen, and with the locality that reservations promise."""
    cells = []
    for cell in fleet.cells:
        known = tuple(_reserved(cell.node_groups, {p.name: _layers(p) for p in cell.pools}, observed))
        near = cell.locality
        if near is not None and known:
            said = tuple(
                f"all nodes of {each.pool} under one network node of layer {each.layer} of {each.layers} "
                f"({each.network_node}), by reservation {each.reservation}"
                for each in known
            )
            near = near.model_copy(update={"before_launch": known, "guaranteed": (*near.guaranteed, *said)})
        cells.append(cell.model_copy(update={"locality": near}))
    return fleet.model_copy(update={"observed": observed, "cells": tuple(cells)})


def _layers(pool: object) -> int | None:
    roles = getattr(pool, "roles", ())
    found = {role.fabric.locality_layers for role in roles}
    return next(iter(found)) if len(found) == 1 else None


def _reserved(
    groups: "Iterable[NodeGroupPlan]", layers: dict[str, int | None], observed: Observed
) -> "Iterable[ReservedLocality]":
    """Pools whose nodes all stand in one reservation, and where that is."""
    ids: dict[str, set[str]] = {}
    for group in groups:
        capacity = group.capacity
        named = capacity.id if capacity.kind in ("reservation", "capacity_block") else ""
        ids.setdefault(group.pool, set()).add(named)
    for pool, in_use in ids.items():
        (reserved, *others) = sorted(in_use)
        nodes = observed.reservation_topology.get(reserved, ())
        deepest = layers.get(pool)
        if not others and nodes and deepest and len(nodes) <= deepest:
            yield ReservedLocality(
                pool=pool, reservation=reserved, layer=len(nodes), layers=deepest, network_node=nodes[-1]
            )


def reservation_faults(groups: "Iterable[NodeGroupPlan]", seen: ObservedReservation, as_of: date) -> tuple[str, ...]:
    """Why the node groups that name a reservation cannot have it; empty if they can.

    :param as_of: the day on which the fleet is to run.
    """
    groups = tuple(groups)
    if seen.state == "not found":
        return ("there is no reservation of that id that this account may use",)
    faults = []
    if seen.state not in ("active", "pending", "scheduled", "assessing", "delayed"):
        faults.append(f"it is {seen.state}")
    for group in groups:
        if group.instance != seen.instance:
            faults.append(f"it holds {seen.instance}, and {group.name} needs {group.instance}")
        if group.zone != seen.zone:
            faults.append(f"it is in {seen.zone}, and {group.cell} in {group.zone}")
    needed = sum(group.nodes.max for group in groups)
    if needed > seen.count:
        faults.append(f"it holds {seen.count} machines, and the plan takes {needed} at max")
    now = datetime.combine(as_of, time.min, UTC)
    if seen.ends_at is not None and seen.ends_at <= now:
        faults.append(f"it ends {seen.ends_at:%Y-%m-%d %H:%M} UTC, which is over on {as_of}")
    for group in groups:
        if group.capacity.kind == "capacity_block":
            stated = datetime.fromisoformat(group.capacity.ends_at)
            if seen.ends_at is not None and stated != seen.ends_at:
                faults.append(f"it ends {seen.ends_at:%Y-%m-%dT%H:%M:%SZ}, and the file says {group.capacity.ends_at}")
            if seen.kind != "capacity-block":
                faults.append("it is no capacity block")
        elif group.capacity.kind == "reservation" and seen.kind == "capacity-block":
            faults.append("it is a capacity block: write `kind: capacity_block` with its `ends_at`")
    return tuple(dict.fromkeys(faults))
