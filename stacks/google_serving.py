"""What serves in one Google cell. Needs the platform's operators and namespaces to be there."""

from inferfab.gcp.projection import names_of
from inferfab.kubernetes.google_provider import google_cluster_provider
from inferfab.kubernetes.serving import Serving, ServingSpec
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.render.releases import cell_releases
from inferfab.terraform import App

from .google_base import GoogleStack


class GoogleServingStack(GoogleStack):
    """The fleet of a cell."""

    def __init__(self, app: App, fleet: FleetPlan, cell: CellPlan) -> None:
        super().__init__(app, f"{fleet.ownership.name}-{cell.name}-serving", fleet, cell.region)
        google_cluster_provider(self, names_of(cell).cluster, cell.zone, self.project)
        for release in cell_releases(fleet, cell):
            spec = ServingSpec(
                name=release.name,
                description=release.description,
                namespace=release.namespace,
                files=release.templates,
                live=release.live,
            )
            Serving(self, release.name, spec)
