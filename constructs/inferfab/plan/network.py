"""The subnets of a cell, cut from its range."""

import ipaddress
from typing import Literal

from inferfab.environment.cells import Cell, ExistingNetwork, NewNetwork
from inferfab.record import Record

Purpose = Literal["public", "system", "control-plane", "inference", "rdma"]


class SubnetPlan(Record):
    """One subnet."""

    name: str
    purpose: Purpose
    cidr: str
    zone: str
    """Zone, or the words ``a second zone`` where the control plane wants two."""


class NetworkPlan(Record):
    """The network of a cell."""

    existing_id: str | None
    cidr: str
    subnets: tuple[SubnetPlan, ...]
    """Empty for an existing network; its subnets are named by id in the environment."""


def plan_network(cell: Cell, rdma_nics: int) -> NetworkPlan:
    """Cut the cell's range: lower quarter for public, system and control-plane subnets, second quarter for GPU
    nodes and their pods, upper half in equal parts for RDMA NICs where the fabric has a network of its own.
    """
    network = cell.network
    if isinstance(network, ExistingNetwork):
        return NetworkPlan(existing_id=network.vpc_id, cidr=network.cidr, subnets=())
    assert isinstance(network, NewNetwork)
    whole = ipaddress.IPv4Network(network.cidr)
    quarters = list(whole.subnets(prefixlen_diff=2))
    eighths = list(quarters[0].subnets(prefixlen_diff=2))
    second = "a second zone"
    subnets = [
        SubnetPlan(name="public", purpose="public", cidr=str(eighths[0]), zone=cell.zone),
        SubnetPlan(name="system", purpose="system", cidr=str(eighths[1]), zone=cell.zone),
    ]
    if cell.cloud == "aws":
        # EKS wants its control plane's interfaces in two zones; nodes still stand in one.
        parts = list(eighths[2].subnets(prefixlen_diff=2))
        subnets += [
            SubnetPlan(name="control-plane-a", purpose="control-plane", cidr=str(parts[0]), zone=cell.zone),
            SubnetPlan(name="control-plane-b", purpose="control-plane", cidr=str(parts[1]), zone=second),
        ]
    subnets.append(SubnetPlan(name="inference", purpose="inference", cidr=str(quarters[1]), zone=cell.zone))
    if rdma_nics:
        rdma = ipaddress.IPv4Network(rdma_cidr(cell) or str(list(whole.subnets(prefixlen_diff=1))[1]))
        extra_bits = max(0, (rdma_nics - 1).bit_length())
        parts = list(rdma.subnets(prefixlen_diff=extra_bits))[:rdma_nics]
        subnets += [
            SubnetPlan(name=f"rdma-{n}", purpose="rdma", cidr=str(part), zone=cell.zone) for n, part in enumerate(parts)
        ]
    return NetworkPlan(existing_id=None, cidr=network.cidr, subnets=tuple(subnets))


def rdma_cidr(cell: Cell) -> str | None:
    """The RDMA range that the environment names; None for the default."""
    return cell.fabric.rdma_cidr if cell.fabric and cell.fabric.kind == "roce" else None
