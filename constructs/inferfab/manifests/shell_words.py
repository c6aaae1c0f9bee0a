"""Words of a shell script: quoting, variables and field splitting, each word with its place."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

SPACE = " \t\r"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(\[[@*]\])?(:?[-=+?][^{}]*)?\}|\$([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True)
class ShellWord:
    """One word after expansion."""

    text: str
    offset: int
    """Where it begins in the script."""
    raw: str
    """As the script has it."""
    known: bool = True
    """False where a part of it is only known when the script runs."""


@dataclass
class _Word:
    pieces: list[tuple[str, bool]] = field(default_factory=list)
    """(text, whether it came from an unquoted variable, and is split at spaces)"""
    known: bool = True
    offset: int = 0
    raw: str = ""
    split: list[ShellWord] | None = None
    """An unquoted or array expansion that makes several words."""
    quoted: bool = False

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)


class WordReader:
    """Reads words of a script from where :attr:`at` stands."""

    def __init__(self, script: str, variables: Mapping[str, str | None]) -> None:
        self.script = script
        self.arguments: list[ShellWord] | None = None
        """What ``"$@"`` stands for; None where nobody can tell."""
        self.variables: dict[str, list[ShellWord] | str | None] = dict(variables)
        self.at = 0

    def default_of(self, text: str) -> "list[ShellWord] | str | None":
        """Value of the default in ``${NAME:-text}``."""
        inner = WordReader(text, {})
        word = inner._word()
        if word is None:
            return "" if not text else None
        return word.text if inner.at >= len(text) and word.known and not word.split else None

    def _word(self) -> _Word | None:
        word = _Word(offset=self.at)
        while self.at < len(self.script):
            char = self.script[self.at]
            if char in f"{SPACE}\n;&|()<>":
                break
            if char == "\\":
                if self.script.startswith("\\\n", self.at):
                    self.at += 2
                    continue
                word.pieces.append((self.script[self.at + 1 : self.at + 2], False))
                self.at += 2
            elif char == "'":
                end = self.script.find("'", self.at + 1)
                end = len(self.script) if end < 0 else end
                word.pieces.append((self.script[self.at + 1 : end], False))
                word.quoted = True
                self.at = end + 1
            elif char == '"':
                word.quoted = True
                self._double(word)
            elif char in "$`":
                self._dollar(word, quoted=False)
            else:
                word.pieces.append((char, False))
                self.at += 1
        if self.at == word.offset:
            return None
        word.raw = self.script[word.offset : self.at]
        if word.split is None and any(expanded for _, expanded in word.pieces):
            fields = _fields(word)
            if fields != [word.text]:
                word.split = [ShellWord(text, word.offset, word.raw, word.known) for text in fields]
        return word

    def _double(self, word: _Word) -> None:
        self.at += 1
        while self.at < len(self.script) and self.script[self.at] != '"':
            char = self.script[self.at]
            if char == "\\" and self.script[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                following = self.script[self.at + 1]
                word.pieces.append(("" if following == "\n" else following, False))
                self.at += 2
            elif char in "$`":
                self._dollar(word, quoted=True)
            else:
                word.pieces.append((char, False))
                self.at += 1
        self.at += 1

    def _dollar(self, word: _Word, *, quoted: bool) -> None:
        begin = self.at
        if self.script[self.at] == "`" or self.script.startswith("$(", self.at):
            self._command_substitution()
            word.pieces.append((self.script[begin : self.at], False))
            word.known = False
            return
        match = _VARIABLE.match(self.script, self.at)
        if match is None:
            special = re.compile(r"\$(\{[^{}]*\}|[0-9@*#?$!-])").match(self.script, self.at)
            if special and special[1] in ("@", "{@}") and self.arguments is not None and not word.text:
                self.at = special.end()
                word.split = [*(word.split or []), *(_moved(w, begin, special[0]) for w in self.arguments)]
                return
            self.at = special.end() if special else self.at + 1
            word.pieces.append((self.script[begin : self.at], False))
            word.known = word.known and special is None
            return
        self.at = match.end()
        name, otherwise = match[1] or match[4], match[3] or ""
        value = self.variables.get(name)
        if value is None and name not in self.variables and otherwise.lstrip(":")[:1] in ("-", "="):
            value = self.default_of(otherwise.lstrip(":")[1:])
        if isinstance(value, list):
            if not word.text and (match[2] or not quoted):
                word.split = [*(word.split or []), *(_moved(w, begin, match[0]) for w in value)]
                return
            value = " ".join(w.text for w in value)
        if value is None:
            word.pieces.append((match[0], False))
            word.known = False
        else:
            word.pieces.append((value, not quoted))

    def _command_substitution(self) -> None:
        if self.script[self.at] == "`":
            end = self.script.find("`", self.at + 1)
            self.at = len(self.script) if end < 0 else end + 1
            return
        depth = 0
        while self.at < len(self.script):
            char = self.script[self.at]
            depth += (char == "(") - (char == ")")
            self.at += 1
            if depth == 0 and char == ")":
                return


def _fields(word: _Word) -> list[str]:
    """Field splitting: spaces of an unquoted variable's value end a word, and an empty one makes none."""
    done: list[str] = []
    current: str | None = "" if word.quoted else None
    for text, expanded in word.pieces:
        if not expanded:
            current = (current or "") + text
            continue
        parts = text.split()
        if text[:1].isspace() and current is not None:
            done.append(current)
            current = None
        for position, part in enumerate(parts):
            if position:
                done.append(current or "")
                current = None
            current = (current or "") + part
        if parts and text[-1:].isspace():
            done.append(current or "")
            current = None
    return done if current is None else [*done, current]


def _moved(word: ShellWord, offset: int, raw: str) -> ShellWord:
    """A word of an array keeps the place at which it was written."""
    return word if word.raw else ShellWord(word.text, offset, raw, word.known)
