"""A large JSON object one part at a time, so that a plan's four copies of each resource are never all in memory."""

import json
import re
from collections.abc import Iterator
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class JsonObject:
    """The top of an object in a text. Values are parsed when they are asked for.

    :raises ValueError: (also from the methods) where the text is not JSON.
    :raises RecursionError: where it is nested deeper than Python parses.
    """

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.places: dict[str, int] = {}
        self.twice: list[str] = []
        """Names that occur more than once."""
        self.end = self._index(start)

    def _index(self, start: int) -> int:
        """Find where each top-level value begins. Of a key that occurs twice the last counts, as in :mod:`json`."""
        at = self._after(start, "{")
        if self.text[at : at + 1] == "}":
            return at + 1
        while True:
            key, at = _DECODER.raw_decode(self.text, at)
            if not isinstance(key, str):
                raise ValueError(f"expected a name at character {at}")
            at = self._after(self._skip(at), ":")
            if key in self.places:
                self.twice.append(key)
            self.places[key] = at
            # What is parsed here is dropped at once.
            _, at = _DECODER.raw_decode(self.text, at)
            at = self._skip(at)
            if self.text[at : at + 1] == "}":
                return at + 1
            at = self._after(at, ",")

    def value(self, key: str) -> Any:
        """The value under a key; None where it is absent."""
        place = self.places.get(key)
        return None if place is None else _DECODER.raw_decode(self.text, place)[0]

    def items(self, key: str) -> Iterator[Any]:
        """Members of the list under a key, one at a time; nothing where it is absent or null.

        :raises ValueError: if it is something else.
        """
        place = self.places.get(key)
        if place is None or self.text.startswith("null", place):
            return
        if self.text[place : place + 1] != "[":
            raise ValueError(f"`{key}` is not a list")
        at = self._skip(place + 1)
        while self.text[at : at + 1] != "]":
            item, at = _DECODER.raw_decode(self.text, at)
            yield item
            at = self._skip(at)
            if self.text[at : at + 1] == ",":
                at = self._skip(at + 1)

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def _after(self, at: int, sign: str) -> int:
        if self.text[at : at + 1] != sign:
            raise ValueError(f"expected {sign!r} at character {at}")
        return self._skip(at + 1)
