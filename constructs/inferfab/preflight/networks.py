"""What the environment adopts: networks, subnets and clusters that are somebody else's."""

import ipaddress
from collections.abc import Callable, Iterator

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.preflight.probe import Probe, Seen
from inferfab.preflight.reader import Denied, Reader, ReadFailed, missing
from inferfab.preflight.report import Row, Status

_NEEDED_ADDONS = ("vpc-cni", "coredns", "eks-pod-identity-agent", "aws-ebs-csi-driver")
"""What the platform builds on, as docs/deploy.md asks for it."""


def network_probes(fleet: FleetPlan, reader: Reader) -> Iterator[Probe]:
    """Questions about each cell that stands in an existing network or cluster."""
    for cell in fleet.cells:
        if cell.cloud != "aws":
            continue
        vpc, there = cell.network.existing_id, cell.network.existing
        if vpc is not None and there is not None:
            yield Probe(
                "network", cell.name, vpc, f"there, holds {cell.network.cidr}", _vpc(reader, cell, vpc),
                f"aws ec2 describe-vpcs --region {cell.region} --vpc-ids {vpc}",
            )  # fmt: skip
            yield Probe(
                "network", cell.name, "subnets", "in the VPC and in the right zones", _subnets(reader, cell, vpc),
                f"aws ec2 describe-subnets --region {cell.region} --filters Name=vpc-id,Values={vpc}",
            )  # fmt: skip
        if cell.cluster_exists:
            yield Probe(
                "network", cell.name, f"cluster {cell.cluster}", f"there, {cell.kubernetes}, in {vpc}",
                _cluster(reader, cell), f"aws eks describe-cluster --region {cell.region} --name {cell.cluster}",
            )  # fmt: skip


def _row(cell: CellPlan, what: str, needed: str, found: str, status: Status, do: str = "") -> Row:
    return Row(area="network", where=cell.name, what=what, needed=needed, found=found, status=status, do=do)


def _vpc(reader: Reader, cell: CellPlan, vpc: str) -> Callable[[Seen], list[Row]]:
    needed = f"there, holds {cell.network.cidr}"

    def ask(_: Seen) -> list[Row]:
        found = reader.read("ec2", "DescribeVpcs", cell.region, Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Vpcs"]
        if not found:
            return [_row(cell, vpc, needed, f"there is none in {cell.region}", "missing", "write another `vpc_id`")]
        ranges = [a["CidrBlock"] for a in found[0].get("CidrBlockAssociationSet", [])] or [found[0]["CidrBlock"]]
        ours = ipaddress.IPv4Network(cell.network.cidr)
        if any(ours.subnet_of(ipaddress.IPv4Network(one)) for one in ranges):
            return [_row(cell, vpc, needed, f"there, {', '.join(ranges)}", "ok")]
        do = f"write `cidr: {ranges[0]}`: rules and overlap checks are made from it"
        return [_row(cell, vpc, needed, f"its ranges are {', '.join(ranges)}", "missing", do)]

    return ask


def _subnets(reader: Reader, cell: CellPlan, vpc: str) -> Callable[[Seen], list[Row]]:
    there = cell.network.existing
    assert there is not None

    def ask(_: Seen) -> list[Row]:
        asked = tuple(dict.fromkeys((*there.node_subnet_ids, there.inference_subnet_id, *there.public_subnet_ids)))
        filters = [{"Name": "subnet-id", "Values": list(asked)}]
        found = {
            s["SubnetId"]: s for s in reader.read("ec2", "DescribeSubnets", cell.region, Filters=filters)["Subnets"]
        }
        rows = []
        for subnet_id in asked:
            subnet, faults = found.get(subnet_id), []
            if subnet is None:
                rows.append(_row(cell, subnet_id, f"in {vpc}", "there is none", "missing", "write another subnet"))
                continue
            if subnet["VpcId"] != vpc:
                faults.append(f"it is in {subnet['VpcId']}")
            if subnet_id == there.inference_subnet_id and subnet["AvailabilityZone"] != cell.zone:
                faults.append(f"it is in {subnet['AvailabilityZone']}, and GPU nodes stand in {cell.zone}")
            if subnet_id == there.inference_subnet_id and subnet.get("AvailableIpAddressCount", 0) < _addresses(cell):
                faults.append(f"{subnet['AvailableIpAddressCount']} addresses are free, {_addresses(cell)} are needed")
            needed = f"in {vpc}" + (f", in {cell.zone}" if subnet_id == there.inference_subnet_id else "")
            said = "; ".join(faults) or f"{subnet['CidrBlock']} in {subnet['AvailabilityZone']}"
            rows.append(
                _row(cell, subnet_id, needed, said, "missing" if faults else "ok", "write another" if faults else "")
            )
        zones = {found[one]["AvailabilityZone"] for one in there.node_subnet_ids if one in found}
        if not cell.cluster_exists and len(zones) < 2:
            said = f"all in {', '.join(zones) or 'no zone'}"
            rows.append(
                _row(cell, "node subnets", "in two zones", said, "missing", "EKS wants its control plane in two")
            )
        return rows

    return ask


def _addresses(cell: CellPlan) -> int:
    """Of nodes alone, at max: one on each interface that carries IP."""
    return sum(g.nodes.max * sum(nic.type != "efa-only" for nic in g.layout) for g in cell.node_groups)


def _cluster(reader: Reader, cell: CellPlan) -> Callable[[Seen], list[Row]]:
    what, vpc = f"cluster {cell.cluster}", cell.network.existing_id

    def ask(_: Seen) -> list[Row]:
        needed = f"there, {cell.kubernetes}, in {vpc}"
        try:
            found = reader.read("eks", "DescribeCluster", cell.region, name=cell.cluster)["cluster"]
        except ReadFailed as error:
            if isinstance(error, Denied) or not missing(error):
                raise
            return [_row(cell, what, needed, "there is none", "missing", "write another name, or leave `existing` out")]
        faults, do = [], ""
        if found.get("version") != cell.kubernetes:
            faults.append(f"it runs {found.get('version')}")
            do = f'write `kubernetes: "{found.get("version")}"`'
        if found.get("resourcesVpcConfig", {}).get("vpcId") not in (None, vpc):
            faults.append(f"it is in {found['resourcesVpcConfig']['vpcId']}")
        if found.get("accessConfig", {}).get("authenticationMode") == "CONFIG_MAP":
            faults.append("it takes no access entries (authentication mode CONFIG_MAP)")
            do = do or "have its owner set API_AND_CONFIG_MAP"
        rows = [_row(cell, what, needed, "; ".join(faults) or "there", "missing" if faults else "ok", do)]
        addons = set(reader.read("eks", "ListAddons", cell.region, clusterName=cell.cluster).get("addons", []))
        without = [name for name in _NEEDED_ADDONS if name not in addons]
        rows.append(
            _row(
                cell, f"add-ons of {cell.cluster}", ", ".join(_NEEDED_ADDONS),
                f"not as EKS add-ons: {', '.join(without)}" if without else "there",
                # Its owner may have installed them in another way.
                "unknown" if without else "ok", "ask its owner whether they run there" if without else "",
            )
        )  # fmt: skip
        return rows

    return ask
