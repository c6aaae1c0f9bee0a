"""What serves in one Google cell. Needs the platform's operators and namespaces to be there."""

from inferfab.gcp.projection import names_of
from inferfab.kubernetes.google_provider import google_cluster_provider
from inferfab.kubernetes.serving import Serving, ServingSpec
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.render.serving import chart_files
from inferfab.terraform import App

from .google_base import GoogleStack


class GoogleServingStack(GoogleStack):
    """The fleet of a cell."""

    def __init__(self, app: App, fleet: FleetPlan, cell: CellPlan) -> None:
        super().__init__(app, f"{fleet.ownership.name}-{cell.name}-serving", fleet, cell.region)
        google_cluster_provider(self, names_of(cell).cluster, cell.zone, self.project)
        files, live = chart_files(fleet, cell)
        Serving(self, "serving", ServingSpec(files=files, live=live))
