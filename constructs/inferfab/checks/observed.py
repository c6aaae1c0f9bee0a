"""The plan against what `preflight` saw in the account. Without that there is nothing to say."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby

from inferfab.catalog.quotas import quotas
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.findings import Severity, YamlPath
from inferfab.plan.observed import reservation_faults
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.quotas import QuotaAsk, quota_needs

_PREFLIGHT = "run `inferfab preflight` anew, and name its file by --observed"


@rule(
    "IF-PRE-001",
    "more than the account's quota",
    joins=("cloud",),
    why="EC2 and EKS refuse whatever is above a quota, and a raise of GPU quotas takes days.",
    do="ask for the quota before the deploy (`inferfab preflight` prints the command), or plan less.",
    source="Service Quotas as preflight read them; docs.aws.amazon.com/ec2/latest/instancetypes, On-Demand quotas",
)
def within_quotas(facts: Facts) -> Iterator[Problem]:
    seen = facts.fleet.observed
    if seen is None:
        return
    for need in quota_needs(facts.fleet):
        granted = seen.quotas.get(need.key)
        others = seen.used.get(need.use_key, 0.0)
        if granted is None or need.maximum + others <= granted:
            continue
        quota = quotas()[need.quota]
        severity: Severity = "error" if need.desired + others > granted else "warning"
        size, count = ("desired", need.desired) if severity == "error" else ("max", need.maximum)
        beside = f", others in the account use {others:g}" if others else ""
        most = max(need.asks, key=lambda ask: ask.maximum)
        yield Problem(
            _of(most),
            f"{need.within or need.region} needs {count:g} {quota.unit} of `{quota.title}` at {size}{beside}, and "
            f"{granted:g} are granted (seen {seen.as_of})",
            f"ask for {quota.code} of {need.maximum + others:g}, or plan less there",
            value=f"{count:g}",
            severity=severity,
            of_key=True,
        )


def _of(ask: QuotaAsk) -> YamlPath:
    return ("cells", ask.cell, "pools", ask.pool) if ask.pool else ("cells", ask.cell)


@rule(
    "IF-PRE-002",
    "a reservation that does not hold what the plan takes from it",
    joins=("cloud",),
    why="nodes of a reserved group start in their reservation and nowhere else: if it is not there, is of another "
    "machine type or zone, is too small or over, the group stays empty.",
    do="name a reservation that fits, or change the pool.",
    source="EC2 DescribeCapacityReservations as preflight read it; EKS user guide, capacity blocks and ODCRs",
)
def reservations_fit(facts: Facts) -> Iterator[Problem]:
    seen = facts.fleet.observed
    if seen is None:
        return
    by_id: dict[str, list[NodeGroupPlan]] = defaultdict(list)
    for group in facts.fleet.node_groups:
        if group.cloud == "aws" and group.capacity.kind in ("reservation", "capacity_block"):
            by_id[group.capacity.id].append(group)
    for reserved, groups in by_id.items():
        found = seen.reservations.get(reserved)
        faults = reservation_faults(groups, found, seen.as_of) if found else ()
        if faults:
            yield Problem(
                _capacity_path(facts, groups[0]),
                f"reservation {reserved}: {'; '.join(faults)} (seen {seen.as_of})",
                f"name another reservation, or {_PREFLIGHT} once it fits",
                value=reserved,
            )


def _capacity_path(facts: Facts, group: NodeGroupPlan) -> YamlPath:
    """Where the capacity is said: in the cell, or with the pool."""
    here: YamlPath = ("cells", group.cell, "pools", group.pool, "capacity")
    stated = facts.environment.cells[group.cell].pools[group.pool]
    return here if stated is not None and stated.capacity is not None else ("pools", group.pool, "capacity")


@rule(
    "IF-PRE-003",
    "a machine type that the zone does not sell",
    joins=("cloud",),
    why="not every zone of a region has every machine type, and EFA and RoCE do not leave a zone.",
    do="use a zone that sells it.",
    source="EC2 DescribeInstanceTypeOfferings as preflight read it",
)
def zones_sell_machines(facts: Facts) -> Iterator[Problem]:
    seen = facts.fleet.observed
    if seen is None:
        return
    for (cell, zone, instance), groups in groupby(facts.fleet.node_groups, key=lambda g: (g.cell, g.zone, g.instance)):
        if seen.offered.get(f"{zone}/{instance}") is False:
            pools = ", ".join(dict.fromkeys(f"`{g.pool}`" for g in groups))
            yield Problem(
                ("cells", cell, "zone"),
                f"{zone} does not sell {instance}, which {pools} needs (seen {seen.as_of})",
                f"write a zone that sells {instance}: `aws ec2 describe-instance-type-offerings --location-type "
                f"availability-zone --filters Name=instance-type,Values={instance}`",
            )


@rule(
    "IF-PRE-004",
    "a pool that moves KV cache in a reservation that is spread out",
    joins=("cloud", "fabric", "promise"),
    severity="info",
    why="capacity under different network nodes is further apart, and its transfers pass more switches.",
    do="ask AWS for a reservation in one place, or plan with the transfer times of the zone.",
    source="EC2 DescribeCapacityReservationTopology as preflight read it: only nodes that all capacity shares are told",
)
def reservations_are_near(facts: Facts) -> Iterator[Problem]:
    if facts.fleet.observed is None:
        return
    for cell in facts.fleet.cells:
        moving = {p.name for p in cell.pools if p.kv_transfer is not None}
        for known in cell.locality.before_launch if cell.locality else ():
            if known.pool in moving and known.layer < known.layers:
                yield Problem(
                    ("cells", cell.name, "pools", known.pool),
                    f"`{known.pool}` is to stand in {known.reservation}, whose machines share network layer "
                    f"{known.layer} of {known.layers} and nothing nearer",
                    "keep `locality: preferred`, or reserve in one place",
                    of_key=True,
                )
