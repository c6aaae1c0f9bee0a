"""What an environment has once: names in DNS with their health, and the budget. Applied last: it looks cells up."""

from inferfab.aws.budget import FleetBudget, FleetBudgetSpec
from inferfab.aws.hosted_names import HostedNames
from inferfab.aws.hosted_names_spec import CellShare, HostedCell, HostedNamesSpec, HostedTier
from inferfab.aws.projection import names_of
from inferfab.aws.zone_role import ZoneRole
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.terraform import App, TerraformOutput
from inferfab.terraform.aws.elbv2 import DataLb
from inferfab.terraform.aws.provider import AwsProvider
from inferfab.terraform.google.compute import DataComputeAddress
from inferfab.terraform.google.provider import GoogleProvider

from .base import AwsStack


class GlobalStack(AwsStack):
    """Names and budget of an environment."""

    def __init__(self, app: App, fleet: FleetPlan) -> None:
        super().__init__(app, f"{fleet.ownership.name}-global", fleet, fleet.aws_regions[0].region)
        own = fleet.ownership
        if fleet.cost.budget is not None:
            FleetBudget(
                self,
                "budget",
                FleetBudgetSpec(
                    name=own.aws.budget,
                    usd_per_month=fleet.cost.budget.usd_per_month,
                    tag_value=own.name,
                    topic_arn=fleet.aws_regions[0].alerts_topic_arn,
                ),
            )
        if fleet.routing.domain is not None and fleet.routing.zone is not None:
            self._names(fleet)

    def _names(self, fleet: FleetPlan) -> None:
        routing, cells = fleet.routing, fleet.cells
        assert routing.zone is not None
        google = fleet.ownership.gcp
        if google is not None and any(cell.cloud == "gcp" for cell in cells):
            # Only to look addresses up.
            GoogleProvider(self, "google", project=google.project)
        HostedNames(
            self,
            "names",
            HostedNamesSpec(
                prefix=fleet.ownership.name,
                zone=routing.zone,
                policy=routing.policy,
                cells=tuple(self._cell(cell, str(routing.domain)) for cell in cells),
                tiers=tuple(
                    HostedTier(
                        name=route.tier,
                        hostname=str(route.hostname),
                        spill=route.spill,
                        cells=tuple(CellShare(cell=record.cell, weight=record.weight) for record in route.cells),
                    )
                    for route in routing.routes
                ),
            ),
            dns=self._other_account(fleet),
        )
        self._certificates(fleet)

    def _certificates(self, fleet: FleetPlan) -> None:
        """Where cert-managers prove names by a role of the zone's account: its owner's half, to be read."""
        cells = [cell for cell in fleet.cells if cell.aws is not None and cell.gateway.tls.role is not None]
        if not cells:
            return
        role = ZoneRole(
            taken_by=tuple(f"arn:aws:iam::{self.account_id}:role/{names_of(cell).cert_manager_role}" for cell in cells),
            hostnames=tuple(dict.fromkeys(name for cell in cells for name in cell.gateway.hostnames)),
        )
        parts = {"certificate_role_trust": role.trust_policy(), "certificate_role_policy": role.permissions_policy()}
        for name, text in parts.items():
            TerraformOutput(self, name, value=text, description="For the owner of the hosted zone: cert-manager's role")

    def _other_account(self, fleet: FleetPlan) -> AwsProvider | None:
        """Who writes records where the zone is another account's; checks and alarms stay here."""
        account = fleet.ownership.accounts.aws
        role = account.dns_role if account is not None else None
        if role is None:
            return None
        return AwsProvider(
            self,
            "dns",
            alias="dns",
            region=self.region,
            assume_role=[{"role_arn": role, "session_name": f"inferfab-{fleet.ownership.name}"}],
            # The role's own account, and no other.
            allowed_account_ids=[role.split(":")[4]],
        )

    def _cell(self, cell: CellPlan, domain: str) -> HostedCell:
        if cell.gcp is not None:
            address = DataComputeAddress(self, f"{cell.name}-address", name=cell.gcp.address, region=cell.region)
            return HostedCell(
                name=cell.name,
                region=cell.gcp.aws_region,
                hostname=f"{cell.name}.{domain}",
                address=address.address,
                publishes_capacity=False,
                public=cell.gateway.public,
            )
        names = names_of(cell)
        balancer = DataLb(self, f"{cell.name}-load-balancer", name=names.load_balancer, region=cell.region)
        return HostedCell(
            name=cell.name,
            region=cell.region,
            hostname=f"{names.hostname_label}.{domain}",
            load_balancer_dns_name=balancer.dns_name,
            load_balancer_zone_id=balancer.zone_id,
            public=cell.gateway.public,
            alerts_topic_arn=names.alerts_topic_arn,
        )
