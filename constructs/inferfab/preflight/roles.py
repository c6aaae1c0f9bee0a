"""The account, the deploy role and what it may do, the roles that services bring, and the permissions boundary."""

from collections.abc import Callable, Iterator

from inferfab.catalog.deploy_actions import deploy_actions
from inferfab.environment.ownership import AwsAccount
from inferfab.plan.fleet import FleetPlan
from inferfab.preflight.probe import Probe, Seen
from inferfab.preflight.reader import Reader, ReadFailed, missing
from inferfab.preflight.report import Area, Row, Status

_LINKED = {
    "autoscaling": "AWSServiceRoleForAutoScaling",
    "spot": "AWSServiceRoleForEC2Spot",
    "eks": "AWSServiceRoleForAmazonEKS",
    "eks-nodegroup": "AWSServiceRoleForAmazonEKSNodegroup",
    "elasticloadbalancing": "AWSServiceRoleForElasticLoadBalancing",
}
_MADE_BY_AWS = {"eks", "eks-nodegroup", "elasticloadbalancing"}
"""Services that make their role themselves when they are first used, if the deploy role may let them."""
_BATCH = 40
"""Actions in one simulation, so that a refusal of one call leaves the others."""


def role_probes(fleet: FleetPlan, reader: Reader) -> Iterator[Probe]:
    """Account-wide questions; none without an AWS account."""
    account = fleet.ownership.accounts.aws
    if account is None:
        return
    arn = f"arn:aws:iam::{account.account_id}:role/{account.deploy_role}"
    yield Probe("account", "account", "AWS account", account.account_id, _identity(reader, account))
    for role in dict.fromkeys((account.deploy_role, *account.admin_roles)):
        yield Probe("role", "account", f"role {role}", "there", _role(reader, account, role))
    yield Probe(
        "account", "account", "cost allocation tags", "active", _cost_tags(fleet, reader),
        "in the payer's account: aws ce list-cost-allocation-tags --status Inactive",
    )  # fmt: skip
    if account.permissions_boundary:
        yield Probe("role", "account", f"policy {account.permissions_boundary}", "there", _boundary(reader, account))
    if account.dns_role is not None:
        yield Probe(
            "role", "account", account.dns_role, "lets the deploy role take it on", _elsewhere(account.dns_role)
        )
    for service in _services(fleet):
        yield Probe("role", "account", f"service-linked role {_LINKED[service]}", "there", _linked(reader, service))
    actions = sorted({
        *(action for actions in deploy_actions().values() for action in actions), "iam:CreateServiceLinkedRole"
    })  # fmt: skip
    for first in range(0, len(actions), _BATCH):
        some = actions[first : first + _BATCH]
        services = sorted({action.partition(":")[0] for action in some})
        yield Probe(
            area="permission",
            where="account",
            what=f"{account.deploy_role}: {', '.join(services)}",
            needed=f"{len(some)} actions",
            ask=_simulated(reader, arn, some, account.deploy_role, _context(account, fleet)),
            do=f"aws iam simulate-principal-policy --policy-source-arn {arn} --action-names {' '.join(some[:3])} …",
        )


def _row(area: Area, what: str, needed: str, found: str, status: Status, do: str = "") -> list[Row]:
    return [Row(area=area, where="account", what=what, needed=needed, found=found, status=status, do=do)]


def _identity(reader: Reader, account: AwsAccount) -> Callable[[Seen], list[Row]]:
    def ask(_: Seen) -> list[Row]:
        found = str(reader.read("sts", "GetCallerIdentity")["Account"])
        if found == account.account_id:
            return _row("account", "AWS account", account.account_id, found, "ok")
        do = f"use credentials of {account.account_id}: whatever else stands here is of {found}"
        return _row("account", "AWS account", account.account_id, found, "missing", do)

    return ask


COST_TAGS = ("inferfab-environment", "inferfab-owner", "inferfab-cell", "inferfab-pool", "inferfab-tier")
"""What bills can be split by; the budget of the environment counts by the first."""


def _cost_tags(fleet: FleetPlan, reader: Reader) -> Callable[[Seen], list[Row]]:
    wanted = (*COST_TAGS, *sorted(fleet.ownership.tags))

    def ask(_: Seen) -> list[Row]:
        what, needed = "cost allocation tags", "active"
        listed = reader.read("ce", "ListCostAllocationTags", Type="UserDefined").get("CostAllocationTags", [])
        active = {tag["TagKey"] for tag in listed if tag.get("Status") == "Active"}
        known = {tag["TagKey"] for tag in listed}
        off = [key for key in wanted if key in known and key not in active]
        unseen = [key for key in wanted if key not in known]
        if off:
            # Until it is active the budget reads zero, and bills cannot be split by it afterwards.
            keys = " ".join(f"TagKey={key},Status=Active" for key in off)
            do = f"aws ce update-cost-allocation-tags-status --cost-allocation-tags-status {keys}"
            return _row("account", what, needed, f"not active: {', '.join(off)}", "missing", do)
        if unseen:
            said = f"AWS has not seen {', '.join(unseen)} yet"
            do = "about a day after the first resource has them: run this again, and activate them then"
            return _row("account", what, needed, said, "unknown", do)
        return _row("account", what, needed, "active", "ok")

    return ask


def _role(reader: Reader, account: AwsAccount, role: str) -> Callable[[Seen], list[Row]]:
    def ask(_: Seen) -> list[Row]:
        name = role.rpartition("/")[2]
        try:
            reader.read("iam", "GetRole", RoleName=name)
        except ReadFailed as error:
            if not missing(error):
                raise
            do = "have the account's owners make it; clusters get an access entry for it"
            return _row("role", f"role {role}", "there", "there is none", "missing", do)
        return _row("role", f"role {role}", "there", "there", "ok")

    return ask


def _boundary(reader: Reader, account: AwsAccount) -> Callable[[Seen], list[Row]]:
    what = f"policy {account.permissions_boundary}"

    def ask(_: Seen) -> list[Row]:
        arn = f"arn:aws:iam::{account.account_id}:policy/{account.permissions_boundary}"
        try:
            reader.read("iam", "GetPolicy", PolicyArn=arn)
        except ReadFailed as error:
            if not missing(error):
                raise
            do = "have the account's owners make it, or leave `permissions_boundary` out"
            return _row("role", what, "there", "there is none", "missing", do)
        return _row("role", what, "there", "there", "ok")

    return ask


def _elsewhere(role: str) -> Callable[[Seen], list[Row]]:
    def ask(_: Seen) -> list[Row]:
        # Taking it on would be a use of rights, and its trust is written in another account.
        do = f"as the deploy role: aws sts assume-role --role-arn {role} --role-session-name preflight"
        return _row("role", role, "lets the deploy role take it on", "not looked at: another account", "unknown", do)

    return ask


def _services(fleet: FleetPlan) -> list[str]:
    aws = [cell for cell in fleet.cells if cell.cloud == "aws"]
    spot = any(group.capacity.kind == "spot" for cell in aws for group in cell.node_groups)
    return ["autoscaling", *(["spot"] if spot else []), "eks", "eks-nodegroup", "elasticloadbalancing"] if aws else []


def _linked(reader: Reader, service: str) -> Callable[[Seen], list[Row]]:
    what = f"service-linked role {_LINKED[service]}"

    def ask(_: Seen) -> list[Row]:
        try:
            reader.read("iam", "GetRole", RoleName=_LINKED[service])
        except ReadFailed as error:
            if not missing(error):
                raise
            if service in _MADE_BY_AWS:
                return _row("role", what, "there", "not yet: AWS makes it when the service is first used", "ok")
            do = f"aws iam create-service-linked-role --aws-service-name {service}.amazonaws.com"
            return _row("role", what, "there", "there is none", "missing", do)
        return _row("role", what, "there", "there", "ok")

    return ask


def _context(account: AwsAccount, fleet: FleetPlan) -> list[dict[str, object]]:
    """What the real requests carry, so that policies which demand it are judged as they will be."""
    regions = [region.region for region in fleet.aws_regions]
    entries = {"aws:RequestedRegion": regions[0], "iam:PassedToService": "eks.amazonaws.com"} if regions else {}
    if account.permissions_boundary:
        policy = f"arn:aws:iam::{account.account_id}:policy/{account.permissions_boundary}"
        entries["iam:PermissionsBoundary"] = policy
    return [
        {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": "string"}
        for key, value in entries.items()
    ]


def _simulated(
    reader: Reader, arn: str, actions: list[str], role: str, context: list[dict[str, object]]
) -> Callable[[Seen], list[Row]]:
    services = ", ".join(sorted({action.partition(":")[0] for action in actions}))

    def ask(_: Seen) -> list[Row]:
        what, needed = f"{role}: {services}", f"{len(actions)} actions"
        try:
            answer = reader.read(
                "iam",
                "SimulatePrincipalPolicy",
                PolicySourceArn=arn,
                ActionNames=actions,
                ResourceArns=["*"],
                ContextEntries=context,
            )
        except ReadFailed as error:
            if not missing(error):
                raise
            return _row("permission", what, needed, f"there is no role {role}", "missing", "make the role first")
        results = answer.get("EvaluationResults", [])
        refused = [r for r in results if r.get("EvalDecision") != "allowed"]
        if not refused:
            return _row("permission", what, needed, "all allowed", "ok")
        names = [str(r["EvalActionName"]) for r in refused]
        bounded = any(not r.get("PermissionsBoundaryDecisionDetail", {"AllowedByPermissionsBoundary": True})
                      .get("AllowedByPermissionsBoundary", True) for r in refused)  # fmt: skip
        by = ", by the role's own boundary" if bounded else ""
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        # Conditions (a boundary that is demanded, resources by name) make a simulation over "*" refuse what the real
        # request would be allowed.
        do = f"allow {role}: {' '.join(names)}; a statement with conditions or resources may allow it all the same"
        return _row("permission", what, needed, f"not on every resource{by}: {shown}", "unknown", do)

    return ask
