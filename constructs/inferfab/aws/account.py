"""Where a construct's resources live: what ARNs are made of."""

from typing import Annotated

from pydantic import Field

from inferfab.record import Record

AccountId = Annotated[str, Field(pattern=r"^[0-9]{12}$")]
KmsAlias = Annotated[str, Field(pattern=r"^alias/[a-zA-Z0-9/_-]{1,250}$")]
"""With its prefix, ``alias/prod-state``."""
BucketName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$")]
"""Without dots: a name with dots does not match the wildcard certificate of S3."""


class AccountSpec(Record):
    """Where the resources live."""

    account_id: AccountId
    """Account, twelve digits."""
    region: str
    """Region of the stack's provider."""
    partition: str = "aws"
    """Begins ARNs. Default: the commercial regions."""
