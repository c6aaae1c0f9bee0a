"""Network, IAM and protection of an environment that are wider after a change than before."""

from collections.abc import Iterator
from typing import Literal

from inferfab.plan.fleet import FleetPlan
from inferfab.review.lines import Opening

_Found = tuple[str, Literal["network", "iam", "protection"], str]


def fleet_openings(before: FleetPlan | None, after: FleetPlan | None) -> tuple[Opening, ...]:
    """What the internet reaches now and did not before, who may do more, and what no longer guards."""
    if after is None:
        return ()
    found = [*_reached(before, after), *(_owned(before, after) if before else ())]
    stack = after.ownership.name
    return tuple(Opening(subject=subject, stack=stack, kind=kind, what=what) for subject, kind, what in found)


def _reached(before: FleetPlan | None, after: FleetPlan) -> Iterator[_Found]:
    was = {c.name: c for c in before.cells} if before else {}
    for cell in after.cells:
        if cell.gateway.public and not (cell.name in was and was[cell.name].gateway.public):
            yield cell.name, "network", "the gateway faces the internet"
    access, old = after.ownership.access, before.ownership.access if before else None
    if access.kind == "public":
        known = set(old.allowed_cidrs) if old is not None and old.kind == "public" else set()
        if not set(access.allowed_cidrs) <= known:
            ranges = ", ".join(str(r) for r in access.allowed_cidrs)
            yield "access", "network", f"clusters' endpoints answer {ranges} from the internet"
    elif old is not None and old.kind == "private" and not set(access.runner_cidrs) <= set(old.runner_cidrs):
        more = ", ".join(str(r) for r in access.runner_cidrs if r not in old.runner_cidrs)
        yield "access.runner_cidrs", "network", f"clusters' endpoints answer {more} too"


def _owned(before: FleetPlan, after: FleetPlan) -> Iterator[_Found]:
    was, is_ = before.ownership, after.ownership
    if was.protected and not is_.protected:
        yield "protected", "protection", "clusters, state and model store may be destroyed"
    fewer = len(set(was.alert_emails) - set(is_.alert_emails))
    if fewer:
        rest = "nobody hears of alarms and budget any more" if not is_.alert_emails else "others still hear of alarms"
        yield "alerts.emails", "protection", f"{fewer} of {len(was.alert_emails)} addresses removed: {rest}"
    if was.accounts.aws and is_.accounts.aws:
        old, new = was.accounts.aws, is_.accounts.aws
        if old.permissions_boundary and new.permissions_boundary != old.permissions_boundary:
            now = "another policy bounds" if new.permissions_boundary else "nothing bounds"
            yield "accounts.aws.permissions_boundary", "iam", f"{now} the roles that are made"
        more = [role for role in new.admin_roles if role not in old.admin_roles]
        if more:
            yield "accounts.aws.admin_roles", "iam", f"administers the clusters: {', '.join(f'`{r}`' for r in more)}"
        if old.deploy_role != new.deploy_role:
            yield "accounts.aws.deploy_role", "iam", f"`{new.deploy_role}` plans, applies and administers"
    if was.accounts.gcp and is_.accounts.gcp:
        account = is_.accounts.gcp.deploy_service_account
        if account != was.accounts.gcp.deploy_service_account:
            yield "accounts.gcp.deploy_service_account", "iam", f"`{account}` plans and applies"
    yield from _met(before, after)


def _met(before: FleetPlan, after: FleetPlan) -> Iterator[_Found]:
    """Other traffic that inference traffic may meet now."""
    was, is_ = before.ownership.kept_apart, after.ownership.kept_apart
    for name in ("storage", "training"):
        gone = [str(r) for r in getattr(was, name) if r not in getattr(is_, name)]
        if gone:
            yield f"kept_apart.{name}", "network", f"GPU nodes are no longer kept from {', '.join(gone)}"
    ports = [str(port) for port in is_.storage_ports if port not in was.storage_ports]
    if ports:
        yield "kept_apart.storage_ports", "network", f"GPU nodes may reach storage on port {', '.join(ports)}"
