"""Checked values that the specs of several constructs share.

A reference to another resource's attribute is a text too (a token) whose value only Terraform knows; where one
may stand, it passes unchecked.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfab.record import Record

EVERYWHERE = "0.0.0.0/0"


def is_token(text: str) -> bool:
    """Whether the text is, or holds, a reference that Terraform resolves."""
    return "TfToken[" in text


def _range(text: str) -> str:
    try:
        ipaddress.IPv4Network(text)
    except ValueError:
        try:
            meant = ipaddress.IPv4Network(text, strict=False)
        except ValueError:
            raise ValueError(f'"{text}" is not an IPv4 range such as 10.16.0.0/16') from None
        raise ValueError(f'"{text}" is an address inside a range; write the range: {meant}') from None
    if "/" not in text:
        raise ValueError(f'"{text}" has no length; write {text}/32 for a single address')
    return text


def _unless_token(check: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: text if is_token(text) else check(text)


def _id_of(kind: str) -> Callable[[str], str]:
    pattern = re.compile(rf"{kind}-[0-9a-f]{{8,17}}")

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f'"{text}" is not an id of this kind; it looks like {kind}-0123456789abcdef0')
        return text

    return _unless_token(check)


Range = Annotated[str, AfterValidator(_range)]
"""An IPv4 range, ``10.16.0.0/16``."""
VpcId = Annotated[str, AfterValidator(_id_of("vpc"))]
SubnetId = Annotated[str, AfterValidator(_id_of("subnet"))]
RouteTableId = Annotated[str, AfterValidator(_id_of("rtb"))]
SecurityGroupId = Annotated[str, AfterValidator(_id_of("sg"))]
PrefixListId = Annotated[str, AfterValidator(_id_of("pl"))]
Port = Annotated[int, Field(ge=1, le=65535)]
Name = Annotated[str, Field(pattern=r"^[a-zA-Z][a-zA-Z0-9-]*$", max_length=50)]
"""Begins the names of what a construct makes; short enough that ``<name>-<purpose>`` fits IAM's 64 characters."""


class Ports(Record):
    """One port, or all from ``first`` to ``last``."""

    first: Port
    last: Port | None = None
    """Default: only ``first``."""
    protocol: Literal["tcp", "udp"] = "tcp"

    @model_validator(mode="after")
    def _ascending(self) -> "Ports":
        if self.last is not None and self.last < self.first:
            raise ValueError(f"ports {self.first} to {self.last} run backwards")
        return self

    @property
    def end(self) -> int:
        return self.first if self.last is None else self.last

    def __str__(self) -> str:
        """``tcp-988`` or ``tcp-1018-1023``: part of construct ids."""
        ends = (self.first,) if self.end == self.first else (self.first, self.end)
        return "-".join([self.protocol, *map(str, ends)])


def range_id(text: str) -> str:
    """A range as a part of a construct id: dots and slashes do not survive there."""
    return text.replace(".", "-").replace("/", "-")


def overlaps(one: str, other: str) -> bool:
    return ipaddress.IPv4Network(one).overlaps(ipaddress.IPv4Network(other))


def contains(outer: str, inner: str) -> bool:
    return ipaddress.IPv4Network(inner).subnet_of(ipaddress.IPv4Network(outer))


def without(wholes: Iterable[str], holes: Iterable[str]) -> tuple[str, ...]:
    """The fewest ranges that cover ``wholes`` and nothing of ``holes``, in ascending order."""
    left = [ipaddress.IPv4Network(whole) for whole in wholes]
    for hole in map(ipaddress.IPv4Network, holes):
        left = [piece for part in left for piece in _cut(part, hole)]
    return tuple(str(piece) for piece in ipaddress.collapse_addresses(left))


def _cut(part: ipaddress.IPv4Network, hole: ipaddress.IPv4Network) -> list[ipaddress.IPv4Network]:
    if part.subnet_of(hole):
        return []
    return list(part.address_exclude(hole)) if hole.subnet_of(part) else [part]
