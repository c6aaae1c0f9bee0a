"""From ``command``, ``args`` and ``env`` to the words that a process is started with."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inferfab.manifests.nodes import Node, Ref
from inferfab.manifests.pods import Container, EnvVar
from inferfab.manifests.scalars import ref_in
from inferfab.manifests.shell import shell_commands
from inferfab.manifests.shell_flow import ShellCommand
from inferfab.manifests.shell_words import ShellWord

_SHELLS = ("sh", "bash", "dash", "ash", "zsh")
_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][-A-Za-z0-9_.]*)\)")


@dataclass(frozen=True)
class Word:
    """One word of a command line."""

    text: str
    ref: Ref
    known: bool = True
    """False where a part of it is not in the manifest: a variable of a ConfigMap, the output of a command."""


@dataclass(frozen=True)
class CommandLine:
    """The words of one command."""

    words: tuple[Word, ...]
    env: Mapping[str, EnvVar]
    """Variables of the container, and over them those that its script gives."""
    step: ShellCommand | None = None
    """Its place in a script; None where no shell runs."""
    broken: tuple[Word, ...] = ()
    """Where its continuation lines break off: a blank behind a backslash, or a flag that begins a command."""


def command_lines(container: Container) -> Iterator[CommandLine]:
    """Every command that the container starts, in order; the words of a shell's script one command each."""
    last: CommandLine | None = None
    for line in _lines(container):
        if last is None or line.step is None:
            last = _without_blank(line)
        elif line.words and re.match(r"--?[A-Za-z]", line.words[0].text):
            # Nothing is called like a flag: these words were meant for the line before.
            line = _without_blank(line)  # noqa: PLW2901
            breaks = last.broken[-1:] and not last.broken[-1].text.strip()
            broken = (*last.broken, *(() if breaks else line.words[:1]), *line.broken)
            last = CommandLine((*last.words, *line.words), last.env, last.step, broken)
        else:
            yield last
            last = _without_blank(line)
    if last is not None:
        yield last


def _without_blank(line: CommandLine) -> CommandLine:
    if line.step is None or not line.words or line.words[-1].text.strip(" \t") or not line.words[-1].text:
        return line
    return CommandLine(line.words[:-1], line.env, line.step, line.words[-1:])


def _lines(container: Container) -> Iterator[CommandLine]:
    words = [w for node in (container.command, container.args) for w in _listed(node, container.env)]
    script = _script_position(words)
    if script is None:
        if words:
            yield CommandLine(tuple(word for word, _ in words), container.env)
        return
    node = words[script][1]
    # $(NAME) is filled in by Kubernetes before any shell runs.
    variables = {name: _value(v) for name, v in container.env.items()}
    script_text = _filled(node.text or "", container.env)[0]
    # The first word behind the script is its `$0`.
    arguments = [ShellWord(w.text, 0, "", w.known) for w, _ in words[script + 2 :]]
    for command in shell_commands(script_text, variables, arguments):
        own = {
            name: EnvVar(name, w.text if w.known else None, None, ref_in(node, w.offset, w.raw))
            for name, w in command.environment.items()
        }
        yield CommandLine(tuple(_placed(w, node) for w in command), {**container.env, **own}, command)


def _value(variable: EnvVar) -> str | None:
    return variable.value if variable.value is None or "$(" not in variable.value else None


def _placed(word: ShellWord, node: Node) -> Word:
    return Word(word.text, ref_in(node, word.offset, word.raw), word.known and "{{" not in word.text)


def _listed(node: Node, env: Mapping[str, EnvVar]) -> Iterator[tuple[Word, Node]]:
    """Entries of a list; a single text where a list belongs is taken as one entry (admission would refuse it)."""
    entries = node.items() if isinstance(node.value, list) else iter((node,) if node.exists else ())
    for item in entries:
        text = item.text
        if text is not None:
            filled, known = _filled(text, env)
            yield Word(filled, item.ref, known and "{{" not in text), item


def _filled(text: str, env: Mapping[str, EnvVar]) -> tuple[str, bool]:
    """``$(NAME)`` replaced as the kubelet does it; what is not defined stays as it stands.

    Source: kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container.
    """
    known = True

    def fill(match: re.Match[str]) -> str:
        nonlocal known
        if match[0] == "$$":
            return "$"
        variable = env.get(match[1])
        if variable is None or variable.value is None:
            known = False
            return match[0]
        return variable.value

    return _REFERENCE.sub(fill, text), known


def _script_position(words: list[tuple[Word, Node]]) -> int | None:
    """Of the word that is a shell's script; None where no shell is started."""
    for position, (word, _) in enumerate(words):
        if word.text.rsplit("/", 1)[-1] in _SHELLS:
            for after in range(position + 1, len(words)):
                option = words[after][0].text
                if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", option):
                    return after + 1 if after + 1 < len(words) else None
                if not option.startswith(("-", "+")) and words[after - 1][0].text not in ("-o", "+o"):
                    return None
            return None
        if word.text.startswith("-"):
            return None
    return None
