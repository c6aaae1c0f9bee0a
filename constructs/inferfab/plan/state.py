"""Where Terraform keeps the state of each stack."""

from inferfab.environment.environment import Environment
from inferfab.record import Record


class StatePlan(Record):
    """An S3 bucket with native locking. One key a stack."""

    bucket: str
    region: str
    key_prefix: str

    made_by_bootstrap: bool
    """`inferfab bootstrap` makes bucket and key. False for a bucket by any other name than ours: whoever owns it
    decides how it is encrypted.
    """

    def key(self, environment: str, stack: str) -> str:
        return f"{self.key_prefix}/{environment}/{stack}.tfstate"


def plan_state(environment: Environment) -> StatePlan | None:
    """As stated, else a bucket of the AWS account in the first AWS cell's region; None without AWS."""
    account = environment.accounts.aws
    ours = f"inferfab-state-{account.account_id}-{environment.name}" if account else None
    if environment.state is not None:
        stated = environment.state
        return StatePlan(
            bucket=stated.bucket,
            region=stated.region,
            key_prefix=stated.key_prefix,
            made_by_bootstrap=stated.bucket == ours,
        )
    region = next((c.region for c in environment.cells.values() if c.cloud == "aws"), None)
    if ours is None or region is None:
        return None
    return StatePlan(bucket=ours, region=region, key_prefix="inferfab", made_by_bootstrap=True)
