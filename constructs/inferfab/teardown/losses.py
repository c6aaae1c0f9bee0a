"""What is lost, and what stays and is paid for."""

from collections.abc import Sequence
from typing import Literal

from inferfab.catalog.charts import charts
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.record import Record

LossKind = Literal["tiers", "GPUs", "clusters", "models", "names", "state", "volumes", "stays"]


class Loss(Record):
    """One thing, for people to read before they type a name."""

    kind: LossKind
    what: str


def losses(fleet: FleetPlan, cells: Sequence[CellPlan]) -> tuple[Loss, ...]:
    """
    :param cells: those that go; all of them take the environment's regions, names and state along.
    """
    going = {cell.name for cell in cells}
    whole = going == {cell.name for cell in fleet.cells}
    return (
        *_tiers(fleet, going),
        *(_gpus(cell) for cell in cells),
        *(_cluster(cell) for cell in cells),
        *_volumes(cells),
        *_names(fleet, cells, whole),
        *(_models(fleet, cells) if whole else ()),
        *(_state(fleet) if whole else ()),
        *_stays(cells),
    )


def _tiers(fleet: FleetPlan, going: set[str]) -> list[Loss]:
    found = []
    for tier in fleet.tiers:
        served = {pool.cell for pool in fleet.pools if pool.tier == tier.name}
        if served and served <= going:
            found.append(
                Loss(kind="tiers", what=f"tier {tier.name} is served by nobody any more: no other cell has it")
            )
        elif served & going:
            left = ", ".join(sorted(served - going))
            found.append(Loss(kind="tiers", what=f"tier {tier.name} is left to {left}"))
    return found


def _gpus(cell: CellPlan) -> Loss:
    groups = cell.node_groups
    by_type: dict[str, int] = {}
    for group in groups:
        by_type[group.gpu] = by_type.get(group.gpu, 0) + group.gpus.desired
    listed = ", ".join(f"{number} {gpu}" for gpu, number in by_type.items())
    nodes = sum(group.nodes.desired for group in groups)
    return Loss(kind="GPUs", what=f"{cell.name}: {listed} on {nodes} nodes at the desired size")


def _cluster(cell: CellPlan) -> Loss:
    if cell.cluster_exists:
        return Loss(
            kind="stays",
            what=f"cluster {cell.cluster} is somebody else's: it stays, without our nodes; so do the namespaces that "
            "we made in it and the operators' CRDs, which its owner may want",
        )
    return Loss(kind="clusters", what=f"cluster {cell.cluster} in {cell.region}, and all that runs in it")


def _volumes(cells: Sequence[CellPlan]) -> list[Loss]:
    """Of our clusters all of them go. In somebody else's, what Helm leaves of ours stays too: nobody here can tell
    whose the others are.
    """
    ours = [cell.cluster for cell in cells if not cell.cluster_exists]
    found = []
    if ours:
        what = f"metrics of Prometheus, and every other volume of {', '.join(ours)}"
        found.append(Loss(kind="volumes", what=what))
    for cell in cells:
        if cell.cluster_exists:
            place = charts()["kube-prometheus-stack"].namespace
            what = (
                f"volumes of Prometheus and Alertmanager in {cell.cluster} are billed until somebody deletes them: "
                f"kubectl get persistentvolumeclaims --namespace {place}"
            )
            found.append(Loss(kind="stays", what=what))
    return found


def _names(fleet: FleetPlan, cells: Sequence[CellPlan], whole: bool) -> list[Loss]:
    if not fleet.routing.domain:
        return []
    names = [str(route.hostname) for route in fleet.routing.routes if route.hostname] if whole else []
    own = [f"{cell.aws.hostname_label}.{fleet.routing.domain}" for cell in cells if cell.aws]
    own += [f"{cell.name}.{fleet.routing.domain}" for cell in cells if cell.gcp]
    return [Loss(kind="names", what=f"{name} leads nowhere") for name in (*names, *own)]


def _models(fleet: FleetPlan, cells: Sequence[CellPlan]) -> list[Loss]:
    served = {model for cell in cells for pool in cell.pools for model in pool.models}
    size = sum(m.weights_bytes + m.draft_weights_bytes for m in fleet.models if m.name in served)
    buckets = {region.model_bucket for region in fleet.aws_regions}
    buckets |= {cell.gcp.model_bucket for cell in fleet.cells if cell.gcp}
    return [
        Loss(
            kind="models",
            what=f"bucket {bucket}: {size / 1e9:,.0f} GB of weights in the revisions of today, and every older one; "
            "cloud storage deletes no bucket with something in it, so somebody has to empty it first",
        )
        for bucket in sorted(buckets)
    ]


def _state(fleet: FleetPlan) -> list[Loss]:
    state = fleet.ownership.state
    if state is None:
        return []
    if not state.made_by_bootstrap:
        return [Loss(kind="stays", what=f"bucket {state.bucket} with the state is somebody else's: it stays")]
    return [Loss(kind="state", what=f"bucket {state.bucket} with the state of every stack, last of all")]


def _stays(cells: Sequence[CellPlan]) -> list[Loss]:
    """Money that goes on."""
    found: dict[str, Loss] = {}
    for cell in cells:
        for group in cell.node_groups:
            capacity = group.capacity
            if capacity.kind == "reservation":
                what = f"reservation {capacity.id} ({group.instance}, {cell.zone}) is billed until it is cancelled"
            elif capacity.kind == "capacity_block":
                what = f"capacity block {capacity.id} is paid to {capacity.ends_at}, and nothing is given back"
            elif capacity.kind == "owned":
                what = f"the servers of {cell.name} stand in your racks: they stop serving, they cost on"
            else:
                continue
            found[what] = Loss(kind="stays", what=what)
    return list(found.values())
