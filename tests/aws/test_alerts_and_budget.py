"""Topic and budget. Expectations: AWS Cost Management guide (budgets-sns-policy), SNS guide, provider docs."""

import pytest
from pydantic import ValidationError

from inferfab.aws.alerts import AlertsTopic
from inferfab.aws.budget import BudgetAlert, FleetBudget, FleetBudgetSpec

from .samples_global import ALERTS, BUDGET, TOPIC
from .synth_global import address, only, stack_json, statements


def test_budgets_and_alarms_of_this_account_may_publish() -> None:
    """Both services, each only on behalf of this account, and nothing without TLS."""
    document = stack_json(lambda stack: AlertsTopic(stack, "alerts", ALERTS))
    found = statements(only(document, "aws_sns_topic_policy")["policy"])
    assert set(found) == {"Cloudwatch", "Budgets", "DenyWithoutTls"}
    assert found["Budgets"]["Principal"] == {"Service": "budgets.amazonaws.com"}
    assert found["Budgets"]["Action"] == "sns:Publish"
    assert found["Budgets"]["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "111122223333"},
        "ArnLike": {"aws:SourceArn": "arn:aws:budgets::111122223333:*"},
    }
    assert found["Cloudwatch"]["Condition"]["ArnLike"] == {
        "aws:SourceArn": "arn:aws:cloudwatch:us-east-1:111122223333:alarm:*"
    }


def test_both_services_may_encrypt_with_the_topics_key() -> None:
    """SNS guide, event sources and encrypted topics: GenerateDataKey* and Decrypt, else messages vanish."""
    document = stack_json(lambda stack: AlertsTopic(stack, "alerts", ALERTS))
    key = only(document, "aws_kms_key")
    found = statements(key["policy"])
    for service in ("budgets", "cloudwatch"):
        statement = found[service.capitalize()]
        assert statement["Principal"] == {"Service": f"{service}.amazonaws.com"}
        assert statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]
        assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": "111122223333"}
    topic = only(document, "aws_sns_topic")
    assert topic["kms_master_key_id"] == f"${{{address(key, 'aws_kms_key')}.arn}}"


def test_the_budget_counts_what_carries_the_environments_tag() -> None:
    """Cost filter TagKeyValue, ``user:<key>$<value>``; monthly, in dollars."""
    budget = only(stack_json(lambda stack: FleetBudget(stack, "budget", BUDGET)), "aws_budgets_budget")
    assert budget["budget_type"] == "COST"
    assert budget["time_unit"] == "MONTHLY"
    assert (budget["limit_amount"], budget["limit_unit"]) == ("1200000.00", "USD")
    assert budget["cost_filter"] == [{"name": "TagKeyValue", "values": ["user:inferfab-environment$prod"]}]


def test_word_goes_out_at_80_percent_forecast_and_100_percent_actual() -> None:
    """The two notifications, typed by hand."""
    budget = only(stack_json(lambda stack: FleetBudget(stack, "budget", BUDGET)), "aws_budgets_budget")
    common = {
        "comparison_operator": "GREATER_THAN",
        "threshold_type": "PERCENTAGE",
        "subscriber_sns_topic_arns": [TOPIC],
        "subscriber_email_addresses": [],
    }
    assert budget["notification"] == [
        {**common, "threshold": 80, "notification_type": "FORECASTED"},
        {**common, "threshold": 100, "notification_type": "ACTUAL"},
    ]


def test_a_budget_that_nobody_hears_of_is_refused() -> None:
    """AWS wants a subscriber for each notification."""
    with pytest.raises(ValidationError, match="nobody would hear of it"):
        FleetBudgetSpec(name="b", usd_per_month=1, tag_value="dev")


def test_more_alerts_than_aws_takes_are_refused() -> None:
    """A budget has at most ten notifications."""
    alerts = tuple(BudgetAlert(of="actual", percent=p) for p in range(1, 12))
    with pytest.raises(ValidationError, match="at most 10 items"):
        FleetBudgetSpec.model_validate({**BUDGET.model_dump(), "alerts": alerts})
