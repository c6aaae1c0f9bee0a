"""The network interfaces of a node, as its launch template lists them."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, NonNegativeInt

from inferfab.record import Record
from inferfab.terraform.aws import ec2

_CONNTRACK_DEFAULT_SECONDS = 432_000
"""Five days: EC2's idle timeout of established TCP connections before Nitro v6, which lowered it to 350 seconds
(karpenter-provider-aws website/content/en/preview/concepts/nodeclasses.md)."""


class Interface(Record):
    """One network interface."""

    card: NonNegativeInt
    device: NonNegativeInt
    type: Literal["interface", "efa-only"] = "interface"
    """``efa-only`` carries RDMA and has no IP address."""


def _sound(layout: tuple[Interface, ...]) -> tuple[Interface, ...]:
    """Rules of EC2 and of its EFA guide; a template that breaks one is accepted, and no instance ever starts."""
    if not layout or layout[0] != Interface(card=0, device=0):
        raise ValueError("the first interface must be a plain `interface` on card 0, device 0")
    slots = [(i.card, i.device) for i in layout]
    twice = next((slot for slot in slots if slots.count(slot) > 1), None)
    if twice is not None:
        raise ValueError(f"two interfaces on card {twice[0]}, device {twice[1]}")
    efa = [i.card for i in layout if i.type == "efa-only"]
    crowded = next((card for card in efa if efa.count(card) > 1), None)
    if crowded is not None:
        raise ValueError(f"two efa-only interfaces on card {crowded}; a card takes one")
    return layout


Layout = Annotated[tuple[Interface, ...], AfterValidator(_sound)]
"""Interfaces of a node, the primary one first."""
TcpIdleSeconds = Annotated[int, Field(ge=60, le=_CONNTRACK_DEFAULT_SECONDS)]
"""How long a security group remembers an idle TCP connection; what EC2 takes."""
LONGEST_TCP_IDLE: TcpIdleSeconds = _CONNTRACK_DEFAULT_SECONDS


def network_interfaces(
    layout: tuple[Interface, ...], security_group_ids: tuple[str, ...], tcp_idle_seconds: int
) -> list[ec2.LaunchTemplateNetworkInterfaces]:
    """The blocks of the template. Without a subnet: the node group brings it, and EKS refuses one here."""
    blocks: list[ec2.LaunchTemplateNetworkInterfaces] = []
    for interface in layout:
        block: ec2.LaunchTemplateNetworkInterfaces = {
            "network_card_index": interface.card,
            "device_index": interface.device,
            "interface_type": interface.type,
            # On every interface: a template with groups gets nothing from EKS, and EFA traffic is let through only
            # by a rule from the group to itself.
            "security_groups": list(security_group_ids),
            "delete_on_termination": "true",
            "description": f"{interface.type} {interface.card}/{interface.device}",
        }
        if interface.type == "interface":
            # An efa-only interface has no address to speak of; EC2 refuses even the question.
            block["associate_public_ip_address"] = "false"
            block["connection_tracking_specification"] = {"tcp_established_timeout": tcp_idle_seconds}
        blocks.append(block)
    return blocks
