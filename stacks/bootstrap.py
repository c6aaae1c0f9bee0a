"""What has to be there before any other stack can keep its state: the bucket for it, and its key."""

from inferfab.aws.state_bucket import StateBucket, StateBucketSpec
from inferfab.plan.fleet import FleetPlan
from inferfab.terraform import App

from .base import AwsStack


class BootstrapStack(AwsStack):
    """The state bucket of an environment."""

    def __init__(self, app: App, fleet: FleetPlan, *, in_bucket: bool) -> None:
        own = fleet.ownership
        state = own.state
        assert state is not None and state.made_by_bootstrap, "asked before"
        super().__init__(app, f"{own.name}-bootstrap", fleet, state.region, in_bucket=in_bucket)
        StateBucket(
            self,
            "state",
            StateBucketSpec(
                account_id=self.account_id,
                region=state.region,
                bucket=state.bucket,
                key_alias=own.aws.state_key,
                prevent_destroy=own.protected,
            ),
        )
