"""Where Terraform keeps the state of each stack."""

from inferfab.environment.environment import Environment
from inferfab.record import Record


class StatePlan(Record):
    """An S3 bucket with native locking. One key a stack."""

    bucket: str
    region: str
    key_prefix: str

    def key(self, environment: str, stack: str) -> str:
        return f"{self.key_prefix}/{environment}/{stack}.tfstate"


def plan_state(environment: Environment) -> StatePlan | None:
    """As stated, else a bucket of the AWS account in the first AWS cell's region; None without AWS."""
    if environment.state is not None:
        stated = environment.state
        return StatePlan(bucket=stated.bucket, region=stated.region, key_prefix=stated.key_prefix)
    account = environment.accounts.aws
    region = next((c.region for c in environment.cells.values() if c.cloud == "aws"), None)
    if account is None or region is None:
        return None
    return StatePlan(
        bucket=f"inferfab-state-{account.account_id}-{environment.name}", region=region, key_prefix="inferfab"
    )
