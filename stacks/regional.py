"""What the cells of a region share: the models' weights, and where its alarms go. Applied before the cells."""

from inferfab.aws.alerts import AlertsTopic, AlertsTopicSpec
from inferfab.aws.model_store import ModelStore, ModelStoreSpec, PinnedModel
from inferfab.aws.shared_bucket import SharedBucket
from inferfab.plan.fleet import FleetPlan, RegionPlan
from inferfab.terraform import App, TerraformOutput

from .base import AwsStack


class RegionalStack(AwsStack):
    """Model store and alerts of one region. No cell owns them, so cells come and go in any order."""

    def __init__(self, app: App, fleet: FleetPlan, region: RegionPlan) -> None:
        own = fleet.ownership
        super().__init__(app, f"{own.name}-{region.region}-region", fleet, region.region)
        if region.model_bucket_made:
            self._models(fleet, region)
        else:
            self._policy_for_owner(fleet, region)
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

    def _models(self, fleet: FleetPlan, region: RegionPlan) -> None:
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
                prevent_destroy=fleet.ownership.protected,
            ),
        )

    def _policy_for_owner(self, fleet: FleetPlan, region: RegionPlan) -> None:
        """Somebody else's bucket stays as it is; its owner reads here what to let our cells do."""
        cells = [(cell, cell.aws) for cell in fleet.cells if cell.region == region.region and cell.aws is not None]
        shared = SharedBucket(
            bucket=region.model_bucket,
            key_arn=next(names.model_bucket_key_arn for _, names in cells),
            reader_arns=tuple(f"arn:aws:iam::{self.account_id}:role/{names.model_reader_role}" for _, names in cells),
            prefixes=tuple(
                dict.fromkeys(p for cell, _ in cells for p in cell.serving.cache.store_prefixes(region.model_bucket))
            ),
        )
        policies = {"model_bucket_policy": shared.bucket_policy(), "model_key_policy": shared.key_policy()}
        for name, text in policies.items():
            if text is not None:
                TerraformOutput(self, name, value=text, description="For the owner of the models' bucket")
