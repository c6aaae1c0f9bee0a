"""A review as GitHub Markdown: a comment that fits, or the whole for a job summary and an artifact.

Names and values of a plan are somebody else's text. They stand in code spans (or, where a code span cannot hold
them, in ``<code>`` with every sign written as an entity), so that nothing in them is markup, a link or a mention.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from inferfab.render.review.sections import Cell, Note, Section, pieces, sections
from inferfab.render.text.findings import one_line
from inferfab.review.report import Report, Verdict

GITHUB_LIMIT = 65_536
"""Characters that GitHub takes in a comment ("Body is too long (maximum is 65536 characters)")."""
_MOST_IN_A_CELL = 500
_BADGE = {"BLOCK": "🛑 BLOCK", "REVIEW": "🔎 REVIEW", "OK": "✅ OK"}
_MOST_REASONS = 30


def markdown(report: Report, *, limit: int | None = None, whole: str = "the artifact of this job") -> str:
    """The review; with ``limit`` cut to that many characters, the least risky first.

    ``whole`` says in words where the rest is.
    """
    parts = list(sections(report))
    head = _head(report.verdict, report.revision)
    text = _joined(head, parts)
    if limit is None or length(text) <= limit:
        return text
    return _fitted(head, parts, limit, whole)


def length(text: str) -> int:
    """Characters as GitHub may count them: a sign outside of the basic plane as two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _joined(head: str, parts: Sequence[Section], end: str = "") -> str:
    return "\n".join([head, *(section(p) for p in parts), end] if end else [head, *(section(p) for p in parts)])


def _fitted(head: str, parts: list[Section], limit: int, whole: str) -> str:
    """Rows go from the end of the least risky section, then whole sections, then what had to be kept."""
    end = f"Cut to fit a comment: what is left out is in {escaped(whole)}.\n"
    room = limit - length(head) - length(end) - 2
    shown = {p.id: section(p) for p in parts}
    order = sorted(parts, key=lambda p: -p.risk)
    current = {p.id: p for p in parts}
    for least in (False, True):
        for part in order:
            over = sum(length(t) + 1 for t in shown.values()) - room
            if over <= 0:
                break
            kept = current[part.id]
            floor = 0 if least else min(part.keep_rows, len(part.rows))
            rows = _rows_that_fit(kept, length(shown[part.id]) - over, floor)
            if rows or floor or part.risk == 0:
                current[part.id] = replace(kept, rows=kept.rows[:rows])
                shown[part.id] = section(current[part.id], left_out=len(part.rows) - rows)
            else:
                shown[part.id] = _mention(part)
    texts = [shown[p.id] for p in parts]
    text = "\n".join([head, *texts, end])
    if length(text) > limit:  # a single cell of endless text cannot get here: cells are cut
        text = "\n".join([head, end])
    while length(text) > limit:
        text = text[: limit - (length(text) - len(text))] if length(text) > len(text) else text[:limit]
    return text


def _rows_that_fit(part: Section, room: int, floor: int) -> int:
    """How many rows leave the section within ``room`` characters; never fewer than ``floor``."""
    if not part.rows:
        return 0
    lengths = [length(_row(row)) + 1 for row in part.rows]
    bare = section(replace(part, rows=part.rows[:1]), left_out=len(part.rows))
    left, rows = room - (length(bare) - lengths[0]), 0
    for each in lengths:
        left -= each
        if left < 0:
            break
        rows += 1
    return max(rows, floor)


def _mention(part: Section) -> str:
    rows = f": {len(part.rows):,} rows left out" if part.rows else ": left out"
    return f"**{escaped(part.title)}**{rows}\n"


def _head(verdict: Verdict, revision: str) -> str:
    lines = [f"## {_BADGE[verdict.word]}: {escaped(_short(verdict.why))}", ""]
    if len(verdict.reasons) > 1:
        lines += [f"- **{r.word}** {escaped(_short(r.what))}" for r in verdict.reasons[:_MOST_REASONS]]
        if len(verdict.reasons) > _MOST_REASONS:
            lines.append(f"- and {len(verdict.reasons) - _MOST_REASONS} more")
        lines.append("")
    if revision:
        lines += [f"Reviewed: {code_span(revision)}", ""]
    return "\n".join(lines)


def _short(text: str) -> str:
    return text if len(text) <= _MOST_IN_A_CELL else f"{text[:_MOST_IN_A_CELL]}…"


def section(part: Section, left_out: int = 0) -> str:
    """One section; what is folded is behind one line that says how much there is."""
    lines = []
    if part.folded:
        count = len(part.rows) + left_out
        lines += [f"<details><summary><b>{escaped(part.title)}</b> ({count:,})</summary>", ""]
    else:
        lines += [f"### {escaped(part.title)}", ""]
    for note in part.notes:
        lines += [_sentence(note), ""]
    if part.columns and part.rows:
        lines.append(f"| {' | '.join(escaped(c) for c in part.columns)} |")
        lines.append(f"|{'|'.join(' ---: ' if c in part.right else ' --- ' for c in part.columns)}|")
        lines += map(_row, part.rows)
        lines.append("")
    if left_out:
        lines += [f"and {left_out:,} more rows", ""]
    if part.folded:
        lines += ["</details>", ""]
    return "\n".join(lines)


def _row(cells: Sequence[Cell]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _sentence(pieces: Note) -> str:
    return "".join(_cell(p) for p in pieces)


def _cell(cell: Cell) -> str:
    if not cell.text:
        return ""
    if cell.code:
        return code_span(cell.text)
    if cell.strong:
        return f"**{escaped(_short(cell.text))}**"
    return "".join(code_span(p.text) if p.code else escaped(p.text) for p in pieces(_short(cell.text)))


# A dollar before a digit is money; GitHub reads one as the end of a formula only where no digit follows.
_PLAIN = re.compile(r"\$(?!\d)|[^A-Za-z0-9 .,:;%/$=–−±…“”’-]")
_SPACES = re.compile(r"\s+")


def _one_line(text: str) -> str:
    """Most texts are printable as they are, and there may be many thousands."""
    return _SPACES.sub(" ", text if text.isprintable() else one_line(text))


@lru_cache(maxsize=8192)
def escaped(text: str) -> str:
    """Our own words, with whatever names are in them: nothing of it is markup.

    As entities, which stand for a character and never for what it would do; a backslash would itself be read in a
    table's cell.
    """
    words = _PLAIN.sub(_entity, _one_line(text))
    return words.replace("://", ":&#47;/").replace("www.", "www&#46;")


_NOTIFIES = "@#"
"""GitHub looks for mentions and issues in the text that people see, whatever wrote it there."""


def _entity(found: re.Match[str]) -> str:
    sign = found[0]
    if sign in "()+'\"?!→" or (ord(sign) > 0x7F and sign.isprintable()):
        return sign
    return f"&#{ord(sign)};&#8203;" if sign in _NOTIFIES else f"&#{ord(sign)};"


@lru_cache(maxsize=8192)
def code_span(text: str) -> str:
    """Somebody else's text, as it is. GitHub shows a code span's pipe only when it is escaped in a table."""
    text = _one_line(text).strip()
    if len(text) > _MOST_IN_A_CELL:
        text = f"{text[:_MOST_IN_A_CELL]}…"
    if not text:
        return ""
    if not set(text) & set("`|\\<>&@#"):
        return f"`{text}`"
    return f"<code>{''.join(c if c.isalnum() or (c in ' .,-_/' and c != '_') else f'&#{ord(c)};' for c in text)}</code>"
