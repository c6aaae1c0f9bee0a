"""What the Google cells of a region share: the models' weights. Applied before the cells."""

from inferfab.gcp.model_store import ModelStore, ModelStoreSpec
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.gcp_names import model_bucket
from inferfab.terraform import App

from .google_base import GoogleStack


class GoogleRegionalStack(GoogleStack):
    """Model store of one region."""

    def __init__(self, app: App, fleet: FleetPlan, region: str) -> None:
        own = fleet.ownership
        super().__init__(app, f"{own.name}-{region}-region", fleet, region)
        ModelStore(
            self,
            "models",
            ModelStoreSpec(
                project=self.project,
                region=region,
                bucket=model_bucket(own.name, region, self.project),
                labels=self.labels,
                prevent_destroy=own.protected,
            ),
        )
