"""The commands of a destroy, in their order."""

from collections.abc import Mapping, Sequence

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.record import Record


class Command(Record):
    """One command, with what it is for."""

    words: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        return " ".join(self.words)


def _foundation(cell: CellPlan) -> str:
    """What of it is ours."""
    if cell.cluster_exists:
        return "nodes, load balancer and our rules; cluster and network are their owner's"
    return "nodes, cluster" if cell.network.existing_id else "nodes, cluster, network"


def commands(
    fleet: FleetPlan, cells: Sequence[CellPlan], out: str = "cdktf.out", contexts: Mapping[str, str] | None = None
) -> tuple[Command, ...]:
    """Names first, then what serves, the platform, the foundations, the regions; the state's bucket is bootstrap's.

    :param contexts: kubectl's, by cell. Default: each cluster's own name.
    :param cells: those that go. Names, regions and state go with the last cell only.
    """
    name = fleet.ownership.name
    whole = {cell.name for cell in cells} == {cell.name for cell in fleet.cells}
    found: list[Command] = []
    context_of = {cell.name: (contexts or {}).get(cell.name, cell.cluster) for cell in cells}

    def destroy(stack: str, why: str) -> None:
        found.append(Command(words=("terraform", f"-chdir={out}/stacks/{name}-{stack}", "destroy"), why=why))

    if whole and fleet.aws_regions:
        destroy("global", "names and health checks point at load balancers that are about to go")
    for cell in cells:
        destroy(f"{cell.name}-serving", "what serves, while the operator is there")
        found.append(
            Command(
                words=(
                    "kubectl", f"--context={context_of[cell.name]}", "delete", "dynamographdeployments", "--all",
                    "--namespace", SERVING_NAMESPACE,
                ),
                why="releases keep graphs, so that no upgrade deletes one that serves",
            )
        )  # fmt: skip
        destroy(f"{cell.name}-platform", "operators, while the cluster answers")
        if not cell.cluster_exists:
            found.append(
                Command(
                    words=(
                        "kubectl", f"--context={context_of[cell.name]}", "delete", "persistentvolumeclaims", "--all",
                        "--all-namespaces",
                    ),
                    why="Helm leaves volumes, and the driver that deletes them goes with the foundation",
                )
            )  # fmt: skip
        destroy(f"{cell.name}-foundation", _foundation(cell))
    if whole:
        for region in sorted({cell.region for cell in cells}):
            destroy(f"{region}-region", "model store and alerts: empty the bucket before, all versions")
    return tuple(found)
