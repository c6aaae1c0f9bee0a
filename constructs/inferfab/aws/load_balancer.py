"""The load balancer of a cell, owned by Terraform: what DNS points at, and the group that the gateway's pods join."""

from typing import Annotated

from pydantic import Field, model_validator

from inferfab.aws.health_check import HealthCheck, Port
from inferfab.plan.draining import DRAIN_SECONDS
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable, TerraformOutput
from inferfab.terraform.aws.elbv2 import Lb, LbArguments, LbListener, LbTargetGroup
from inferfab.terraform.skips import skip_check

Name = Annotated[str, Field(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$")]
"""Of a load balancer or target group. Source: ELB API reference, CreateLoadBalancer and CreateTargetGroup."""


class AccessLogs(Record):
    """Where the load balancer writes its logs."""

    bucket: str
    prefix: str


class CellLoadBalancerSpec(Record):
    """The load balancer of one cell."""

    name: Name
    target_group_name: Name
    """Name by which a TargetGroupBinding finds the group."""
    vpc_id: str
    subnet_ids: tuple[str, ...]
    """One a zone, in every zone of the targets: those elsewhere get nothing. With more than one each sends across."""
    security_group_id: str
    """Group of the load balancer; what may reach it is said there."""
    target_port: Port
    """Port of the gateway's pods."""
    health_check: HealthCheck
    targets_outside: bool = False
    """Targets stand outside the VPC, in racks. AWS preserves a client's address within the VPC (and peered ones) only,
    so there they see the load balancer's. Default: no.
    """
    internal: bool = True
    """Reachable from within the network only. Default: yes; a public one has to be asked for."""
    deletion_protection: bool = True
    """AWS refuses to delete it while this is on. Default: yes."""
    access_logs: AccessLogs | None = None
    """AWS writes them for TLS listeners only, which this one is not. Default: none."""
    listener_port: Port = 443
    deregistration_delay_seconds: Annotated[int, Field(ge=0, le=3600)] = DRAIN_SECONDS
    """How long a pod that leaves may finish its streams. Default: half an hour."""
    idle_timeout_seconds: Annotated[int, Field(ge=60, le=6000)] = 1800
    """After which silence a connection is forgotten: longer than the longest wait for a first token. Default: half an
    hour; AWS's own is 350 s.
    """

    @model_validator(mode="after")
    def _has_a_subnet(self) -> "CellLoadBalancerSpec":
        if not self.subnet_ids:
            raise ValueError("subnet_ids: name at least the subnet of the cell's zone")
        return self


class CellLoadBalancer(Construct):
    """A network load balancer that passes TLS on, as it is, to the gateway's pods.

    Terraform owns it, not a controller in the cluster: DNS can point at it before there is a cluster, and a destroyed
    cluster leaves nothing behind.

    Example::

        from inferfab.aws.health_check import HealthCheck
        from inferfab.aws.load_balancer import CellLoadBalancer, CellLoadBalancerSpec

        balancer = CellLoadBalancer(
            stack,
            "load-balancer",
            CellLoadBalancerSpec(
                name="prod-use1-a",
                target_group_name="prod-use1-a-gateway",
                vpc_id="vpc-0123456789abcdef0",
                subnet_ids=("subnet-0123456789abcdef0",),
                security_group_id="sg-0123456789abcdef0",
                target_port=8443,
                health_check=HealthCheck(port=19003),
            ),
        )
        address = balancer.dns_name
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        spec: CellLoadBalancerSpec,
        *,
        after: tuple[ITerraformDependable, ...] = (),
    ) -> None:
        """:param after: what an internet-facing one cannot be made without: the way to the internet gateway."""
        super().__init__(scope, construct_id)
        arguments = _balancer(spec)
        if after:
            arguments["depends_on"] = list(after)
        balancer = Lb(self, "nlb", **arguments)
        target_group = LbTargetGroup(
            self,
            "targets",
            name=spec.target_group_name,
            vpc_id=spec.vpc_id,
            target_type="ip",
            protocol="TCP",
            port=spec.target_port,
            # Not the PROXY protocol instead: health checks would carry its header too, to a port that speaks HTTP.
            preserve_client_ip="false" if spec.targets_outside else "true",
            deregistration_delay=str(spec.deregistration_delay_seconds),
            # After the delay, so that a client which never hangs up does not hold a pod for ever.
            connection_termination=True,
            # A pod that misses some checks keeps its streams; it only gets no new ones.
            target_health_state=[{"enable_unhealthy_connection_termination": False}],
            health_check=spec.health_check.arguments(),
            tags={"Name": spec.target_group_name},
        )
        LbListener(
            self,
            "tls",
            load_balancer_arn=balancer.arn,
            port=spec.listener_port,
            protocol="TCP",
            tcp_idle_timeout_seconds=spec.idle_timeout_seconds,
            default_action=[{"type": "forward", "target_group_arn": target_group.arn}],
            tags={"Name": spec.name},
        )
        if len(spec.subnet_ids) == 1:
            skip_check(balancer, "CKV_AWS_152", "it has one subnet, so there is no other zone to send from")
        if spec.access_logs is None:
            skip_check(
                balancer, "CKV_AWS_91",
                "AWS writes access logs for TLS listeners only; TLS passes through here. The gateway logs requests, "
                "the network's flow logs connections",
            )  # fmt: skip
        if not spec.deletion_protection:
            skip_check(balancer, "CKV_AWS_150", "the spec asks for a load balancer that can be thrown away")
        self.arn = balancer.arn
        self.dns_name = balancer.dns_name
        self.zone_id = balancer.zone_id
        """Hosted zone of ``dns_name``, for alias records."""
        self.target_group_arn = target_group.arn
        self.target_group_name = spec.target_group_name
        TerraformOutput(self, "dns-name", value=self.dns_name, description="Name that the cell's gateway answers under")


def _balancer(spec: CellLoadBalancerSpec) -> LbArguments:
    arguments: LbArguments = {
        "name": spec.name,
        "load_balancer_type": "network",
        "internal": spec.internal,
        "subnets": list(spec.subnet_ids),
        "security_groups": [spec.security_group_id],
        # Gateways may be in one of these zones alone: without it the other zones' addresses would answer nobody.
        "enable_cross_zone_load_balancing": len(spec.subnet_ids) > 1,
        "enable_deletion_protection": spec.deletion_protection,
        "tags": {"Name": spec.name},
    }
    if spec.access_logs:
        logs = spec.access_logs
        arguments["access_logs"] = {"bucket": logs.bucket, "prefix": logs.prefix, "enabled": True}
    return arguments
