"""What serves in one cell. Needs the platform's operators and namespaces to be there."""

from inferfab.kubernetes import cluster_provider
from inferfab.kubernetes.serving import Serving, ServingSpec
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.render.releases import cell_releases
from inferfab.terraform import App

from .base import AwsStack


class ServingStack(AwsStack):
    """The fleet of a cell."""

    def __init__(self, app: App, fleet: FleetPlan, cell: CellPlan) -> None:
        super().__init__(app, f"{fleet.ownership.name}-{cell.name}-serving", fleet, cell.region)
        cluster_provider(self, cell.cluster, cell.region)
        for release in cell_releases(fleet, cell):
            spec = ServingSpec(
                name=release.name,
                description=release.description,
                namespace=release.namespace,
                files=release.templates,
                live=release.live,
            )
            Serving(self, release.name, spec)
