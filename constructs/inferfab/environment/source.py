"""A read file: its values, the place of every key and value, and what was wrong with the text itself."""

from dataclasses import dataclass, field
from typing import Any

from inferfab.findings import Finding, Location, YamlPath


@dataclass(frozen=True)
class Place:
    """Where a key and its value stand, and the value's own text."""

    key: tuple[int, int]
    value: tuple[int, int]
    text: str = ""


@dataclass
class Source:
    """A read file: values, places, and what was wrong with the text itself."""

    file: str
    tree: dict[str, Any] = field(default_factory=dict)
    places: dict[YamlPath, Place] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    lines: tuple[str, ...] = ()
    """The text by line, to quote from."""

    def location(self, path: YamlPath, *, of_key: bool = False) -> Location:
        """The place of ``path``, or of its nearest ancestor that the file has."""
        wanted = path
        while wanted and wanted not in self.places:
            wanted = wanted[:-1]
        place = self.places.get(wanted)
        if place is None:
            return Location(file=self.file, line=1, column=1)
        # A value that is absent from the file is reported at the key under which it belongs.
        line, column = place.key if of_key or wanted != path else place.value
        return Location(file=self.file, line=line, column=column)

    def text(self, path: YamlPath) -> str:
        """The scalar's own text in the file; empty for collections and absent paths."""
        place = self.places.get(path)
        return place.text if place else ""

    def forget_values(self) -> None:
        """After an error that ends reading: half a file must not be validated, what was not read is not missing."""
        self.tree.clear()
        self.places.clear()

    def problem(self, rule: str, at: tuple[int, int], what: str, why: str, fix: str, **more: Any) -> None:
        location = Location(file=self.file, line=at[0], column=at[1])
        self.findings.append(
            Finding(rule=rule, severity="error", location=location, what=what, why=why, fix=fix, **more)
        )
