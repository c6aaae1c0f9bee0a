"""Security groups and their rules: one resource a rule, each with a description, never rules inside the group.

Rules inside the group would fight with what EKS and the load balancer controller add, and one change would
rewrite them all.
"""

from typing import Required, TypedDict

from inferfab.aws.values import Ports
from inferfab.terraform import Construct, ITerraformDependable
from inferfab.terraform.aws.vpc import SecurityGroup, VpcSecurityGroupEgressRule, VpcSecurityGroupIngressRule
from inferfab.terraform.skips import skip_check

_FROM_EVERYWHERE = {"CKV_AWS_24": 22, "CKV_AWS_25": 3389, "CKV_AWS_260": 80}
"""checkov's checks of ports that nobody opens to everybody."""


class Peer(TypedDict, total=False):
    """The other side of a rule; exactly one of these."""

    cidr_ipv4: str
    prefix_list_id: str
    referenced_security_group_id: str


class _Traffic(TypedDict, total=False):
    ip_protocol: Required[str]
    from_port: float
    to_port: float


def security_group(scope: Construct, name: str, vpc_id: str, description: str) -> SecurityGroup:
    """A group without rules. It lets nothing in or out: Terraform takes away the rule that AWS puts there."""
    return SecurityGroup(scope, "group", name=name, description=description, vpc_id=vpc_id, tags={"Name": name})


def let_in(
    scope: Construct, rule: str, group_id: str, ports: Ports | None, peer: Peer, why: str
) -> ITerraformDependable:
    """:param ports: None for all traffic of every protocol."""
    made = VpcSecurityGroupIngressRule(
        scope, f"in-{rule}", security_group_id=group_id, description=why, **_traffic(ports), **peer
    )
    # checkov reads a range of ports without an address as one from everywhere.
    if ports is not None and "referenced_security_group_id" in peer:
        for check, port in _FROM_EVERYWHERE.items():
            if ports.first <= port <= ports.end:
                skip_check(made, check, "from one security group, not from any address")
    return made


def let_out(
    scope: Construct, rule: str, group_id: str, ports: Ports | None, peer: Peer, why: str
) -> ITerraformDependable:
    """:param ports: None for all traffic of every protocol."""
    return VpcSecurityGroupEgressRule(
        scope, f"out-{rule}", security_group_id=group_id, description=why, **_traffic(ports), **peer
    )


def _traffic(ports: Ports | None) -> _Traffic:
    if ports is None:
        return {"ip_protocol": "-1"}
    return {"ip_protocol": ports.protocol, "from_port": ports.first, "to_port": ports.end}
