"""What the owner of a hosted zone writes into a role, so that cert-manager of another account proves names by it."""

from typing import Annotated

from pydantic import Field

from inferfab.aws.iam_policy import Statement, policy_document
from inferfab.record import Record


class ZoneRole(Record):
    """A role of the zone's account, and who takes it on."""

    taken_by: Annotated[tuple[str, ...], Field(min_length=1)]
    """ARNs of the roles of the cells' cert-managers, all in one account."""
    hostnames: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names that they prove."""

    def trust_policy(self) -> str:
        """Statements to add to the role's trust. The takers are named by a condition, so they need not be there yet.

        ``TagSession`` because Pod Identity's session tags pass on to every further role (EKS user guide).
        """
        account = self.taken_by[0].split(":")[4]
        return policy_document(
            [
                {
                    "Sid": "InferfabCertificates",
                    "Effect": "Allow",
                    "Principal": {"AWS": f"arn:aws:iam::{account}:root"},
                    "Action": ["sts:AssumeRole", "sts:TagSession"],
                    "Condition": {"ArnEquals": {"aws:PrincipalArn": list(self.taken_by)}},
                }
            ]
        )

    def permissions_policy(self) -> str:
        """What the role must allow, where it allows nothing yet."""
        return policy_document(proving(self.hostnames, "aws"))


def taking(role_arn: str) -> list[Statement]:
    """The taker's half: that role and no other."""
    actions = ["sts:AssumeRole", "sts:TagSession"]
    return [{"Sid": "TakeZoneRole", "Effect": "Allow", "Action": actions, "Resource": role_arn}]


def proving(hostnames: tuple[str, ...], partition: str) -> list[Statement]:
    """To write challenge records of these names, and no others.

    Source: cert-manager documentation, ACME DNS01 with Route 53; condition keys of the service authorization reference.
    """
    names = [f"_acme-challenge.{name}" for name in hostnames]
    return [
        # It lists; AWS offers no resource to narrow it to.
        {"Sid": "Look", "Effect": "Allow", "Action": ["route53:ListHostedZonesByName"], "Resource": "*"},
        {
            "Sid": "Follow",
            "Effect": "Allow",
            "Action": ["route53:GetChange"],
            "Resource": f"arn:{partition}:route53:::change/*",
        },
        {
            "Sid": "Zone",
            "Effect": "Allow",
            "Action": ["route53:ListResourceRecordSets"],
            "Resource": f"arn:{partition}:route53:::hostedzone/*",
        },
        {
            "Sid": "Prove",
            "Effect": "Allow",
            "Action": ["route53:ChangeResourceRecordSets"],
            # The zone's id is not known beforehand; the names are.
            "Resource": f"arn:{partition}:route53:::hostedzone/*",
            "Condition": {
                "ForAllValues:StringEquals": {
                    "route53:ChangeResourceRecordSetsNormalizedRecordNames": names,
                    "route53:ChangeResourceRecordSetsRecordTypes": ["TXT"],
                }
            },
        },
    ]
