"""What every stack has: provider, tags, backend."""

from inferfab.plan.fleet import FleetPlan
from inferfab.terraform import App, TerraformStack, stack_backend_local, stack_backend_s3
from inferfab.terraform.aws.provider import AwsProvider


class AwsStack(TerraformStack):
    """A stack in the environment's AWS account, with its state in the environment's bucket.

    :param in_bucket: False keeps the state in a file beside the stack: what makes the bucket cannot begin in it.
    """

    def __init__(self, app: App, name: str, fleet: FleetPlan, region: str, *, in_bucket: bool = True) -> None:
        super().__init__(app, name)
        own = fleet.ownership
        account = own.accounts.aws
        assert account is not None, "checked: a fleet with AWS cells has an AWS account"
        state = own.state
        assert state is not None
        self.account_id: str = account.account_id
        self.region: str = region
        self.boundary_arn: str | None = (
            f"arn:aws:iam::{account.account_id}:policy/{account.permissions_boundary}"
            if account.permissions_boundary
            else None
        )
        self.environment_tags: dict[str, str] = {
            **own.tags,
            "inferfab-environment": own.name,
            "inferfab-owner": own.owner,
        }
        AwsProvider(
            self,
            "aws",
            region=region,
            # A plan that runs with the wrong credentials stops here, and not in somebody else's account.
            allowed_account_ids=[account.account_id],
            default_tags=[{"tags": {**self.environment_tags, "inferfab-stack": name}}],
        )
        if not in_bucket:
            # Relative to the stack's folder, in which Terraform runs.
            stack_backend_local(self, f"{name}.tfstate")
            return
        stack_backend_s3(
            self,
            bucket=state.bucket,
            key=state.key(own.name, name),
            region=state.region,
            # Somebody else's bucket encrypts as its owner has it.
            kms_key_id=own.aws.state_key if state.made_by_bootstrap else None,
            encrypt=state.made_by_bootstrap,
        )
