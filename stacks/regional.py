"""What the cells of a region share: the models' weights, and where its alarms go. Applied before the cells."""

from inferfab.aws.alerts import AlertsTopic, AlertsTopicSpec
from inferfab.aws.model_store import ModelStore, ModelStoreSpec, PinnedModel
from inferfab.plan.fleet import FleetPlan, RegionPlan
from inferfab.terraform import App

from .base import AwsStack


class RegionalStack(AwsStack):
    """Model store and alerts of one region. No cell owns them, so cells come and go in any order."""

    def __init__(self, app: App, fleet: FleetPlan, region: RegionPlan) -> None:
        own = fleet.ownership
        super().__init__(app, f"{own.name}-{region.region}-region", fleet, region.region)
        ModelStore(
            self,
            "models",
            ModelStoreSpec(
                account_id=self.account_id,
                region=self.region,
                bucket=region.model_bucket,
                key_alias=region.models_key,
                models=tuple(
                    PinnedModel(name=m.name, revision=m.revision, source=m.source)
                    for m in fleet.models
                    if m.name in region.models
                ),
                prevent_destroy=own.protected,
            ),
        )
        AlertsTopic(
            self,
            "alerts",
            AlertsTopicSpec(
                account_id=self.account_id,
                region=self.region,
                name=own.aws.alerts_topic,
                key_alias=own.aws.alerts_key,
                emails=own.alert_emails,
            ),
        )
