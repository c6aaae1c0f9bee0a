"""IAM policy documents as JSON text.

Text, not ``aws_iam_policy_document``: it needs no data source, reads the same in a plan, and is the same bytes
wherever it is written.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypedDict

Condition = Mapping[str, Mapping[str, str | Sequence[str]]]
"""Operator to condition key to value or values: ``{"StringEquals": {"aws:SourceAccount": "111122223333"}}``."""


class Statement(TypedDict, total=False):
    """One statement, with the keys of IAM's own JSON."""

    Sid: Required[str]
    Effect: Required[Literal["Allow", "Deny"]]
    Principal: Mapping[str, str | Sequence[str]] | Literal["*"]
    Action: Required[str | Sequence[str]]
    Resource: str | Sequence[str]
    Condition: Condition


def policy_document(statements: Sequence[Statement]) -> str:
    """The document. Texts may hold references to attributes; lists of them may not be references themselves."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)}, separators=(",", ":"))


def deny_without_tls(action: str, resources: Sequence[str]) -> Statement:
    """Refuses whoever does not come over TLS. A denial is as wide as it can be, hence the wildcards."""
    return {
        "Sid": "DenyWithoutTls",
        "Effect": "Deny",
        "Principal": "*",
        "Action": action,
        "Resource": list(resources),
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }


def pod_identity_trust(
    account_id: str, cluster: str, namespaces: str | Sequence[str], service_accounts: str | Sequence[str]
) -> Statement:
    """Trust of a role that pods of one cluster take on through EKS Pod Identity, by the session tags that EKS sets.

    Source: docs.aws.amazon.com/eks/latest/userguide/pod-id-role.
    """
    return {
        "Sid": "PodIdentity",
        "Effect": "Allow",
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
        "Condition": {
            "StringEquals": {
                "aws:SourceAccount": account_id,
                "aws:RequestTag/eks-cluster-name": cluster,
                "aws:RequestTag/kubernetes-namespace": namespaces,
                "aws:RequestTag/kubernetes-service-account": service_accounts,
            }
        },
    }


def through_alias(actions: Sequence[str], alias: str, region: str, account_id: str, partition: str) -> Statement:
    """Use of the key that an alias names, without knowing the key's id: it may not exist yet.

    The resource holds a wildcard for that reason alone; the condition leaves one key.
    """
    return {
        "Sid": "UseKey",
        "Effect": "Allow",
        "Action": list(actions),
        "Resource": f"arn:{partition}:kms:{region}:{account_id}:key/*",
        "Condition": {"ForAnyValue:StringEquals": {"kms:ResourceAliases": alias}},
    }
