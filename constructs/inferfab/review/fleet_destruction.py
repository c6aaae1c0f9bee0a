"""What a new FleetPlan destroys of the old one, for stacks that cannot be planned yet.

Terraform decides how a change is carried out; this says what it will have to do, by the rules in
``catalog/data/plan_review.yaml``. A Terraform plan of the stack, where there is one, knows better.
"""

from collections.abc import Iterator

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.quantities import Range
from inferfab.review.capacity_loss import capacity_loss
from inferfab.review.lines import Action, Destruction
from inferfab.review.span import NOTHING, Span

# What a cell cannot change while it lives: each of them is another network or another cluster.
_OF_A_CELL = ("cloud", "region", "zone", "cluster")


def fleet_destruction(before: FleetPlan | None, after: FleetPlan | None) -> tuple[Destruction, ...]:
    """Cells, node groups and nodes of ``before`` that ``after`` does not keep."""
    if before is None:
        return ()
    kept = {c.name: c for c in after.cells} if after else {}
    found: list[Destruction] = []
    for cell in before.cells:
        now = kept.get(cell.name)
        if now is None:
            why = "the cell is no longer in the file" if after else "the environment is taken away"
            found.append(_cell(before, cell, "delete", why, ()))
            continue
        moved = _other_place(cell, now)
        if moved:
            found.append(_cell(before, cell, "replace", "the cell becomes another one", moved))
            continue
        orphaned = _other_owner(before, after, cell) if after else None
        if orphaned:
            found.append(_cell(before, cell, "replace", *orphaned))
            continue
        found += _groups(before, cell, now)
    return (*found, *_names(before, after))


def _other_owner(before: FleetPlan, after: FleetPlan, cell: CellPlan) -> tuple[str, tuple[str, ...]] | None:
    """(why, because of what) a cell is made anew somewhere else, beside one that nothing manages any more."""
    was, is_ = before.ownership, after.ownership
    old, new = was.accounts, is_.accounts
    if cell.cloud == "aws" and old.aws and (not new.aws or new.aws.account_id != old.aws.account_id):
        return "another account: everything is made anew there", ("accounts.aws.account_id",)
    if cell.cloud == "gcp" and old.gcp and (not new.gcp or new.gcp.project != old.gcp.project):
        return "another project: everything is made anew there", ("accounts.gcp.project",)
    if was.state and is_.state:
        moved = [f"state.{n}" for n in ("bucket", "key_prefix") if getattr(was.state, n) != getattr(is_.state, n)]
        if moved:
            return (
                "Terraform looks for its state elsewhere: unless that is moved first, it makes everything anew",
                tuple(moved),
            )
    return None


def _names(before: FleetPlan, after: FleetPlan | None) -> Iterator[Destruction]:
    """Names in DNS that clients use and that no longer stand, or stand in another zone."""
    kept = {r.tier: r.hostname for r in after.routing.routes} if after else {}
    elsewhere = after is not None and before.routing.zone != after.routing.zone
    for route in before.routing.routes:
        if route.hostname is None or (route.hostname in kept.values() and not elsewhere):
            continue
        action: Action = "replace" if kept.get(route.tier) else "delete"
        yield Destruction(
            subject=f"name {route.hostname}",
            stack=before.ownership.name,
            basis="environment",
            action=action,
            reason="clients no longer find it" if route.hostname not in kept.values() else "another hosted zone",
            because_of=("routing",),
            gpus_lost=NOTHING,
            seconds_without=Range.exact(0.0),
            seconds_basis="holds no GPU",
            keeps_data=f"the name by which tier {route.tier} is reached",
        )


def _other_place(cell: CellPlan, now: CellPlan) -> tuple[str, ...]:
    differing = [name for name in _OF_A_CELL if getattr(cell, name) != getattr(now, name)]
    if (cell.network.cidr, cell.network.existing_id) != (now.network.cidr, now.network.existing_id):
        differing.append("network")
    return tuple(differing)


def _cell(fleet: FleetPlan, cell: CellPlan, action: Action, reason: str, because: tuple[str, ...]) -> Destruction:
    loss = capacity_loss(action)
    what = "node groups" if cell.cluster_exists else "cluster, network and node groups"
    return Destruction(
        subject=f"cell {cell.name}",
        stack=fleet.ownership.name,
        basis="environment",
        action=action,
        reason=reason,
        because_of=because,
        gpus_lost=Span.total(Span.of(g.gpus) for g in cell.node_groups),
        seconds_without=loss.seconds_without,
        seconds_basis=loss.basis,
        keeps_data=f"{what} of the cell",
    )


def _groups(fleet: FleetPlan, cell: CellPlan, now: CellPlan) -> Iterator[Destruction]:
    formers = {g.former.cloud_name: g.former for g in now.node_groups if g.former}
    kept = {g.cloud_name: g for g in now.node_groups} | formers
    for group in cell.node_groups:
        new = kept.get(group.cloud_name)
        if new is None:
            newer = next((g.cloud_name for g in now.node_groups if g.name == group.name), None)
            why = f"{newer} takes its place at once" if newer else "its pool or role is no longer in the cell"
            yield _group(fleet, group, "delete", why, ("generation",) if newer else ())
            continue
        replaced = _replaces(group, new)
        if replaced:
            yield _group(fleet, group, "replace", "the node group cannot be changed in place", replaced)
            continue
        # A former group lets go of the cell's versions.
        rolled = _rolls(cell, cell if group.cloud_name in formers else now, group, new)
        if rolled:
            yield _group(fleet, group, "roll nodes", "its nodes are replaced one after another", rolled)
        elif new.nodes.desired < group.nodes.desired:
            fewer = group.nodes.desired - new.nodes.desired
            yield _group(
                fleet, group, "shrink", f"{fewer} of {group.nodes.desired} nodes fewer at the desired size", (), fewer
            )


def _replaces(group: NodeGroupPlan, new: NodeGroupPlan) -> tuple[str, ...]:
    """EKS and GKE keep machine image, capacity type and subnets of a node group for its life."""
    differing = []
    if _capacity_type(group) != _capacity_type(new):
        differing.append("capacity")
    if group.arch != new.arch:
        differing.append("machine image (architecture)")
    # GKE has no launch template: the machine type is the node pool's own.
    if group.cloud == "gcp" and group.instance != new.instance:
        differing.append("instance")
    return tuple(differing)


def _capacity_type(group: NodeGroupPlan) -> str:
    """EKS knows ON_DEMAND, SPOT and CAPACITY_BLOCK; a reservation is used by on-demand nodes."""
    return "on_demand" if group.capacity.kind == "reservation" else group.capacity.kind


def _rolls(cell: CellPlan, now: CellPlan, group: NodeGroupPlan, new: NodeGroupPlan) -> tuple[str, ...]:
    """A new version of the launch template or of Kubernetes."""
    fields = ("instance", "max_pods", "hugepages_2mi_mib", "layout")
    differing = [name for name in fields if getattr(group, name) != getattr(new, name)]
    if group.capacity != new.capacity:
        differing.append("capacity")
    differing += [name for name in ("kubernetes", "ami_release") if getattr(cell, name) != getattr(now, name)]
    return tuple(differing)


def _group(
    fleet: FleetPlan,
    group: NodeGroupPlan,
    action: Action,
    reason: str,
    because: tuple[str, ...],
    fewer_nodes: int | None = None,
) -> Destruction:
    loss = capacity_loss(action)
    gpus = Span.of(group.gpus)
    if fewer_nodes is not None:
        gpus = Span.exact(fewer_nodes * group.gpus_per_node)
    return Destruction(
        subject=f"{group.cell}/{group.name}",
        stack=fleet.ownership.name,
        basis="environment",
        action=action,
        reason=reason,
        because_of=because,
        gpus_lost=gpus,
        seconds_without=loss.seconds_without,
        seconds_basis=loss.basis,
    )
