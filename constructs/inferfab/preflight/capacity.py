"""Machine types by zone, reservations and capacity blocks, and where reserved capacity stands."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time

from inferfab.plan.fleet import FleetPlan
from inferfab.plan.observed import ObservedReservation, reservation_faults
from inferfab.plan.placement import NodeGroupPlan
from inferfab.preflight.probe import Probe, Seen
from inferfab.preflight.reader import Answer, Denied, Reader, ReadFailed, missing
from inferfab.preflight.report import Row

_SOON_DAYS = 14


def capacity_probes(fleet: FleetPlan, reader: Reader, as_of: date) -> Iterator[Probe]:
    """Offerings, one a region; reservations, one each."""
    yield from _offerings(fleet, reader)
    by_id: dict[tuple[str, str], list[NodeGroupPlan]] = defaultdict(list)
    for group in fleet.node_groups:
        if group.cloud == "aws" and group.capacity.kind in ("reservation", "capacity_block"):
            by_id[(group.region, group.capacity.id)].append(group)
    for (region, reserved), groups in sorted(by_id.items()):
        yield Probe(
            area="reservation",
            where=region,
            what=reserved,
            needed=_needed(groups),
            ask=_reservation(reader, region, reserved, tuple(groups), as_of),
            do=f"aws ec2 describe-capacity-reservations --region {region} --capacity-reservation-ids {reserved}",
        )
        if any(g.gpus_per_node for g in groups):
            yield Probe(
                area="locality",
                where=region,
                what=f"network nodes of {reserved}",
                needed="told before launch",
                ask=_topology(fleet, reader, region, reserved, tuple(groups)),
                do=f"aws ec2 describe-capacity-reservation-topology --region {region} "
                f"--capacity-reservation-ids {reserved}",
            )


def _needed(groups: list[NodeGroupPlan]) -> str:
    nodes = sum(g.nodes.max for g in groups)
    return f"{nodes} x {groups[0].instance} in {groups[0].zone} at max, for {groups[0].pool}"


def _offerings(fleet: FleetPlan, reader: Reader) -> Iterator[Probe]:
    wanted: dict[str, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    for cell in fleet.cells:
        if cell.cloud != "aws":
            continue
        wanted[cell.region][(cell.zone, cell.system_instance)].append(f"system nodes of {cell.name}")
        for group in cell.node_groups:
            if group.cloud == "aws":
                wanted[cell.region][(group.zone, group.instance)].append(f"{group.pool} in {cell.name}")
    for region, machines in sorted(wanted.items()):
        types = sorted({instance for _, instance in machines})
        yield Probe(
            area="offering",
            where=region,
            what=", ".join(types),
            needed="sold in the cells' zones",
            ask=_offered(reader, region, {key: tuple(dict.fromkeys(who)) for key, who in machines.items()}),
            do=f"aws ec2 describe-instance-type-offerings --region {region} --location-type availability-zone "
            f"--filters Name=instance-type,Values={','.join(types)}",
        )


def _offered(
    reader: Reader, region: str, machines: dict[tuple[str, str], tuple[str, ...]]
) -> Callable[[Seen], list[Row]]:
    def ask(seen: Seen) -> list[Row]:
        types = sorted({instance for _, instance in machines})
        found = reader.read(
            "ec2",
            "DescribeInstanceTypeOfferings",
            region,
            LocationType="availability-zone",
            Filters=[{"Name": "instance-type", "Values": types}],
        ).get("InstanceTypeOfferings", [])
        sold = {(one["Location"], one["InstanceType"]) for one in found}
        rows = []
        for (zone, instance), who in sorted(machines.items()):
            there = (zone, instance) in sold
            seen.offered[f"{zone}/{instance}"] = there
            others = sorted(z for z, i in sold if i == instance)
            rows.append(
                Row(
                    area="offering",
                    where=zone,
                    what=instance,
                    needed=f"for {', '.join(who)}",
                    found="sold there" if there else f"sold in {', '.join(others) or 'no zone of the region'}",
                    status="ok" if there else "missing",
                    do="" if there else "write one of these zones, or another machine type",
                )
            )
        return rows

    return ask


def _reservation(
    reader: Reader, region: str, reserved: str, groups: tuple[NodeGroupPlan, ...], as_of: date
) -> Callable[[Seen], list[Row]]:
    def ask(seen: Seen) -> list[Row]:
        try:
            found = reader.read("ec2", "DescribeCapacityReservations", region, CapacityReservationIds=[reserved])
            listed = found.get("CapacityReservations", [])
        except ReadFailed as error:
            if isinstance(error, Denied) or not missing(error):
                raise
            listed = []
        here = _as_observed(listed[0]) if listed else ObservedReservation(state="not found")
        seen.reservations[reserved] = here
        faults = reservation_faults(groups, here, as_of)
        said = "; ".join(faults) or _described(here, as_of)
        do = ""
        if here.state == "not found":
            do = (
                f"name a reservation of this account in {region}, have it shared (AWS RAM), or make one: aws ec2 "
                f"create-capacity-reservation --region {region} --availability-zone {groups[0].zone} --instance-type "
                f"{groups[0].instance} --instance-platform Linux/UNIX --instance-count "
                f"{sum(g.nodes.max for g in groups)} --instance-match-criteria targeted"
            )
        elif faults:
            nodes = sum(g.nodes.max for g in groups)
            do = (
                f"aws ec2 modify-capacity-reservation --region {region} --capacity-reservation-id {reserved} "
                f"--instance-count {nodes}"
                if here.kind == "default" and len(faults) == 1 and "at max" in faults[0]
                else "name a reservation that fits, or change the pool"
            )
        return [
            Row(
                area="reservation",
                where=region,
                what=reserved,
                needed=_needed(list(groups)),
                found=said,
                status="missing" if faults else "ok",
                do=do,
            )
        ]

    return ask


def _as_observed(found: Answer) -> ObservedReservation:
    return ObservedReservation(
        state=found["State"],
        instance=found["InstanceType"],
        zone=found["AvailabilityZone"],
        count=found["TotalInstanceCount"],
        available=found.get("AvailableInstanceCount", 0),
        kind="capacity-block" if found.get("ReservationType") == "capacity-block" else "default",
        starts_at=_utc(found.get("StartDate")),
        ends_at=_utc(found.get("EndDate")) if found.get("EndDateType") != "unlimited" else None,
    )


def _utc(moment: datetime | None) -> datetime | None:
    return moment.astimezone(UTC) if moment is not None else None


def _described(here: ObservedReservation, as_of: date) -> str:
    said = f"{here.state}, {here.available} of {here.count} free"
    if here.starts_at is not None and here.starts_at > datetime.combine(as_of, time.min, UTC):
        said += f", starts {here.starts_at:%Y-%m-%dT%H:%M:%SZ}"
    if here.ends_at is None:
        return f"{said}, without an end"
    days = (here.ends_at - datetime.combine(as_of, time.min, UTC)).days
    soon = f" (in {days} days)" if days <= _SOON_DAYS else ""
    return f"{said}, ends {here.ends_at:%Y-%m-%dT%H:%M:%SZ}{soon}"


def _topology(
    fleet: FleetPlan, reader: Reader, region: str, reserved: str, groups: tuple[NodeGroupPlan, ...]
) -> Callable[[Seen], list[Row]]:
    pools = {g.pool for g in groups}
    depths = {
        r.fabric.locality_layers for c in fleet.cells for p in c.pools if p.name in pools for r in p.roles
        if c.region == region
    }  # fmt: skip
    layers = max((depth or 0 for depth in depths), default=0)

    def ask(seen: Seen) -> list[Row]:
        what, needed = f"network nodes of {reserved}", "told before launch"

        def row(found: str) -> Row:
            # Never missing: closeness is preferred, and known after launch at the latest.
            return Row(area="locality", where=region, what=what, needed=needed, found=found, status="ok")

        if not layers:
            return [row(f"{groups[0].instance} reports no network layers")]
        try:
            answer = reader.read(
                "ec2", "DescribeCapacityReservationTopology", region, CapacityReservationIds=[reserved]
            )
        except ReadFailed as error:
            if isinstance(error, Denied) or not missing(error):
                raise
            return [row("no such reservation")]
        listed = answer.get("CapacityReservations", [])
        nodes = tuple(listed[0].get("NetworkNodes", [])) if listed else ()
        if not nodes:
            return [row("AWS tells none; the nodes' labels will, after launch")]
        seen.topology[reserved] = nodes
        near = "all of it in one place" if len(nodes) >= layers else "nothing nearer is shared"
        return [row(f"layer {len(nodes)} of {layers} is shared ({nodes[-1]}): {near}")]

    return ask
