"""What the owner of a bucket writes into its policies, so that cells of another account read models from it."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from inferfab.aws.account import BucketName
from inferfab.aws.iam_policy import Statement, policy_document
from inferfab.aws.model_store import REGISTRY_KEY
from inferfab.record import Record


class SharedBucket(Record):
    """A bucket with models, and who may read it.

    Roles are named by a condition, not as principals: AWS refuses a policy whose principal is not there yet, and
    silently stops trusting one that was made anew under the same name.
    """

    bucket: BucketName
    key_arn: str | None
    """Key that encrypts its objects; None: S3's own, which needs no policy."""
    reader_arns: Annotated[tuple[str, ...], Field(min_length=1)]
    """Roles of the cells' model readers, all in one account."""
    prefixes: tuple[str, ...]
    """What they read, ``models/<name>/<revision>/`` each."""

    def bucket_policy(self) -> str:
        """Statements to add to the bucket's policy, as a whole document."""
        arn = f"arn:aws:s3:::{self.bucket}"
        read = [f"{arn}/{REGISTRY_KEY}", *(f"{arn}/{p}*" for p in self.prefixes)]
        listed = {"StringLike": {"s3:prefix": [q for p in self.prefixes for q in (p[:-1], f"{p}*")]}}
        return policy_document(
            [
                self._allow("InferfabList", "s3:ListBucket", [arn], listed),
                self._allow("InferfabRead", "s3:GetObject", read, {}),
            ]
        )

    def key_policy(self) -> str | None:
        """Statements to add to the key's policy; None without a key."""
        if self.key_arn is None:
            return None
        region = self.key_arn.split(":")[3]
        through_s3 = {"StringEquals": {"kms:ViaService": f"s3.{region}.amazonaws.com"}}
        # In a key policy, "*" means this key.
        return policy_document([self._allow("InferfabDecrypt", "kms:Decrypt", ["*"], through_s3)])

    def _allow(
        self, sid: str, action: str, resources: Sequence[str], also: Mapping[str, Mapping[str, str | Sequence[str]]]
    ) -> Statement:
        account = self.reader_arns[0].split(":")[4]
        return {
            "Sid": sid,
            "Effect": "Allow",
            "Principal": {"AWS": f"arn:aws:iam::{account}:root"},
            "Action": action,
            "Resource": list(resources),
            "Condition": {"ArnEquals": {"aws:PrincipalArn": list(self.reader_arns)}, **also},
        }
