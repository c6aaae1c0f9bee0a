"""Shell scripts as far as command lines need it: words with their places, variables, and nothing run.

``shlex`` splits words but keeps neither places nor which quotes a ``$`` stood in; bashlex has both, but is GPL.
So this is a reader of our own for the part of the language that manifests use: quoting, continuation lines, comments,
``;`` ``&&`` ``||`` ``|`` and newlines, assignments and ``export``, arrays, ``$VAR`` and ``${VAR:-default}``, here
documents. Tests hold its words against those of a real ``sh``.
"""

import re
from collections.abc import Mapping

from inferfab.manifests.shell_words import SPACE, ShellWord, WordReader

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)")
_OPERATORS = (";;", "&&", "||", "|&", ";", "|", "&", "\n", "(", ")", "{", "}")
_OPENS = {"if", "for", "while", "until", "case", "select"}
_CLOSES = {"fi", "done", "esac"}
_SKIPPED = {"then", "else", "elif", "do", "!", "{", "}", "time"}


class ShellReader(WordReader):
    """Reads a script once; :attr:`commands` holds its simple commands in order."""

    def __init__(self, script: str, variables: Mapping[str, str | None], nested: int = 0) -> None:
        super().__init__(script, variables)
        self.nested = nested
        self.commands: list[list[ShellWord]] = []
        self.depth = 0
        self.heredocs: list[str] = []
        self._run()

    def _run(self) -> None:
        command: list[ShellWord] = []
        while True:
            operator = self._skip_space()
            if self.at >= len(self.script):
                self._finish(command)
                return
            if operator:
                self._finish(command)
                command = []
                continue
            if self._redirection():
                continue
            if not command and self._assignment():
                continue
            word = self._word()
            if word is None:
                continue
            if word.split is not None:
                command += word.split
            else:
                command.append(ShellWord(word.text, word.offset, word.raw, word.known))

    def _finish(self, command: list[ShellWord]) -> None:
        while command and command[0].text in (*_OPENS, *_CLOSES, *_SKIPPED):
            self.depth += (command[0].text in _OPENS) - (command[0].text in _CLOSES)
            if command[0].text in ("for", "select") and len(command) > 1:
                self.variables[command[1].text] = None
                command = []
                return
            command = command[1:]
        while command and (assigned := _ASSIGNMENT.match(command[0].text)):
            # Behind `then` or `do`, where the reader took it for a word.
            self._set(assigned[1], command[0].text[assigned.end() :] if command[0].known else None)
            command = command[1:]
        if not command:
            return
        if command[0].text in ("export", "declare", "local", "readonly", "typeset"):
            for word in command[1:]:
                match = _ASSIGNMENT.match(word.text)
                if match:
                    self._set(match[1], word.text[match.end() :] if word.known else None)
            return
        if command[0].text == "eval" and len(command) > 1 and all(w.known for w in command) and self.nested < 4:
            # What it runs stands at the word that it was given.
            text, first = " ".join(w.text for w in command[1:]), command[1]
            plain = {n: v for n, v in self.variables.items() if v is None or isinstance(v, str)}
            for inner in ShellReader(text, plain, self.nested + 1).commands:
                self.commands.append([ShellWord(w.text, first.offset, first.raw, w.known) for w in inner])
            return
        if command[0].text in ("read", "unset"):
            for word in command[1:]:
                self.variables[word.text] = None
        self.commands.append(command)

    def _set(self, name: str, value: "str | list[ShellWord] | None") -> None:
        # In a branch or a loop nobody knows which assignment was the last.
        self.variables[name] = value if self.depth <= 0 else None

    def _skip_space(self) -> bool:
        """Move to the next word; True if an operator was passed."""
        passed = False
        while self.at < len(self.script):
            rest = self.script[self.at : self.at + 2]
            if rest == "\\\n":
                self.at += 2
            elif rest[0] in SPACE:
                self.at += 1
            elif rest[0] == "#":
                end = self.script.find("\n", self.at)
                self.at = len(self.script) if end < 0 else end
            else:
                operator = next((o for o in _OPERATORS if self.script.startswith(o, self.at)), None)
                if operator is None or (operator in "{}" and self.script[self.at + 1 : self.at + 2].strip(" \t\n;")):
                    return passed
                self.at += len(operator)
                passed = True
                if operator == "\n":
                    self._skip_heredocs()
        return passed

    def _skip_heredocs(self) -> None:
        for end in self.heredocs:
            match = re.compile(rf"^\t*{re.escape(end)}$", re.MULTILINE).search(self.script, self.at)
            self.at = match.end() if match else len(self.script)
        self.heredocs = []

    def _redirection(self) -> bool:
        match = re.compile(r"[0-9]*(<<-?|[<>]&?|>>|&>>?|>\|)[ \t]*").match(self.script, self.at)
        if match is None or (match[0][0].isdigit() and match[1][0] not in "<>"):
            return False
        self.at = match.end()
        target = self._word()
        if match[1] in ("<<", "<<-") and target is not None:
            self.heredocs.append(target.text)
        return True

    def _assignment(self) -> bool:
        match = _ASSIGNMENT.match(self.script, self.at)
        if match is None:
            return False
        self.at = match.end()
        name, adds = match[1], match[2] == "+="
        before = self.variables.get(name)
        if self.script.startswith("(", self.at):
            self.at += 1
            words = self._array()
            old = before if isinstance(before, list) else []
            if adds and self.depth > 0:
                # Nobody knows whether the branch is taken: what was there stays, and more may follow.
                self.variables[name] = [*old, ShellWord(f"${name}", match.start(), match[0], known=False)]
            else:
                self._set(name, [*old, *words] if adds else words)
            return True
        ends = self.at >= len(self.script) or self.script[self.at] in f"{SPACE}\n;&|"
        word = None if ends else self._word()
        value = "" if word is None else word.text if word.known and word.split is None else None
        if word is not None and word.split is not None and all(w.known for w in word.split):
            value = " ".join(w.text for w in word.split)
        self._set(name, f"{before}{value}" if adds and isinstance(before, str) and value is not None else value)
        return True

    def _array(self) -> list[ShellWord]:
        words: list[ShellWord] = []
        while self.at < len(self.script):
            char = self.script[self.at]
            if char == ")":
                self.at += 1
                break
            if char in f"{SPACE}\n":
                self.at += 1
            elif self.script.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                end = self.script.find("\n", self.at)
                self.at = len(self.script) if end < 0 else end
            else:
                word = self._word()
                if word is None:
                    self.at += 1
                elif word.split is not None:
                    words += word.split
                else:
                    words.append(ShellWord(word.text, word.offset, word.raw, word.known))
        return words


def shell_commands(script: str, variables: Mapping[str, str | None]) -> list[list[ShellWord]]:
    """The simple commands of a script. Never raises; what is not understood is left as it stands.

    :param variables: environment of the container; None for a variable whose value is not in the manifest.
    """
    return ShellReader(script, variables).commands
