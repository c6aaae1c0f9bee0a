"""The security group of a cell's network load balancer: the one public entrance."""

import ipaddress

from pydantic import model_validator

from inferfab.aws.rules import Peer, let_in, let_out, security_group
from inferfab.aws.values import EVERYWHERE, Name, Port, Ports, Range, SecurityGroupId, VpcId, range_id
from inferfab.record import Record
from inferfab.terraform import Construct, skip_check

_WIDEST = 8


class LoadBalancerSecurityGroupSpec(Record):
    """Who reaches the load balancer, and what it reaches."""

    name: Name
    """The group is ``<name>-load-balancer``."""
    vpc_id: VpcId
    targets: dict[str, SecurityGroupId] = {}
    """Security groups of the nodes or pods behind it, by a name that stays."""
    target_cidrs: tuple[Range, ...] = ()
    """Ranges of targets that stand in no security group: pods in racks. Their own firewall has to let it in."""
    target_port: Port
    """Port on which the targets take requests and health checks."""
    health_check_port: Port | None = None
    """Default: the target port."""
    public: bool = False
    """Open to the whole internet. Default: closed but for ``clients``."""
    clients: tuple[Range, ...] = ()
    """Ranges that may come in, where not the whole internet may."""
    port: Port = 443
    """Port of the listener."""

    @model_validator(mode="after")
    def _someone(self) -> "LoadBalancerSecurityGroupSpec":
        if not self.targets and not self.target_cidrs:
            raise ValueError("nothing stands behind it: name targets or target_cidrs")
        if self.public and self.clients:
            raise ValueError("public: true lets everyone in; leave clients away, or public")
        if not self.public and not self.clients:
            raise ValueError("nobody may come in: name clients, or say public: true")
        for client in self.clients:
            if ipaddress.IPv4Network(client).prefixlen < _WIDEST:
                raise ValueError(f"clients: {client} is a large part of the internet; say public: true if you mean it")
        return self

    @property
    def sources(self) -> tuple[str, ...]:
        return (EVERYWHERE,) if self.public else self.clients

    @property
    def target_ports(self) -> tuple[Ports, ...]:
        both = (self.target_port, self.health_check_port or self.target_port)
        return tuple(Ports(first=port) for port in dict.fromkeys(both))


class LoadBalancerSecurityGroup(Construct):
    """HTTPS in from the internet or from given ranges, out to the targets only, and their door for it.

    A network load balancer takes security groups only when it is made, so it has to be made with this one.

    Example::

        from inferfab.aws.load_balancer_security_group import (
            LoadBalancerSecurityGroup,
            LoadBalancerSecurityGroupSpec,
        )

        LoadBalancerSecurityGroup(
            stack,
            "load-balancer-group",
            LoadBalancerSecurityGroupSpec(
                name="prod-use1-a",
                vpc_id="vpc-0a1b2c3d4e5f60718",
                targets={"cluster": "sg-0a1b2c3d4e5f60718"},
                target_port=8443,
                public=True,
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: LoadBalancerSecurityGroupSpec) -> None:
        super().__init__(scope, id)
        group = security_group(self, f"{spec.name}-load-balancer", spec.vpc_id, "Load balancer of one cell")
        skip_check(group, "CKV2_AWS_5", "Attached to the load balancer, which is made with it")
        who = "the internet" if spec.public else "known clients"
        for source in spec.sources:
            peer: Peer = {"cidr_ipv4": source}
            let_in(self, range_id(source), group.id, Ports(first=spec.port), peer, f"Requests from {who}")
        for name, target in spec.targets.items():
            for ports in spec.target_ports:
                out: Peer = {"referenced_security_group_id": target}
                back: Peer = {"referenced_security_group_id": group.id}
                let_out(self, f"{name}-{ports}", group.id, ports, out, "Requests and health checks to the gateways")
                let_in(self, f"{name}-{ports}", target, ports, back, "Requests and health checks of the load balancer")
        for target in spec.target_cidrs:
            for ports in spec.target_ports:
                outside: Peer = {"cidr_ipv4": target}
                why = "Requests and health checks to the gateways outside"
                let_out(self, f"{range_id(target)}-{ports}", group.id, ports, outside, why)
        self.security_group_id = group.id
