"""Quotas of the account against the fleet at max, with what others in the account use."""

import math
from collections.abc import Callable, Iterable, Iterator

from inferfab.catalog.quotas import quotas, vcpu_quota
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.quotas import QuotaNeed, quota_needs, uncounted
from inferfab.preflight.probe import Probe, Seen
from inferfab.preflight.reader import Answer, Reader, ReadFailed, missing
from inferfab.preflight.report import Row

TAG = "inferfab-environment"
_LARGEST_ONLY = {"eks_nodes_per_node_group"}
"""Quotas of many things in a region, of which the largest need decides for all."""

Count = Callable[[Reader, FleetPlan, QuotaNeed], float]


def quota_probes(fleet: FleetPlan, reader: Reader) -> Iterator[Probe]:
    """One question a quota and region."""
    for need in _deciding(quota_needs(fleet)):
        quota = quotas()[need.quota]
        yield Probe(
            area="quota",
            where=need.within or need.region,
            what=quota.title,
            needed=_amount(need.maximum, quota.unit),
            ask=_asking(fleet, reader, need),
            do=f"aws service-quotas get-service-quota --region {need.region} --service-code {quota.service} "
            f"--quota-code {quota.code}",
        )
    for machine in uncounted(fleet):
        row = Row(
            area="quota",
            where=machine.region,
            what=f"vCPUs of {machine.instance} ({machine.market.replace('_', ' ')})",
            needed=f"by {machine.pool} in {machine.cell}",
            found="no source says which quota counts it",
            status="unknown",
            do=f"aws service-quotas list-service-quotas --region {machine.region} --service-code ec2",
        )
        yield Probe("quota", row.where, row.what, row.needed, _told(row))


def _told(row: Row) -> Callable[[Seen], list[Row]]:
    return lambda _: [row]


def _deciding(needs: Iterable[QuotaNeed]) -> Iterator[QuotaNeed]:
    largest: dict[str, QuotaNeed] = {}
    for need in needs:
        if need.quota not in _LARGEST_ONLY:
            yield need
        elif need.maximum > largest.get(need.key, need).maximum or need.key not in largest:
            largest[need.key] = need
    yield from largest.values()


def _asking(fleet: FleetPlan, reader: Reader, need: QuotaNeed) -> Callable[[Seen], list[Row]]:
    def ask(seen: Seen) -> list[Row]:
        quota = quotas()[need.quota]
        granted = _granted(reader, need.region, quota.service, quota.code)
        seen.quotas[need.key] = granted
        count = _COUNTS.get(need.quota) or (_vcpus if quota.market else None)
        others, note = 0.0, ""
        if count is not None:
            try:
                others = count(reader, fleet, need)
                seen.used[need.use_key] = others
                note = f"; others in the account use {_plain(others)}" if others else ""
            except ReadFailed as error:
                note = f"; what others in the account use is not known ({error})"
        whole = need.maximum + others
        enough = whole <= granted
        asked = math.ceil(whole)
        return [
            Row(
                area="quota",
                where=need.within or need.region,
                what=quota.title,
                needed=_amount(need.maximum, quota.unit),
                found=f"{_plain(granted)} granted{note}",
                status="ok" if enough and "not known" not in note else "unknown" if enough else "missing",
                do=""
                if enough
                else f"aws service-quotas request-service-quota-increase --region {need.region} "
                f"--service-code {quota.service} --quota-code {quota.code} --desired-value {asked}",
            )
        ]

    return ask


def _granted(reader: Reader, region: str, service: str, code: str) -> float:
    """The account's own value, or AWS's default where the account never had one of its own."""
    asked = {"ServiceCode": service, "QuotaCode": code}
    try:
        answer = reader.read("service-quotas", "GetServiceQuota", region, **asked)
    except ReadFailed as error:
        if not missing(error):
            raise
        answer = reader.read("service-quotas", "GetAWSDefaultServiceQuota", region, **asked)
    return float(answer["Quota"]["Value"])


def _plain(number: float) -> str:
    return f"{number:,.1f}".removesuffix(".0")


def _amount(number: float, unit: str) -> str:
    return f"{_plain(number)} {unit} at max"


def _tags(thing: Answer) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in thing.get("Tags", [])}


def _foreign(fleet: FleetPlan, things: Iterable[Answer]) -> list[Answer]:
    return [thing for thing in things if _tags(thing).get(TAG) != fleet.ownership.name]


def _vcpus(reader: Reader, fleet: FleetPlan, need: QuotaNeed) -> float:
    """Of instances and of unused reservations that are not this environment's."""
    spot = quotas()[need.quota].market == "spot"
    states = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    total = 0.0
    for reservation in reader.read("ec2", "DescribeInstances", need.region, Filters=states).get("Reservations", []):
        for one in _foreign(fleet, reservation.get("Instances", [])):
            lifecycle = one.get("InstanceLifecycle")
            if lifecycle == "capacity-block" or (lifecycle == "spot") != spot:
                continue
            if vcpu_quota(one["InstanceType"], "spot" if spot else "on_demand") == need.quota:
                cpu = one.get("CpuOptions", {})
                total += int(cpu.get("CoreCount", 0)) * int(cpu.get("ThreadsPerCore", 1))
    return total


def _addresses(reader: Reader, fleet: FleetPlan, need: QuotaNeed) -> float:
    return len(_foreign(fleet, reader.read("ec2", "DescribeAddresses", need.region).get("Addresses", [])))


def _vpcs(reader: Reader, fleet: FleetPlan, need: QuotaNeed) -> float:
    return len(_foreign(fleet, reader.read("ec2", "DescribeVpcs", need.region).get("Vpcs", [])))


def _nat_gateways(reader: Reader, fleet: FleetPlan, need: QuotaNeed) -> float:
    zone = [{"Name": "availability-zone", "Values": [need.within]}]
    subnets = {s["SubnetId"] for s in reader.read("ec2", "DescribeSubnets", need.region, Filters=zone)["Subnets"]}
    states = [{"Name": "state", "Values": ["pending", "available", "deleting"]}]
    found = reader.read("ec2", "DescribeNatGateways", need.region, Filters=states).get("NatGateways", [])
    return sum(1 for gateway in _foreign(fleet, found) if gateway.get("SubnetId") in subnets)


def _load_balancers(reader: Reader, fleet: FleetPlan, need: QuotaNeed) -> float:
    ours = {cell.aws.load_balancer for cell in fleet.cells if cell.aws}
    found = reader.read("elbv2", "DescribeLoadBalancers", need.region).get("LoadBalancers", [])
    return sum(1 for one in found if one.get("Type") == "network" and one["LoadBalancerName"] not in ours)


def _target_groups(reader: Reader, fleet: FleetPlan, need: QuotaNeed) -> float:
    ours = {cell.aws.target_group for cell in fleet.cells if cell.aws}
    found = reader.read("elbv2", "DescribeTargetGroups", need.region).get("TargetGroups", [])
    return sum(1 for one in found if one["TargetGroupName"] not in ours)


def _clusters(reader: Reader, fleet: FleetPlan, need: QuotaNeed) -> float:
    ours = {cell.cluster for cell in fleet.cells if not cell.cluster_exists}
    return sum(1 for name in reader.read("eks", "ListClusters", need.region).get("clusters", []) if name not in ours)


def _node_groups(reader: Reader, fleet: FleetPlan, need: QuotaNeed) -> float:
    """Of others in a cluster that is somebody else's; in ours there are none."""
    cell = next(c for c in fleet.cells if c.name == need.asks[0].cell)
    if not cell.cluster_exists or cell.aws is None:
        return 0
    ours = {cell.aws.system_node_group, *(g.name for g in cell.node_groups)}
    found = reader.read("eks", "ListNodegroups", need.region, clusterName=cell.cluster).get("nodegroups", [])
    return sum(1 for name in found if name not in ours)


_COUNTS: dict[str, Count] = {
    "elastic_ips": _addresses,
    "vpcs": _vpcs,
    "nat_gateways_per_zone": _nat_gateways,
    "network_load_balancers": _load_balancers,
    "target_groups": _target_groups,
    "eks_clusters": _clusters,
    "eks_node_groups_per_cluster": _node_groups,
}
