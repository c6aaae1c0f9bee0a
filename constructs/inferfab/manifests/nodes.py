"""Walking a document that may have anything in any place: what is absent is a node too."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from inferfab.findings import Location, YamlPath
from inferfab.manifests.documents import Document


@dataclass(frozen=True)
class Ref:
    """Where something stands: path for people, place in the file for everything else."""

    path: YamlPath
    at: Location


@dataclass(frozen=True)
class Node:
    """A value of a document, or the absence of one."""

    document: Document
    path: YamlPath
    value: Any
    title: str = ""
    """``Kind/name`` of the object, which begins its paths for people."""
    root: YamlPath = ()
    """Where the object begins in its document."""

    def get(self, *keys: str | int) -> "Node":
        value: Any = self.value
        for key in keys:
            if isinstance(value, dict) or (isinstance(value, list) and isinstance(key, int) and key < len(value)):
                value = value.get(key) if isinstance(value, dict) else value[key]  # type: ignore[index]
            else:
                value = None
        return Node(self.document, (*self.path, *keys), value, self.title, self.root)

    @property
    def exists(self) -> bool:
        return self.value is not None

    @property
    def text(self) -> str | None:
        """A scalar as text; None for collections and what is absent."""
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return str(self.value) if isinstance(self.value, (str, int, float)) else None

    @property
    def whole(self) -> int | None:
        """A whole number, also one in quotes."""
        if isinstance(self.value, bool):
            return None
        try:
            return int(self.value) if isinstance(self.value, (int, str)) else None
        except ValueError:
            return None

    def items(self) -> Iterator["Node"]:
        """Entries of a list."""
        for position in range(len(self.value) if isinstance(self.value, list) else 0):
            yield self.get(position)

    def entries(self) -> Iterator[tuple[str, "Node"]]:
        """Keys and values of a mapping."""
        for key in self.value if isinstance(self.value, dict) else ():
            yield str(key), self.get(key)

    @property
    def ref(self) -> Ref:
        """Of the value; of the key for a collection or where the value is absent."""
        return Ref(self._shown(), self._at(of_key=isinstance(self.value, (dict, list))))

    @property
    def key_ref(self) -> Ref:
        return Ref(self._shown(), self._at(of_key=True))

    def _shown(self) -> YamlPath:
        inside = self.path[len(self.root) :]
        return (self.title, *inside) if self.title else self.path

    def _at(self, *, of_key: bool) -> Location:
        path = self.path
        while path and path not in self.document.marks:
            path = path[:-1]
        mark = self.document.marks.get(path)
        line, column = (1, 1) if mark is None else mark.key if of_key or path != self.path else mark.value
        return Location(file=self.document.file.name, line=line, column=column)
