"""How wide a text is at most, and texts that fit: shortened or wrapped, never out of their box."""

import unicodedata
from dataclasses import dataclass
from typing import Literal

from inferfab.render.picture.shapes import Rect

_WIDTHS = {
    0.30: "'Iijl", 0.35: " ,./:;\\|·", 0.40: "()-[]ft", 0.45: "!r", 0.50: '"*J`', 0.55: "csz",
    0.60: "?L_kvxy–",
    0.65: "$0123456789FTabdeghnopqu{}", 0.70: "ABEKPSVXYZ", 0.75: "CNRU", 0.80: "&DGHOQ", 0.85: "#+<=>^w~×≤",
    0.90: "M", 1.00: "%Wm→…", 1.05: "@",
}  # fmt: skip
_WIDTH = {character: width for width, characters in _WIDTHS.items() for character in characters}
"""In em, rounded up, of the wider of DejaVu Sans and Arial: viewers pick their own system font, and DejaVu is
the widest that is a default anywhere."""
_OTHER_WIDTH = 1.2
_FAR_EAST_WIDTH = 1.4
_BOLD = 1.15
Anchor = Literal["start", "middle", "end"]
_ELLIPSIS = "…"
# Characters that turn the reading direction would rearrange the text after them.
_TURNS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True)
class Font:
    size: float
    bold: bool = False


FONTS = {
    "title": Font(26, bold=True),
    "figure": Font(19, bold=True),
    "heading": Font(14.5, bold=True),
    "strong": Font(12.5, bold=True),
    "role": Font(11.5, bold=True),
    "plain": Font(11.5),
    "faint": Font(11),
    "broken": Font(11, bold=True),
}
"""By kind of text; the template gives each its colour. Nothing is under 11 px at the picture's own size."""


@dataclass(frozen=True)
class Text:
    """One line of text."""

    x: float
    """Of the anchor."""
    baseline: float
    shown: str
    full: str
    """What a shortened text says in whole."""
    kind: str
    anchor: Anchor = "start"

    @property
    def rect(self) -> Rect:
        font = FONTS[self.kind]
        w = width(self.shown, self.kind)
        left = self.x - w * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        return Rect(left, self.baseline - 0.8 * font.size, w, font.size)


def clean(text: str) -> str:
    """The text on one line, without what XML forbids and without what turns the reading direction."""
    spaced = " ".join(text.split())
    return "".join("\ufffd" if c in _TURNS or unicodedata.category(c) in ("Cc", "Cs", "Cn") else c for c in spaced)


def width(text: str, kind: str) -> float:
    """At most so many pixels, in any of the fonts that a viewer may have."""
    font = FONTS[kind]
    return sum(_em(c) for c in text) * font.size * (_BOLD if font.bold else 1)


def _em(character: str) -> float:
    known = _WIDTH.get(character)
    if known is not None:
        return known
    if unicodedata.combining(character):
        return 0.0
    return _FAR_EAST_WIDTH if unicodedata.east_asian_width(character) in "WF" else _OTHER_WIDTH


def shorten(text: str, kind: str, limit: float) -> str:
    """The longest beginning that fits with an ellipsis; the text itself if it fits."""
    if width(text, kind) <= limit:
        return text
    while text and width(text + _ELLIPSIS, kind) > limit:
        text = text[:-1].rstrip()
    return text + _ELLIPSIS if width(text + _ELLIPSIS, kind) <= limit else ""


def wrap(text: str, kind: str, limit: float) -> list[str]:
    """Lines that fit, broken at spaces; a single word that is too long is left to :func:`shorten`."""
    lines: list[str] = []
    for word in clean(text).split(" "):
        if lines and width(f"{lines[-1]} {word}", kind) <= limit:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def put(text: str, kind: str, x: float, baseline: float, limit: float, *, anchor: Anchor = "start") -> Text:
    """A text at ``x`` that takes at most ``limit`` pixels."""
    full = clean(text)
    return Text(x, baseline, shorten(full, kind, limit), full, kind, anchor)


def pair(left: tuple[str, str], right: tuple[str, str], x: float, baseline: float, w: float) -> tuple[Text, ...]:
    """Two texts (each text and kind) at both ends of one line.

    The left one is the name: if both do not fit, the right one yields first, down to half of the line.
    """
    gap = 8.0
    wants = (width(clean(left[0]), left[1]), width(clean(right[0]), right[1]))
    right_limit = max(min(wants[1], w - gap - wants[0]), min(wants[1], (w - gap) / 2))
    left_limit = w - gap - right_limit if wants[1] else w
    return (
        put(*left, x, baseline, left_limit),
        put(*right, x + w, baseline, right_limit, anchor="end"),
    )
