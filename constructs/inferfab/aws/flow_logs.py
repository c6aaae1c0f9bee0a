"""A VPC's flow logs in CloudWatch."""

import json
from typing import Annotated, Literal

from pydantic import Field

from inferfab.aws.values import Name, VpcId
from inferfab.record import Record
from inferfab.terraform import Construct, skip_check
from inferfab.terraform.aws.cloudwatch import CloudwatchLogGroup, CloudwatchLogGroupArguments
from inferfab.terraform.aws.iam import IamRole, IamRoleArguments, IamRolePolicy
from inferfab.terraform.aws.sts import DataCallerIdentity
from inferfab.terraform.aws.vpc import FlowLog

RetentionDays = Literal[
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653
]
"""What CloudWatch Logs keeps for (API reference, PutRetentionPolicy)."""


class FlowLogsSpec(Record):
    """The flow logs of one VPC."""

    name: Name
    """The role is ``<name>-flow-logs``; the flow log's tag ``Name`` is this."""
    vpc_id: VpcId
    log_group_name: Annotated[str, Field(pattern=r"^[\w./#-]+$", max_length=512)]
    retention_days: RetentionDays = 365
    """Default: a year."""
    traffic: Literal["ALL", "ACCEPT", "REJECT"] = "ALL"
    """Default: all. CloudWatch bills each GB taken in; ``REJECT`` costs next to nothing and still shows a missing
    security group rule.
    """
    kms_key_arn: str | None = None
    """Key that encrypts the log group; its policy must let CloudWatch Logs use it. Default: CloudWatch's own key."""
    permissions_boundary_arn: str | None = None
    """Boundary of the role. Default: none."""


class FlowLogs(Construct):
    """Who talked to whom, and what was refused, in a log group of its own.

    The role may write into this log group only, and only the flow log service acting for this account takes it.

    Example::

        from inferfab.aws.flow_logs import FlowLogs, FlowLogsSpec

        FlowLogs(
            stack,
            "flow-logs",
            FlowLogsSpec(
                name="prod-use1-a",
                vpc_id="vpc-0a1b2c3d4e5f60718",
                log_group_name="/inferfab/prod-use1-a/flow-logs",
                kms_key_arn="arn:aws:kms:us-east-1:111122223333:key/5b9ae1f2-0c7d-4c6e-9a51-2f6f0d1f7a11",
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: FlowLogsSpec) -> None:
        super().__init__(scope, id)
        tags = {"Name": spec.name}
        group_arguments: CloudwatchLogGroupArguments = {
            "name": spec.log_group_name,
            "retention_in_days": spec.retention_days,
            "tags": tags,
        }
        if spec.kms_key_arn is not None:
            group_arguments["kms_key_id"] = spec.kms_key_arn
        group = CloudwatchLogGroup(self, "group", **group_arguments)
        if spec.kms_key_arn is None:
            skip_check(group, "CKV_AWS_158", "No key was given: CloudWatch encrypts the log group with its own")
        if spec.retention_days < 365:
            skip_check(group, "CKV_AWS_338", f"The spec asks for {spec.retention_days} days of flow logs")
        account = DataCallerIdentity(self, "account")
        role_arguments: IamRoleArguments = {
            "name": f"{spec.name}-flow-logs",
            "description": "Writes the flow logs of one VPC into their log group",
            "assume_role_policy": _trust(account.account_id),
            "tags": tags,
        }
        if spec.permissions_boundary_arn is not None:
            role_arguments["permissions_boundary"] = spec.permissions_boundary_arn
        role = IamRole(self, "role", **role_arguments)
        policy = IamRolePolicy(self, "policy", name="write", role=role.id, policy=_permissions(group.arn))
        FlowLog(
            self,
            "log",
            vpc_id=spec.vpc_id,
            traffic_type=spec.traffic,
            log_destination_type="cloud-watch-logs",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            max_aggregation_interval=600,
            tags=tags,
            depends_on=[policy],
        )
        self.log_group_name = group.name
        self.log_group_arn = group.arn


def _trust(account_id: str) -> str:
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Principal": {"Service": "vpc-flow-logs.amazonaws.com"},
                    "Action": "sts:AssumeRole",
                    # The service works for every account; without this it could be asked to use our role for another.
                    "Condition": {"StringEquals": {"aws:SourceAccount": account_id}},
                }
            ],
        }
    )


def _permissions(log_group_arn: str) -> str:
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": [
                        "logs:CreateLogStream",
                        "logs:DescribeLogGroups",
                        "logs:DescribeLogStreams",
                        "logs:PutLogEvents",
                    ],
                    # The star stands for the streams of this one group; the service names them.
                    "Resource": f"{log_group_arn}:*",
                }
            ],
        }
    )
