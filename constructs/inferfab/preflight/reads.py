"""Every call that preflight, import and catalog refresh may make, with the permission it needs.

The one list: the reader refuses any other call, and the IAM policy is written from it.
"""

import json

READS: dict[tuple[str, str], str] = {
    ("ce", "ListCostAllocationTags"): "ce:ListCostAllocationTags",
    ("ec2", "DescribeAddresses"): "ec2:DescribeAddresses",
    ("ec2", "DescribeAvailabilityZones"): "ec2:DescribeAvailabilityZones",
    ("ec2", "DescribeCapacityReservationTopology"): "ec2:DescribeCapacityReservationTopology",
    ("ec2", "DescribeCapacityReservations"): "ec2:DescribeCapacityReservations",
    ("ec2", "DescribeFlowLogs"): "ec2:DescribeFlowLogs",
    ("ec2", "DescribeImages"): "ec2:DescribeImages",
    ("ec2", "DescribeInstanceTypeOfferings"): "ec2:DescribeInstanceTypeOfferings",
    ("ec2", "DescribeInstanceTypes"): "ec2:DescribeInstanceTypes",
    ("ec2", "DescribeInstances"): "ec2:DescribeInstances",
    ("ec2", "DescribeInternetGateways"): "ec2:DescribeInternetGateways",
    ("ec2", "DescribeLaunchTemplates"): "ec2:DescribeLaunchTemplates",
    ("ec2", "DescribeNatGateways"): "ec2:DescribeNatGateways",
    ("ec2", "DescribeRouteTables"): "ec2:DescribeRouteTables",
    ("ec2", "DescribeSecurityGroupRules"): "ec2:DescribeSecurityGroupRules",
    ("ec2", "DescribeSecurityGroups"): "ec2:DescribeSecurityGroups",
    ("ec2", "DescribeSpotPriceHistory"): "ec2:DescribeSpotPriceHistory",
    ("ec2", "DescribeSubnets"): "ec2:DescribeSubnets",
    ("ec2", "DescribeVpcEndpoints"): "ec2:DescribeVpcEndpoints",
    ("ec2", "DescribeVpcs"): "ec2:DescribeVpcs",
    ("eks", "DescribeCluster"): "eks:DescribeCluster",
    ("eks", "DescribeClusterVersions"): "eks:DescribeClusterVersions",
    ("eks", "ListAccessEntries"): "eks:ListAccessEntries",
    ("eks", "ListAddons"): "eks:ListAddons",
    ("eks", "ListAssociatedAccessPolicies"): "eks:ListAssociatedAccessPolicies",
    ("eks", "ListClusters"): "eks:ListClusters",
    ("eks", "ListNodegroups"): "eks:ListNodegroups",
    ("eks", "ListPodIdentityAssociations"): "eks:ListPodIdentityAssociations",
    ("elbv2", "DescribeListeners"): "elasticloadbalancing:DescribeListeners",
    ("elbv2", "DescribeLoadBalancers"): "elasticloadbalancing:DescribeLoadBalancers",
    ("elbv2", "DescribeTargetGroups"): "elasticloadbalancing:DescribeTargetGroups",
    ("iam", "GetRole"): "iam:GetRole",
    ("iam", "GetPolicy"): "iam:GetPolicy",
    ("iam", "ListAttachedRolePolicies"): "iam:ListAttachedRolePolicies",
    ("iam", "ListRolePolicies"): "iam:ListRolePolicies",
    ("iam", "SimulatePrincipalPolicy"): "iam:SimulatePrincipalPolicy",
    ("budgets", "DescribeBudget"): "budgets:ViewBudget",
    ("cloudwatch", "DescribeAlarms"): "cloudwatch:DescribeAlarms",
    ("kms", "ListAliases"): "kms:ListAliases",
    ("logs", "DescribeLogGroups"): "logs:DescribeLogGroups",
    ("pricing", "GetProducts"): "pricing:GetProducts",
    ("route53", "GetHostedZone"): "route53:GetHostedZone",
    ("route53", "ListHealthChecks"): "route53:ListHealthChecks",
    ("route53", "ListHostedZonesByName"): "route53:ListHostedZonesByName",
    ("route53", "ListResourceRecordSets"): "route53:ListResourceRecordSets",
    ("s3", "GetBucketEncryption"): "s3:GetEncryptionConfiguration",
    ("s3", "GetBucketVersioning"): "s3:GetBucketVersioning",
    ("s3", "HeadBucket"): "s3:ListBucket",
    ("s3", "ListObjectsV2"): "s3:ListBucket",
    ("secretsmanager", "DescribeSecret"): "secretsmanager:DescribeSecret",
    ("service-quotas", "GetAWSDefaultServiceQuota"): "servicequotas:GetAWSDefaultServiceQuota",
    ("service-quotas", "GetServiceQuota"): "servicequotas:GetServiceQuota",
    ("sns", "GetTopicAttributes"): "sns:GetTopicAttributes",
    ("ssm", "GetParameter"): "ssm:GetParameter",
    ("sts", "GetCallerIdentity"): "",
}
"""(service of boto3, operation) to IAM action; empty where AWS asks for none."""


def policy() -> str:
    """The IAM policy, as JSON, that lets a role make these calls and no others."""
    actions = sorted({action for action in READS.values() if action})
    statement = {"Sid": "InferfabPreflight", "Effect": "Allow", "Action": actions, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, indent=2) + "\n"
