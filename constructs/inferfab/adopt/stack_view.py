"""A synthesized stack, with the values that its references have in the account."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from inferfab.preflight.reader import Answer, Reader, ReadFailed, missing
from inferfab.record import Record

Body = Mapping[str, Any]
_REFERENCE = re.compile(r"\$\{((?:data\.)?[a-z0-9_]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_.\[\]]+)\}")


class Match(Record):
    """A resource that is there."""

    import_id: str
    """In the form that the provider's import of this type takes."""
    attributes: dict[str, str] = {}
    """What others refer to: ``id``, ``arn``, …"""


class Ambiguous(Exception):
    """Several things fit, and nothing says which is meant."""


class Unlookable(Exception):
    """It cannot be told whether it is there; the message says why."""


Finder = Callable[["StackView", Body], Match | None]


class StackView:
    """One stack. Answers of the account are kept, so that a list is asked for once.

    :param document: the stack's Terraform JSON.
    """

    def __init__(
        self, document: Mapping[str, Any], reader: Reader, finders: Mapping[str, Finder], lookups: Mapping[str, Finder]
    ) -> None:
        self.resources: Mapping[str, Mapping[str, Body]] = document.get("resource", {})
        self._data: Mapping[str, Mapping[str, Body]] = document.get("data", {})
        (default, *_) = (p for p in document["provider"]["aws"] if "alias" not in p)
        self.region: str = default["region"]
        self.account_id: str = default["allowed_account_ids"][0]
        self._tags: Mapping[str, str] = default["default_tags"][0]["tags"]
        self._reader, self._finders, self._lookups = reader, finders, lookups
        self._answers: dict[str, Answer | ReadFailed] = {}
        self._matches: dict[str, Match | Exception | None] = {}

    @property
    def environment(self) -> str:
        return self._tags["inferfab-environment"]

    def read(self, service: str, operation: str, region: str | None = None, **asked: Any) -> Answer:
        """As the reader's, asked once for the same thing."""
        key = repr((service, operation, region, sorted(asked.items())))
        if key not in self._answers:
            try:
                self._answers[key] = self._reader.read(service, operation, region or self.region, **asked)
            except ReadFailed as error:
                self._answers[key] = error
        answer = self._answers[key]
        if isinstance(answer, ReadFailed):
            raise answer
        return answer

    def look(self, service: str, operation: str, region: str | None = None, **asked: Any) -> Answer | None:
        """The same; None where AWS says that there is no such thing."""
        try:
            return self.read(service, operation, region, **asked)
        except ReadFailed as error:
            if missing(error):
                return None
            raise

    def match(self, type_: str, name: str) -> Match | None:
        """The resource of an address, if it is there.

        :raises Ambiguous: if several fit.
        :raises Unlookable: if its type, or something that it stands on, cannot be looked up.
        :raises ReadFailed: if AWS refuses.
        """
        address = f"{type_}.{name}"
        if address not in self._matches:
            # What refers to itself around a corner is not there.
            self._matches[address] = None
            try:
                self._matches[address] = self._find(type_, name)
            except (Ambiguous, Unlookable, ReadFailed) as error:
                self._matches[address] = error
        found = self._matches[address]
        if isinstance(found, Exception):
            raise found
        return found

    def _find(self, type_: str, name: str) -> Match | None:
        if type_.startswith("data."):
            kind = type_.removeprefix("data.")
            if kind not in self._lookups:
                raise Unlookable(f"it stands on {type_}.{name}, which is not looked up")
            return self._lookups[kind](self, self._data[kind][name])
        if type_ not in self._finders:
            raise Unlookable(f"{type_} is not looked up")
        return self._finders[type_](self, self.resources[type_][name])

    def value(self, text: Any) -> str | None:
        """A value without references; None where what it refers to is not there.

        :raises Unlookable: for an expression that is more than references.
        """
        if text is None:
            return None
        absent = False

        def resolved(found: re.Match[str]) -> str:
            nonlocal absent
            match = self.match(found[1], found[2])
            known = match.attributes.get(found[3]) if match is not None else None
            if match is not None and known is None:
                raise Unlookable(f"it stands on {found[0]}, which is not looked up")
            absent = absent or known is None
            return known or ""

        whole = _REFERENCE.sub(resolved, str(text))
        if "${" in whole:
            raise Unlookable(f"it stands on {whole}, which is not looked up")
        return None if absent else whole

    def referred(self, text: str, type_: str) -> str | None:
        """Name of the resource of a type that a value refers to."""
        found = _REFERENCE.fullmatch(text)
        return found[2] if found and found[1] == type_ else None

    def named(self, body: Body) -> str | None:
        """Its Name tag."""
        name = body.get("tags", {}).get("Name")
        return str(name) if name is not None else None


def only(found: list[Match], what: str) -> Match | None:
    """The one of them, or none.

    :raises Ambiguous: of several.
    """
    if len(found) > 1:
        raise Ambiguous(f"{len(found)} fit {what}: {', '.join(m.import_id for m in found)}")
    return found[0] if found else None


def tagged(thing: Answer, key: str) -> str | None:
    """The value of a tag of an EC2 thing."""
    return next((tag["Value"] for tag in thing.get("Tags", []) if tag["Key"] == key), None)
