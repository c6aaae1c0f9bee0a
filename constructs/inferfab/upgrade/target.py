"""What to upgrade to."""

import re
from typing import Literal

from inferfab.record import Record

TargetKind = Literal["kubernetes", "ami", "dynamo", "chart", "generation"]
_FORMS = "kubernetes=1.37, ami=1.36.2-20261120, dynamo=1.7.0, chart:gpu-operator=v26.7.2, generation:POOL"
_SHAPES: dict[TargetKind, str] = {
    "kubernetes": r"\d+\.\d+",
    "ami": r"\d+\.\d+\.\d+-\d{8}",
    "dynamo": r"\d+\.\d+\.\d+",
    "chart": r"v?\d[\w.+-]*",
}


class BadTarget(ValueError):
    """Words that name no target; the message says what does."""


class Target(Record):
    """One thing at one version."""

    kind: TargetKind
    name: str = ""
    """Of a chart or a pool."""
    version: str = ""
    """Empty for a generation: the next one."""

    def __str__(self) -> str:
        name = f"{self.kind}:{self.name}" if self.name else self.kind
        return f"{name}={self.version}" if self.version else name


def target_of(text: str) -> Target:
    """
    :raises BadTarget: if it is none.
    """
    left, _, version = text.partition("=")
    kind, _, name = left.partition(":")
    if kind == "generation" and name and not version:
        return Target(kind="generation", name=name)
    for known, shape in _SHAPES.items():
        if kind == known and bool(name) == (known == "chart") and re.fullmatch(shape, version):
            return Target(kind=known, name=name, version=version)
    raise BadTarget(f"`{text}` is no target; write one of {_FORMS}")
