"""Shell scripts as far as command lines need it: words with their places, variables, and nothing run.

``shlex`` splits words but keeps neither places nor which quotes a ``$`` stood in; bashlex has both, but is GPL.
So this is a reader of our own for the part of the language that manifests use: quoting, continuation lines, comments,
``;`` ``&&`` ``||`` ``|`` and newlines, assignments and ``export``, arrays, ``$VAR`` and ``${VAR:-default}``, here
documents. Tests hold its words against those of a real ``sh``.
"""

import re
from collections.abc import Mapping

from inferfab.manifests.shell_flow import Flow, ShellCommand, instead
from inferfab.manifests.shell_words import SPACE, ShellWord, WordReader

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)")
_OPERATORS = (";;", "&&", "||", "|&", ";", "|", "&", "\n", "(", ")", "{", "}")
_OPENS = {"if", "for", "while", "until", "case", "select"}
_CLOSES = {"fi", "done", "esac"}
_SKIPPED = {"then", "else", "elif", "do", "!", "{", "}", "time"}


class ShellReader(WordReader):
    """Reads a script once; :attr:`commands` holds its simple commands in order."""

    def __init__(
        self,
        script: str,
        variables: Mapping[str, str | None],
        nested: int = 0,
        arguments: list[ShellWord] | None = None,
    ) -> None:
        super().__init__(script, variables)
        self.arguments = arguments
        self.nested = nested
        self.flow = Flow()
        self.depth = 0
        self.heredocs: list[str] = []
        self.before: dict[str, ShellWord] = {}
        """Assignments before the command that is being read."""
        self.assigned: dict[str, ShellWord] = {}
        self.exported: list[tuple[str, ShellWord, dict[int, int]]] = []
        """(name, value, arms in which it was given), in order."""
        self._inherited = set(variables)
        self._run()

    @property
    def commands(self) -> list[ShellCommand]:
        return self.flow.commands

    def _run(self) -> None:
        command: list[ShellWord] = []
        while True:
            operators = self._skip_space()
            ended = self.at >= len(self.script)
            if operators or ended:
                # `name () {`: what follows runs when it is called.
                function = operators[:2] == ["(", ")"] or bool(command and command[0].text == "function")
                if function and len(command) <= 2:
                    command = []
                    operators = operators[2:] if operators[0] == "(" else operators
                self._finish(command)
                command = []
                for operator in operators:
                    self.flow.operator(operator, function=function)
                if function:
                    self.arguments = None  # inside of a function they are its own
                if ended:
                    return
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
            keyword = command[0].text
            self.depth += (keyword in _OPENS) - (keyword in _CLOSES)
            if keyword in _OPENS:
                self.flow.open(keyword)
            elif keyword in _CLOSES:
                self.flow.close(keyword)
            elif keyword in ("else", "elif"):
                self.flow.next_arm("if")
            if command[0].text in ("for", "select") and len(command) > 1:
                self.variables[command[1].text] = None
                command = []
                return
            command = command[1:]
        while command and (assigned := _ASSIGNMENT.match(command[0].text)):
            # Behind `then` or `do`, where the reader took it for a word.
            self._set(assigned[1], command[0].text[assigned.end() :] if command[0].known else None)
            self.before[assigned[1]] = _value_of(command[0], assigned.end())
            command = command[1:]
        before, self.before = self.before, {}
        if not command:
            self.assigned |= before
            for name, value in before.items():
                if name in self._inherited:
                    self.exported.append((name, value, self.flow.branch))
            return
        if command[0].text in ("export", "declare", "local", "readonly", "typeset"):
            self._declared(command)
            return
        if command[0].text == "eval" and len(command) > 1 and all(w.known for w in command) and self.nested < 4:
            # What it runs stands at the word that it was given.
            text, first = " ".join(w.text for w in command[1:]), command[1]
            plain = {n: v for n, v in self.variables.items() if v is None or isinstance(v, str)}
            for inner in ShellReader(text, plain, self.nested + 1).commands:
                self._add([ShellWord(w.text, first.offset, first.raw, w.known) for w in inner], before)
            return
        if command[0].text in ("set", "shift"):
            self._arguments(command)
        if command[0].text in ("read", "unset"):
            for word in command[1:]:
                self.variables[word.text] = None
                if word.text in self._inherited:
                    self.exported.append((word.text, ShellWord("", word.offset, word.raw, False), self.flow.branch))
        self._add(command, before)

    def _arguments(self, command: list[ShellWord]) -> None:
        """``set -- a b`` replaces what ``"$@"`` stands for; ``shift`` takes the first away."""
        if self.depth > 0 or self.flow.frames[-1].function:
            self.arguments = None
        elif [w.text for w in command[:2]] == ["set", "--"]:
            self.arguments = [ShellWord(w.text, w.offset, w.raw, w.known) for w in command[2:]]
        elif len(command) == 1 and command[0].text == "shift":
            self.arguments = self.arguments[1:] if self.arguments else None

    def _declared(self, command: list[ShellWord]) -> None:
        for word in command[1:]:
            match = _ASSIGNMENT.match(word.text)
            if match:
                self._set(match[1], word.text[match.end() :] if word.known else None)
                self.assigned[match[1]] = _value_of(word, match.end())
            name = match[1] if match else word.text
            if (command[0].text == "export" or command[1].text == "-x") and name in self.assigned:
                self.exported.append((name, self.assigned[name], self.flow.branch))
                self._inherited.add(name)

    def _add(self, words: list[ShellWord], before: dict[str, ShellWord]) -> None:
        command = self.flow.add(words)
        for name, value, branch in self.exported:
            if not instead(branch, command.branch):
                # Given in an arm that is not this command's: nobody knows whether it was taken.
                sure = branch.items() <= command.branch.items()
                command.environment[name] = value if sure else ShellWord(value.text, value.offset, value.raw, False)
        command.environment |= before

    def _set(self, name: str, value: "str | list[ShellWord] | None") -> None:
        # In a branch or a loop nobody knows which assignment was the last.
        self.variables[name] = value if self.depth <= 0 else None

    def _skip_space(self) -> list[str]:
        """Move to the next word; the operators that were passed."""
        passed: list[str] = []
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
                passed.append(operator)
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
        start = self.at
        ends = self.at >= len(self.script) or self.script[self.at] in f"{SPACE}\n;&|"
        word = None if ends else self._word()
        value = "" if word is None else word.text if word.known and word.split is None else None
        if word is not None and word.split is not None and all(w.known for w in word.split):
            value = " ".join(w.text for w in word.split)
        if adds:
            value = f"{before}{value}" if isinstance(before, str) and value is not None else None
        self._set(name, value)
        self.before[name] = ShellWord(value or "", start, self.script[start : self.at], value is not None)
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


def _value_of(word: ShellWord, skipped: int) -> ShellWord:
    """What stands behind ``NAME=``."""
    return ShellWord(word.text[skipped:], word.offset + skipped, word.raw[skipped:], word.known)


def shell_commands(
    script: str, variables: Mapping[str, str | None], arguments: list[ShellWord] | None = None
) -> list[ShellCommand]:
    """The simple commands of a script. Never raises; what is not understood is left as it stands.

    :param variables: environment of the container; None for a variable whose value is not in the manifest.
    :param arguments: words that the script is given, which ``"$@"`` stands for; None where nobody can tell.
    """
    return ShellReader(script, variables, arguments=arguments).commands
