"""Where alarms and budgets send word."""

from typing import Annotated

from pydantic import Field

from inferfab.aws.account import AccountSpec, KmsAlias
from inferfab.aws.encryption_key import EncryptionKey, EncryptionKeySpec, ServiceUse
from inferfab.aws.iam_policy import Statement, deny_without_tls, policy_document
from inferfab.terraform import Construct
from inferfab.terraform.aws import sns


class AlertsTopicSpec(AccountSpec):
    """What :class:`AlertsTopic` needs."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,256}$")]
    key_alias: KmsAlias
    """Alias of the key that it makes."""
    emails: tuple[Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")], ...] = ()
    """Addresses that are asked to subscribe; each must follow the link in the mail that AWS sends it, and gets nothing
    before. Default: nobody.
    """
    prevent_destroy: bool = False
    """Default: it may be destroyed; a topic holds nothing."""


class AlertsTopic(Construct):
    """An encrypted SNS topic that CloudWatch alarms and AWS Budgets of this account publish to.

    An alarm reaches only a topic in its own region, so each region with alarms needs one. A subscription by email
    waits for a click that Terraform cannot make.

    Example::

        from inferfab.aws.alerts import AlertsTopic, AlertsTopicSpec

        alerts = AlertsTopic(
            stack,
            "alerts",
            AlertsTopicSpec(
                account_id="111122223333", region="us-east-1", name="prod-alerts", key_alias="alias/prod-alerts",
                emails=("ml-platform@example.com",),
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: AlertsTopicSpec) -> None:
        super().__init__(scope, id)
        sources = {
            "cloudwatch.amazonaws.com": f"arn:{spec.partition}:cloudwatch:{spec.region}:{spec.account_id}:alarm:*",
            # Budgets have no region.
            "budgets.amazonaws.com": f"arn:{spec.partition}:budgets::{spec.account_id}:*",
        }
        # AWS's own key for SNS would not do: its policy lets neither service encrypt, and messages vanish.
        key = EncryptionKey(
            self,
            "key",
            EncryptionKeySpec(
                **spec.model_dump(include=set(AccountSpec.model_fields)),
                alias=spec.key_alias,
                description=f"Messages of {spec.name}",
                used_by=tuple(ServiceUse(service=s, source_arn=arn) for s, arn in sources.items()),
                prevent_destroy=spec.prevent_destroy,
            ),
        )
        topic = sns.SnsTopic(
            self, "topic", name=spec.name, kms_master_key_id=key.arn, signature_version=2, tags={"Name": spec.name}
        )
        policy = sns.SnsTopicPolicy(
            self,
            "policy",
            arn=topic.arn,
            policy=policy_document(
                [
                    *(_publish(service, arn, topic.arn, spec.account_id) for service, arn in sources.items()),
                    deny_without_tls("sns:Publish", [topic.arn]),
                ]
            ),
        )
        for address in dict.fromkeys(spec.emails):
            sns.SnsTopicSubscription(self, address, topic_arn=topic.arn, protocol="email", endpoint=address)
        self.arn = policy.arn
        """ARN of the topic; whoever uses it waits for the policy, for Budgets tries the topic when it is named."""


def _publish(service: str, source_arn: str, topic_arn: str, account_id: str) -> Statement:
    return {
        "Sid": service.removesuffix(".amazonaws.com").capitalize(),
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": "sns:Publish",
        "Resource": topic_arn,
        "Condition": {
            "StringEquals": {"aws:SourceAccount": account_id},
            "ArnLike": {"aws:SourceArn": source_arn},
        },
    }
