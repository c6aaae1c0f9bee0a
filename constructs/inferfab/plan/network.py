"""The subnets of a cell, cut from its range."""

import ipaddress
import itertools
from typing import Literal

from inferfab.catalog.regions import regions
from inferfab.environment.cells import Cell, ExistingNetwork, NewNetwork
from inferfab.plan.fabric import gvnic_subnet
from inferfab.record import Record

GOOGLE_PODS, GOOGLE_SERVICES = "100.64.0.0/16", "100.68.0.0/20"
"""256 nodes with a /24 each, as GKE cuts it for 110 pods."""
Purpose = Literal["public", "system", "control-plane", "inference", "gvnic", "rdma"]


class SubnetPlan(Record):
    """One subnet."""

    name: str
    purpose: Purpose
    cidr: str
    zone: str


class ExistingSubnets(Record):
    """Subnets of a network that somebody else owns, by id."""

    node_subnet_ids: tuple[str, ...]
    inference_subnet_id: str
    public_subnet_ids: tuple[str, ...]


class NetworkPlan(Record):
    """The network of a cell."""

    existing_id: str | None
    existing: ExistingSubnets | None = None
    """None for a network of the cell's own."""
    cidr: str
    egress: Literal["nat", "none"] | None
    """None for an existing network: its routes are somebody else's."""
    pod_cidr: str | None = None
    """Google: of all pods. Shared address space (RFC 6598), which GKE takes, so that it uses nothing of the cell's."""
    service_cidr: str | None = None
    """Google: of Kubernetes services."""
    subnets: tuple[SubnetPlan, ...]
    """Empty for an existing network; its subnets are named by id in the environment."""

    def cidrs(self, purpose: Purpose) -> tuple[str, ...]:
        """Ranges of the subnets of one purpose."""
        return tuple(s.cidr for s in self.subnets if s.purpose == purpose)


def plan_network(cell: Cell, rdma_nics: int, gvnics: int = 1) -> NetworkPlan:
    """Cut the cell's range: the lower quarter for public, system, control-plane and further gVNIC subnets, the second
    quarter for GPU nodes and their pods, the upper half in equal parts for RDMA NICs where the fabric has a network
    of its own.

    Up to four further gVNICs have a sixty-fourth of the range each; more share the eighth behind the system subnet in
    equal parts.
    """
    network = cell.network
    if isinstance(network, ExistingNetwork):
        return NetworkPlan(
            existing_id=network.vpc_id,
            existing=ExistingSubnets(
                node_subnet_ids=network.node_subnet_ids,
                inference_subnet_id=network.inference_subnet_id,
                public_subnet_ids=network.public_subnet_ids,
            ),
            cidr=network.cidr,
            egress=None,
            subnets=(),
        )
    assert isinstance(network, NewNetwork)
    whole = ipaddress.IPv4Network(network.cidr)
    quarters = list(whole.subnets(prefixlen_diff=2))
    sixteenths = list(quarters[0].subnets(prefixlen_diff=2))
    subnets = [
        SubnetPlan(name="public", purpose="public", cidr=str(sixteenths[0]), zone=cell.zone),
        SubnetPlan(name="system", purpose="system", cidr=str(sixteenths[1]), zone=cell.zone),
    ]
    if cell.cloud == "aws":
        parts = sixteenths[2].subnets(prefixlen_diff=2)
        # EKS wants its control plane's interfaces in two zones; nodes still stand in one.
        zones = (cell.zone, second_zone(cell))
        subnets += [
            SubnetPlan(name=f"control-plane-{n}", purpose="control-plane", cidr=str(part), zone=zone)
            for n, (part, zone) in enumerate(zip(parts, zones, strict=False))
        ]
    else:
        further = gvnics - 1
        eighth = next(itertools.islice(whole.subnets(prefixlen_diff=3), 1, None))
        cut = _equal_parts(sixteenths[2], 4) if further <= 4 else _equal_parts(eighth, further)
        subnets += [
            SubnetPlan(name=gvnic_subnet(n), purpose="gvnic", cidr=str(part), zone=cell.zone)
            for n, part in enumerate(cut[:further], start=1)
        ]
    subnets.append(SubnetPlan(name="inference", purpose="inference", cidr=str(quarters[1]), zone=cell.zone))
    if rdma_nics:
        rdma = ipaddress.IPv4Network(rdma_cidr(cell) or str(list(whole.subnets(prefixlen_diff=1))[1]))
        subnets += [
            SubnetPlan(name=f"rdma-{n}", purpose="rdma", cidr=str(part), zone=cell.zone)
            for n, part in enumerate(_equal_parts(rdma, rdma_nics))
        ]
    google = cell.cloud == "gcp"
    return NetworkPlan(
        existing_id=None,
        cidr=network.cidr,
        egress=network.egress,
        pod_cidr=GOOGLE_PODS if google else None,
        service_cidr=GOOGLE_SERVICES if google else None,
        subnets=tuple(subnets),
    )


def _equal_parts(whole: ipaddress.IPv4Network, count: int) -> list[ipaddress.IPv4Network]:
    """``count`` equal ranges, as large as they can be."""
    return list(whole.subnets(prefixlen_diff=max(0, (count - 1).bit_length())))[:count]


def second_zone(cell: Cell) -> str:
    """The zone that the environment names; otherwise another one of the region, the first in the catalog's order; the
    cell's own where none is known.
    """
    if isinstance(cell.network, NewNetwork) and cell.network.second_zone is not None:
        return cell.network.second_zone
    region = regions().get(f"{cell.cloud}:{cell.region}")
    return next((z for z in region.zones if z != cell.zone), cell.zone) if region else cell.zone


def rdma_cidr(cell: Cell) -> str | None:
    """The RDMA range that the environment names; None for the default."""
    return cell.fabric.rdma_cidr if cell.fabric and cell.fabric.kind == "roce" else None
