"""Mirrors that are in Amazon's registry."""

import re

from inferfab.record import Record

_ECR = re.compile(r"^(\d{12})\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?:/|$)")


class Ecr(Record):
    """Account and region of a registry."""

    account: str
    region: str


def ecr_of(mirror: str) -> Ecr | None:
    """Whose registry of ECR it is; None for another registry."""
    match = _ECR.match(mirror)
    return Ecr(account=match[1], region=match[2]) if match else None
