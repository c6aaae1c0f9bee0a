"""What an environment may cost in a month, and who hears of it."""

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveFloat, model_validator

from inferfab.aws.account import AccountId
from inferfab.aws.optional import optional
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.aws import budgets


class BudgetAlert(Record):
    """When to send word."""

    of: Literal["forecast", "actual"]
    """What has to pass the mark: what the month will cost by AWS's forecast, or what it cost so far."""
    percent: PositiveFloat


class FleetBudgetSpec(Record):
    """What :class:`FleetBudget` needs."""

    name: Annotated[str, Field(pattern=r"^[^:\\]{1,100}$")]
    usd_per_month: PositiveFloat
    tag_value: str
    """Costs count that carry the tag with this value: the environment's name."""
    tag_key: str = "inferfab-environment"
    """Default: the tag that every stack gives its resources."""
    alerts: Annotated[tuple[BudgetAlert, ...], Field(min_length=1, max_length=10)] = (
        BudgetAlert(of="forecast", percent=80),
        BudgetAlert(of="actual", percent=100),
    )
    """Default: at 80 % by forecast, and at 100 % in fact."""
    topic_arn: str | None = None
    """SNS topic that hears it, in this account. Default: none."""
    account_id: AccountId | None = None
    """Account whose budget it is. Default: the one of the stack's provider."""
    emails: Annotated[tuple[str, ...], Field(max_length=10)] = ()
    """Who hears it by mail. Default: nobody."""

    @model_validator(mode="after")
    def _somebody_hears(self) -> Self:
        if self.topic_arn is None and not self.emails:
            raise ValueError("nobody would hear of it: give topic_arn or emails")
        return self


class FleetBudget(Construct):
    """A monthly cost budget over everything that carries the environment's tag.

    AWS counts by a tag only after the payer's account has activated it as a cost allocation tag, from that day on;
    until then the budget sees nothing. It alerts and stops nothing. Costs reach it some hours late.

    Example::

        from inferfab.aws.budget import FleetBudget, FleetBudgetSpec

        budget = FleetBudget(
            stack,
            "budget",
            FleetBudgetSpec(
                name="prod-gpu-fleet",
                usd_per_month=1_200_000,
                tag_value="prod",
                topic_arn="arn:aws:sns:us-east-1:111122223333:prod-alerts",
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: FleetBudgetSpec) -> None:
        super().__init__(scope, id)
        kinds = {"forecast": "FORECASTED", "actual": "ACTUAL"}
        budget = budgets.BudgetsBudget(
            self,
            "budget",
            name=spec.name,
            account_id=optional(spec.account_id),
            budget_type="COST",
            time_unit="MONTHLY",
            limit_amount=f"{spec.usd_per_month:.2f}",
            limit_unit="USD",
            cost_filter=[{"name": "TagKeyValue", "values": [f"user:{spec.tag_key}${spec.tag_value}"]}],
            notification=[
                {
                    "comparison_operator": "GREATER_THAN",
                    "threshold": alert.percent,
                    "threshold_type": "PERCENTAGE",
                    "notification_type": kinds[alert.of],
                    "subscriber_sns_topic_arns": [spec.topic_arn] if spec.topic_arn else [],
                    "subscriber_email_addresses": list(spec.emails),
                }
                for alert in spec.alerts
            ],
            tags={"Name": spec.name},
        )
        self.arn = budget.arn
        """ARN of the budget."""
