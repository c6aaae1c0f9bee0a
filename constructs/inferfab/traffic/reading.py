"""A trace, row by row: bad ones are counted and shown with their line, and too many end it."""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from inferfab.traffic.formats import Format, detect, reader
from inferfab.traffic.rows import LATEST_SECONDS, BadRow, Request, UnusableTrace

MOST_BAD_SHARE = 0.01
SHOWN = 5
"""Bad rows that are told in words."""
_LONGEST_LINE = 4_000_000
"""Characters: a prompt of ten million tokens has 20,000 hashes."""


class Trace:
    """One pass over a file; counts are complete when the pass is."""

    def __init__(self, path: Path) -> None:
        """:raises UnusableTrace: if the file cannot be read or begins like no trace."""
        self.path = path
        self.rows = 0
        """Rows that are requests."""
        self.failed = 0
        """Rows that the trace itself calls failed."""
        self.bad = 0
        self.shown: list[str] = []
        self.dated = False
        self.first_line = self._first()
        self.kind: Format = detect(self.first_line)

    def _first(self) -> str:
        for _, line in self.lines():
            if line.strip():
                return line
        raise UnusableTrace(f"{self.path} is empty")

    def _open(self) -> IO[str]:
        if self.path.suffix == ".gz":
            return io.TextIOWrapper(gzip.open(self.path), encoding="utf-8", errors="replace")
        return self.path.open(encoding="utf-8", errors="replace")

    def lines(self) -> Iterator[tuple[int, str]]:
        try:
            with self._open() as stream:
                number = 0
                while line := stream.readline(_LONGEST_LINE):
                    number += 1
                    yield number, line.rstrip("\r\n")
        except (OSError, EOFError) as error:
            words = getattr(error, "strerror", None) or error
            raise UnusableTrace(f"{self.path}: {words}") from error

    def requests(self) -> Iterator[Request]:
        """Requests in the order of the file.

        :raises UnusableTrace: at the end, if more than 1 % of the rows are bad, or none is good.
        """
        read = reader(self.kind, self.first_line)
        header = self.kind != "mooncake"
        first: float | None = None
        for number, line in self.lines():
            if not line.strip():
                continue
            if header:
                header = False
                continue
            try:
                found = read(line)
                if found is None:
                    self.failed += 1
                    continue
                request, dated = found
                if self.rows and dated != self.dated:
                    raise BadRow("a date where the rows before have seconds, or the other way round")
                if first is not None and abs(request.at_s - first) > LATEST_SECONDS:
                    raise BadRow(f"its time is {abs(request.at_s - first) / 86_400:,.0f} days from the first row's")
            except BadRow as error:
                self.note_bad(number, str(error))
                continue
            self.rows += 1
            first = request.at_s if first is None else first
            self.dated = dated
            yield request
        self.judge()

    def note_bad(self, number: int, why: str) -> None:
        self.bad += 1
        if len(self.shown) < SHOWN:
            self.shown.append(f"{self.path}:{number}: {why}")

    def judge(self) -> None:
        total = self.rows + self.failed + self.bad
        told = "\n".join(self.shown)
        if not self.rows:
            raise UnusableTrace(f"{self.path} has no request" + (f"; its rows are wrong:\n{told}" if told else ""))
        if self.bad > MOST_BAD_SHARE * total:
            raise UnusableTrace(
                f"{self.bad:,} of {total:,} rows of {self.path} are bad ({self.bad / total:.1%}; up to 1% is skipped). "
                f"The first:\n{told}"
            )
