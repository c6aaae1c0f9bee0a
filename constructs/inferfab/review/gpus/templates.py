"""Launch templates and instance templates of a plan, and which group uses which.

A new template has no id in the plan yet. Which group uses it then stands only in the configuration, as a reference:
``aws_launch_template.this.id``, relative to the module (developer.hashicorp.com, JSON output format, expressions).
"""

import re
from collections.abc import Iterable, Mapping
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


def module_path(address: str) -> str:
    """``module.eks.module.ng["a"]`` to ``eks.ng``."""
    return ".".join(part for part in _INDEX.sub("", address).split(".")[1::2])


@dataclass
class Templates:
    """Templates of all plans of a review, on either side."""

    references: References = field(default_factory=dict)
    _by_id: dict[tuple[Side, str], Values] = field(default_factory=dict)
    _by_place: dict[tuple[Side, str, str, str], list[tuple[str, Values]]] = field(default_factory=dict)

    def add(self, change: ResourceChange) -> None:
        if change.type not in TEMPLATES or change.deposed:
            return
        sides: tuple[tuple[Side, Any], ...] = (("before", change.before), ("after", change.after))
        for side, values in sides:
            if values is None:
                continue
            for key in ("id", "name", "self_link", "self_link_unique"):
                if name := text(values.get(key)):
                    self._by_id.setdefault((side, name), values)
            place = (side, change.module, change.type, change.name)
            self._by_place.setdefault(place, []).append((change.index, values))

    def find(self, user: ResourceChange, side: Side, names: Iterable[Any]) -> Values | None:
        """The template that ``user`` names by id, name or link, or that its configuration refers to."""
        for name in names:
            found = self._by_id.get((side, text(name)))
            if found is not None:
                return found
        for reference in self.references.get((module_path(user.module), user.type, user.name), ()):
            parts = _INDEX.sub("", reference).split(".")
            if parts[0] in TEMPLATES and len(parts) >= 2:
                members = self._by_place.get((side, user.module, parts[0], parts[1]), [])
                same = [values for index, values in members if index == user.index]
                if len(members) == 1 or same:
                    return same[0] if same else members[0][1]
        return None
