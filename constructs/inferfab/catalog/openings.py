"""Which resources open a network or give wide permissions, and at which attribute."""

from functools import cache
from typing import Literal

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record

Scalar = str | bool


class CidrRule(Record):
    """Attributes that hold ranges from which traffic is let in."""

    paths: tuple[str, ...]
    only: dict[str, Scalar] = {}
    """Values that other attributes must have for the rule to hold."""
    ports: str | None = None
    """Prefix of ``from_port``, ``to_port``, ``protocol``; None where the resource has none."""


class FlagRule(Record):
    """An attribute that opens when it has one value."""

    path: str
    opens: Scalar
    kind: Literal["network", "iam"]
    what: str


class PolicyRule(Record):
    """An attribute that holds an IAM policy document."""

    path: str
    account_root_is_owner: bool = False
    """A key's policy gives its own account every action: that is how AWS makes it."""
    caller_is_inside: bool = False
    """An endpoint's policy says which requests may pass, not who may make them."""


class GrantRule(Record):
    """An attribute that names a ready-made grant or grantee."""

    path: str
    wide: tuple[str, ...]


class OpeningFile(FactFile):
    world: tuple[str, ...]
    cidrs: dict[str, CidrRule]
    flags: dict[str, tuple[FlagRule, ...]]
    policies: dict[str, PolicyRule]
    grants: dict[str, GrantRule]


@cache
def opening_rules() -> OpeningFile:
    return read_facts(DATA / "openings.yaml", OpeningFile)
