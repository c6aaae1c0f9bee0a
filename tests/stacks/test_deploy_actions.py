"""What the deploy role must be allowed, by what the stacks really ask of AWS.

Dependent actions by hand from AWS's service authorization reference and its CloudFormation resource schemas.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from synthesized import ALL, FABRICS, ROOT, stacks

from inferfab.catalog.deploy_actions import deploy_actions

TAGGING = {
    "aws_autoscaling": "autoscaling:CreateOrUpdateTags",
    "aws_budgets": "budgets:TagResource",
    "aws_cloudwatch_log": "logs:TagResource",
    "aws_cloudwatch_metric": "cloudwatch:TagResource",
    "aws_eks": "eks:TagResource",
    "aws_iam": "iam:TagRole",
    "aws_kms": "kms:TagResource",
    "aws_lb": "elasticloadbalancing:AddTags",
    "aws_route53": "route53:ChangeTagsForResource",
    "aws_s3_bucket": "s3:PutBucketTagging",
    "aws_s3_object": "s3:PutObjectTagging",
    "aws_sns": "sns:TagResource",
}
"""By the beginning of the type; the rest are EC2's."""
NOT_AN_OPERATION = {
    # IAM's own names, which are not those of the API's operations.
    "budgets:ModifyBudget",
    "budgets:ViewBudget",
    "iam:PassRole",
    "s3:PutLifecycleConfiguration",
    "s3:PutEncryptionConfiguration",
    "s3:PutBucketPublicAccessBlock",
}


def resources() -> Iterator[tuple[str, Any]]:
    for name in (*ALL, *FABRICS):
        for document in stacks(name).values():
            for type_, by_name in document.get("resource", {}).items():
                if type_.startswith("aws_"):
                    yield from ((type_, body) for body in by_name.values())


def demanded(type_: str, body: Any) -> Iterator[str]:
    """What a resource's arguments ask for beside making it."""
    if "tags" in body:
        yield next((action for begins, action in TAGGING.items() if type_.startswith(begins)), "ec2:CreateTags")
    if {"role_arn", "iam_role_arn", "node_role_arn", "pod_identity_association"} & body.keys():
        yield "iam:PassRole"
    if "pod_identity_association" in body:
        yield "eks:CreatePodIdentityAssociation"
    if "encryption_config" in body:
        yield from ("kms:CreateGrant", "kms:DescribeKey")
    if "kms_key_id" in body:
        yield "logs:AssociateKmsKey" if type_ == "aws_cloudwatch_log_group" else "kms:GenerateDataKey"
    if "launch_template" in body:
        yield "ec2:RunInstances"
    if body.get("private_dns_enabled"):
        yield "route53:AssociateVPCWithHostedZone"
    if "permissions_boundary" in body:
        yield "iam:PutRolePermissionsBoundary"
    if "tcp_idle_timeout_seconds" in body:
        yield "elasticloadbalancing:ModifyListenerAttributes"


def test_what_arguments_ask_for_is_in_the_list() -> None:
    """Grants on keys, roles handed over, tags, private names: each is an action of its own, in the caller's name."""
    asked = {
        (type_, action)
        for type_, body in resources()
        if type_ not in {"aws_sns_topic"}
        for action in demanded(type_, body)
    }
    assert ("aws_eks_cluster", "kms:CreateGrant") in asked and len(asked) > 30
    known = deploy_actions()
    assert not sorted((type_, action) for type_, action in asked if action not in known[type_])


def test_the_list_has_the_types_of_the_stacks_and_no_others() -> None:
    """An action for what no stack makes would be asked of the owners for nothing."""
    assert set(deploy_actions()) == {type_ for type_, _ in resources()}


def test_every_action_is_one_of_aws() -> None:
    """By the SDK's own list of operations, but for the few that IAM names otherwise."""
    session = pytest.importorskip("botocore.session").get_session()
    listed = {action for actions in deploy_actions().values() for action in actions}
    for action in sorted(listed - NOT_AN_OPERATION):
        service, _, operation = action.partition(":")
        model = session.get_service_model("elbv2" if service == "elasticloadbalancing" else service)
        assert operation in model.operation_names, action
    assert listed >= NOT_AN_OPERATION


def test_deploy_md_names_every_service_of_the_list() -> None:
    """Owners attach by service: one that is not named there is not granted."""
    text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"Of these services: ([^.]*)\.", text)
    services = {action.partition(":")[0] for actions in deploy_actions().values() for action in actions}
    assert set(re.findall(r"`([a-z0-9]+)`", listed)) == services
