"""One hostname a tier, over all cells, for DNS cannot see a tier."""

from inferfab.aws.capacity_health import CapacityHealth, CapacityHealthSpec
from inferfab.aws.hosted_names_spec import HostedCell, HostedNamesSpec, HostedTier
from inferfab.aws.name_group import CellTarget, NameGroup, NameGroupSpec, answer
from inferfab.aws.optional import optional
from inferfab.terraform import Construct, Provider
from inferfab.terraform.aws import route53
from inferfab.terraform.skips import skip_check


class HostedNames(Construct):
    """Names of tiers and of cells, with the health checks that move clients between cells.

    What decides, by ``spill``:

    - ``never`` and ``when_down`` look only at whether a gateway is up. Of ``never``, Route 53 does not weigh the
      region's health: it stays with the nearest, and there prefers a cell that is up.
    - ``any`` also asks for room. Full and down must not look alike, or a full fleet would be sent to dead cells;
      so its name is a failover pair: ``free.<hostname>`` over cells that are up *and* have room, and when there
      is none ``up.<hostname>`` over cells that are up. Full cells then answer 503 with Retry-After themselves.

    When every cell is down, Route 53 treats them all as healthy and answers as if there were no checks: with the
    nearest region, and a cell there by weight. The same goes for the cells of one region under ``never``.

    Alias records have the load balancer's time to live, 60 seconds, which nobody can change. Long streams stay
    where they are; only new connections move.

    Example::

        from inferfab.aws.hosted_names import HostedNames
        from inferfab.aws.hosted_names_spec import CellShare, HostedCell, HostedNamesSpec, HostedTier

        names = HostedNames(
            stack,
            "names",
            HostedNamesSpec(
                prefix="prod",
                zone="llm.example.com",
                cells=(
                    HostedCell(
                        name="use1-a",
                        region="us-east-1",
                        hostname="use1-a.llm.example.com",
                        load_balancer_dns_name="prod-use1-a-0123456789abcdef.elb.us-east-1.amazonaws.com",
                        load_balancer_zone_id="Z26RNL4JYFTOTI",
                    ),
                ),
                tiers=(
                    HostedTier(
                        name="standard",
                        hostname="standard.llm.example.com",
                        spill="any",
                        cells=(CellShare(cell="use1-a"),),
                    ),
                ),
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: HostedNamesSpec, *, dns: Provider | None = None) -> None:
        """:param dns: reaches the zone, and writes records there. Default: the stack's own. Health checks stay in the
        stack's account whoever owns the zone: Route 53 lets a record name a check of another account.
        """
        super().__init__(scope, id)
        self._spec, self._dns = spec, optional(dns)
        zone = route53.DataRoute53Zone(self, "zone", name=spec.zone, private_zone=spec.private_zone, provider=self._dns)
        self._zone_id = zone.zone_id
        self._cells = {c.name: c for c in spec.cells}
        self._gateway_checks = {c.name: self._cell(c) for c in spec.cells}
        for tier in spec.tiers:
            if tier.spill == "any":
                self._free_else_up(tier)
            else:
                checks = {c.cell: self._gateway_checks[c.cell] for c in tier.cells}
                self._group(tier, self, tier.name, tier.hostname, checks)
        self.hostnames = {t.name: t.hostname for t in spec.tiers}
        """Hostname by tier."""

    def _cell(self, cell: HostedCell) -> str | None:
        """The cell's own name and, if it is public, the check under it."""
        scope, check = Construct(self, cell.name), self._spec.gateway_check
        record = route53.Route53Record(
            scope,
            "name",
            zone_id=self._zone_id,
            name=cell.hostname,
            type="A",
            provider=self._dns,
            **answer(cell, heeds_health=False),
        )
        skip_check(record, "CKV2_AWS_23", "the load balancer is made by the cell's own stack")
        if not cell.public:
            return None
        return route53.Route53HealthCheck(
            scope,
            "up",
            type="HTTPS",
            fqdn=cell.hostname,
            port=check.port,
            resource_path=check.path,
            enable_sni=True,
            request_interval=check.interval_seconds,
            failure_threshold=check.failures,
            tags={"Name": f"{self._spec.prefix}-{cell.name}-up"},
            # A check of a name that is not there yet would begin by failing.
            depends_on=[record],
        ).id

    def _free_else_up(self, tier: HostedTier) -> None:
        scope = Construct(self, tier.name)
        free: dict[str, str | None] = {
            c.cell: self._free(scope, tier, self._cells[c.cell])
            if self._cells[c.cell].publishes_capacity
            else self._gateway_checks[c.cell]
            for c in tier.cells
        }
        up = {c.cell: self._gateway_checks[c.cell] for c in tier.cells}
        for role, kind, checks in (("PRIMARY", "free", free), ("SECONDARY", "up", up)):
            name = f"{kind}.{tier.hostname}"
            group = self._group(tier, scope, kind, name, checks)
            route53.Route53Record(
                scope,
                role.lower(),
                zone_id=self._zone_id,
                name=tier.hostname,
                type="A",
                provider=self._dns,
                set_identifier=kind,
                failover_routing_policy={"type": role},
                alias={"name": name, "zone_id": self._zone_id, "evaluate_target_health": True},
                depends_on=group.records,
            )

    def _free(self, scope: Construct, tier: HostedTier, cell: HostedCell) -> str:
        spec = CapacityHealthSpec(
            name=f"{self._spec.prefix}-{cell.name}-{tier.name}",
            cell=cell.name,
            tier=tier.name,
            region=cell.region,
            alarm=self._spec.capacity_alarm,
            gateway_check_id=self._gateway_checks[cell.name],
            alerts_topic_arn=cell.alerts_topic_arn,
        )
        return CapacityHealth(scope, f"{cell.name}-capacity", spec).health_check_id

    def _group(
        self, tier: HostedTier, scope: Construct, construct_id: str, hostname: str, checks: dict[str, str | None]
    ) -> NameGroup:
        targets = tuple(
            CellTarget(
                cell=share.cell,
                region=self._cells[share.cell].region,
                load_balancer_dns_name=self._cells[share.cell].load_balancer_dns_name,
                load_balancer_zone_id=self._cells[share.cell].load_balancer_zone_id,
                address=self._cells[share.cell].address,
                weight=share.weight,
                health_check_id=checks[share.cell],
            )
            for share in tier.cells
        )
        return NameGroup(
            scope,
            construct_id,
            NameGroupSpec(
                zone_id=self._zone_id,
                hostname=hostname,
                policy=self._spec.policy,
                targets=targets,
                leave_region=tier.spill != "never",
            ),
            dns=self._dns,
        )
