"""What every stack has: provider, tags, backend."""

from inferfab.plan.fleet import FleetPlan
from inferfab.terraform import App, TerraformStack, stack_backend_s3
from inferfab.terraform.aws.provider import AwsProvider


class AwsStack(TerraformStack):
    """A stack in the environment's AWS account, with its state in the environment's bucket."""

    def __init__(self, app: App, name: str, fleet: FleetPlan, region: str) -> None:
        super().__init__(app, name)
        own = fleet.ownership
        account = own.accounts.aws
        assert account is not None, "checked: a fleet with AWS cells has an AWS account"
        assert own.state is not None
        self.account_id: str = account.account_id
        self.region: str = region
        self.boundary_arn: str | None = (
            f"arn:aws:iam::{account.account_id}:policy/{account.permissions_boundary}"
            if account.permissions_boundary
            else None
        )
        AwsProvider(
            self,
            "aws",
            region=region,
            # A plan that runs with the wrong credentials stops here, and not in somebody else's account.
            allowed_account_ids=[account.account_id],
            default_tags=[
                {
                    "tags": {
                        **own.tags,
                        "inferfab-environment": own.name,
                        "inferfab-owner": own.owner,
                        "inferfab-stack": name,
                    }
                }
            ],
        )
        stack_backend_s3(
            self,
            bucket=own.state.bucket,
            key=own.state.key(own.name, name),
            region=own.state.region,
            kms_key_id=own.aws.state_key,
        )
