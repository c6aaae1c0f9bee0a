"""Who may go through a VPC endpoint, and to what.

An endpoint policy grants nothing; it bounds what the credentials of whoever calls may do through this endpoint.
Without one, a process in the cell could carry data out with credentials of somebody else's account.
"""

import json

NO_POLICY = frozenset({"eks-auth"})
"""Services whose endpoints get no policy: AWS's documentation does not say that they take one, and this one only hands
the node its pods' credentials.
"""


def own_account(service: str, account_id: str) -> str | None:
    """The policy of a service's interface endpoint: this account's principals, whatever they may do anyway.

    Stars for action and resource: what each principal may do is for its own role to say, and EKS's images and shared
    models lie in other accounts.
    """
    if service in NO_POLICY:
        return None
    statements = [_own_principals(account_id)]
    if service == "sts":
        # A pod with a service account's token has no AWS identity yet; the role that it asks for decides.
        statements.append(
            {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRoleWithWebIdentity", "Resource": "*"}
        )
    return _policy(statements)


def s3_own_account(region: str, partition: str, account_id: str) -> str:
    """The policy of the S3 endpoint where nothing else leads out: this account's principals, and ECR's layers.

    ECR hands out addresses of image layers that it has signed itself (ECR user guide, "Minimum Amazon S3 bucket
    permissions for Amazon ECR").
    """
    layers = f"arn:{partition}:s3:::prod-{region}-starport-layer-bucket/*"
    return _policy(
        [
            _own_principals(account_id),
            {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": layers},
        ]
    )


def _own_principals(account_id: str) -> dict[str, object]:
    return {
        "Effect": "Allow",
        "Principal": "*",
        "Action": "*",
        "Resource": "*",
        "Condition": {"StringEquals": {"aws:PrincipalAccount": account_id}},
    }


def _policy(statements: list[dict[str, object]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})
