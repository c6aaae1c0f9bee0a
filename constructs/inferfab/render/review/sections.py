"""A review as sections, worst first; Markdown and HTML lay out the same ones.

``risk`` says what may be left out when there is no room: 0 is never left out, the highest number goes first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from inferfab.review.report import Report


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str
    code: bool = False
    """A name or value of somebody else's: shown as it is, never as markup."""
    number: float | None = None
    """What to sort by; None sorts by the text."""
    strong: bool = False


Note = tuple[Cell, ...]
"""A sentence in pieces."""


@dataclass(frozen=True)
class Section:
    """A heading, some sentences, a table."""

    id: str
    title: str
    risk: int
    notes: tuple[Note, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    right: frozenset[str] = frozenset()
    """Columns with numbers."""
    folded: bool = False
    keep_rows: int = 0
    """Rows that are shown however little room there is."""


def code(text: str) -> Cell:
    return Cell(text, code=True)


def number(text: str, value: float | None) -> Cell:
    return Cell(text, number=value)


def pieces(text: str) -> Iterator[Cell]:
    """A text of ours with names in backticks, cut at them; as it is where they do not pair."""
    parts = text.split("`")
    if len(parts) % 2 == 0 or len(parts) > 41:
        yield Cell(text)
        return
    for n, part in enumerate(parts):
        if part:
            yield Cell(part, code=n % 2 == 1)


def strong(text: str) -> Cell:
    return Cell(text, strong=True)


def note(*pieces: Cell | str) -> Note:
    return tuple(p if isinstance(p, Cell) else Cell(p) for p in pieces)


@dataclass
class Table:
    """Rows that are being collected."""

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)

    def add(self, *cells: Cell | str) -> None:
        self.rows.append(tuple(c if isinstance(c, Cell) else Cell(c) for c in cells))


def sections(report: Report) -> Iterator[Section]:
    """Every section that has something to say."""
    from inferfab.render.review import changes, findings, numbers, risks

    yield from risks.problems(report)
    yield from numbers.gpus(report)
    yield from numbers.money(report)
    yield from risks.destroyed(report)
    yield from risks.purchases(report)
    yield from risks.opened(report)
    yield from numbers.tokens(report)
    yield from numbers.served(report)
    yield from findings.new(report)
    yield from risks.drift(report)
    yield from risks.unseen(report)
    yield from changes.engine(report)
    yield from changes.groups(report)
    yield from changes.other(report)
    yield from changes.updates(report)
    yield from findings.existing(report)
    yield from numbers.prices(report)
    yield from changes.quiet(report)
