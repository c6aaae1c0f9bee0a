"""Launch templates and instance templates of a plan, and which group uses which.

A new template has no id in the plan yet. Which group uses it then stands only in the configuration, as a reference:
``aws_launch_template.this.id``, relative to the module (developer.hashicorp.com, JSON output format, expressions).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from inferfab.review.changes import ResourceChange
from inferfab.review.gpus.values import Values, text

Side = Literal["before", "after"]
References = Mapping[tuple[str, str, str], tuple[str, ...]]
"""By (module path without indices, type, name): what the configuration of a resource refers to."""
TEMPLATES = (
    "aws_launch_template",
    "aws_launch_configuration",
    "google_compute_instance_template",
    "google_compute_region_instance_template",
)
_INDEX = re.compile(r"\[(?:\d+|\"(?:[^\"\\]|\\.)*\")\]")
_Ids = dict[tuple[Side, str], list[tuple[str, Values]]]
"""(region, values) of everything that is called so."""


def module_path(address: str) -> str:
    """``module.eks.module.ng["a"]`` to ``eks.ng``."""
    return ".".join(part for part in _INDEX.sub("", address).split(".")[1::2])


@dataclass
class Elsewhere:
    """Templates of all plans of a review, by ids that no two accounts share.

    A name or an address (``aws_launch_template.gpu``) means something else in every stack, so neither is here.
    """

    _by_id: _Ids = field(default_factory=dict)

    def add(self, changes: Iterable[ResourceChange]) -> None:
        for change, side, values in _sides(changes):
            for key in ("id", "self_link", "self_link_unique"):
                name = text(values.get(key))
                if name and ("/" in name or (change.type == "aws_launch_template" and name.startswith("lt-"))):
                    self._by_id.setdefault((side, name), []).append(("", values))

    def find(self, side: Side, name: str) -> Values | None:
        return _only(self._by_id.get((side, name), []), "")


@dataclass
class Templates:
    """Templates of one plan, on either side, and how to find those of the others."""

    references: References = field(default_factory=dict)
    region_of: Callable[[ResourceChange], str] = lambda _: ""
    elsewhere: Elsewhere = field(default_factory=Elsewhere)
    _by_id: _Ids = field(default_factory=dict)
    _by_place: dict[tuple[Side, str, str, str], list[tuple[str, Values]]] = field(default_factory=dict)

    def add(self, changes: Iterable[ResourceChange]) -> None:
        for change, side, values in _sides(changes):
            region = text(values.get("region")) or self.region_of(change)
            for key in ("id", "name", "self_link", "self_link_unique"):
                if name := text(values.get(key)):
                    self._by_id.setdefault((side, name), []).append((region, values))
            place = (side, change.module, change.type, change.name)
            self._by_place.setdefault(place, []).append((change.index, values))

    def find(self, user: ResourceChange, side: Side, names: Iterable[Any]) -> Values | None:
        """The template that ``user`` names by id, name or link, or that its configuration refers to.

        None rather than one of several that differ: a wrong machine type is worse than none.
        """
        asked = [name for name in map(text, names) if name]
        values = user.before if side == "before" else user.after
        region = text((values or {}).get("region")) or self.region_of(user)
        for name in asked:
            found = _only(self._by_id.get((side, name), []), region)
            if found is not None:
                return found
        for reference in self.references.get((module_path(user.module), user.type, user.name), ()):
            parts = _INDEX.sub("", reference).split(".")
            if parts[0] in TEMPLATES and len(parts) >= 2:
                members = self._by_place.get((side, user.module, parts[0], parts[1]), [])
                same = [values for index, values in members if index == user.index]
                if len(members) == 1 or same:
                    return same[0] if same else members[0][1]
        return next((found for name in asked if (found := self.elsewhere.find(side, name)) is not None), None)


def _sides(changes: Iterable[ResourceChange]) -> Iterable[tuple[ResourceChange, Side, Values]]:
    for change in changes:
        if change.type not in TEMPLATES or change.deposed:
            continue
        sides: tuple[tuple[Side, Any], ...] = (("before", change.before), ("after", change.after))
        for side, values in sides:
            if values is not None:
                yield change, side, values


def _only(found: list[tuple[str, Values]], region: str) -> Values | None:
    """The one that is meant: of several the one in the region; None where they differ."""
    here = [values for at, values in found if region and at == region] or [values for _, values in found]
    return here[0] if here and all(values == here[0] for values in here) else None
