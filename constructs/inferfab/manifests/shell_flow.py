"""When the commands of a script run: one after the other, beside each other, or one instead of the other."""

from collections.abc import Iterable
from dataclasses import dataclass

from inferfab.manifests.shell_words import ShellWord

_ENDS = {"exit", "return", "exec", "wait", "kill", "pkill", "killall", "break"}
"""Behind these, what an earlier line put into the background is over, or nothing is reached."""
_CLOSES = {"fi": ("if",), "done": ("for", "while", "until", "select"), "esac": ("case",), ")": ("(",), "}": ("{",)}
_LOOPS = ("for", "while", "until", "select")


class ShellCommand(list[ShellWord]):
    """The words of a simple command, its own environment, and when it runs."""

    def __init__(self, words: Iterable[ShellWord], number: int = 0, branch: dict[int, int] | None = None) -> None:
        super().__init__(words)
        self.number = number
        self.branch = branch or {}
        """Arm of each compound command around it."""
        self.environment: dict[str, ShellWord] = {}
        """Variables that the script gives it."""
        self.background = False
        self.over: int | None = None
        """Number of the command at which it has ended."""
        self.looped = False
        self.function = 0

    def beside(self, later: "ShellCommand") -> bool:
        """Both may run at once. What a function holds runs when somebody calls it, which is not followed."""
        if not self.background or self.function != later.function:
            return False
        if self.over is not None and self.over <= later.number:
            return False
        return not instead(self.branch, later.branch)


def instead(one: dict[int, int], other: dict[int, int]) -> bool:
    """Two arms of one `if` or `case`."""
    return any(other.get(compound, arm) != arm for compound, arm in one.items())


@dataclass
class _Frame:
    """A compound command that is open."""

    opener: str
    number: int
    list_start: int
    arm_start: int
    arm: int = 0
    function: int = 0


class Flow:
    """Follows keywords and operators, and gives each command its place among the others."""

    def __init__(self) -> None:
        self.commands: list[ShellCommand] = []
        self.frames = [_Frame("", 0, 0, 0)]
        self.count = 0
        self.joined = False
        """The last operator was `&&` or `||`: what follows may not run."""

    @property
    def branch(self) -> dict[int, int]:
        return {f.number: f.arm for f in self.frames if f.opener in ("if", "case")}

    def open(self, opener: str, *, function: bool = False) -> None:
        self.count += 1
        here, last = len(self.commands), self.frames[-1]
        self.frames.append(_Frame(opener, self.count, here, here, 0, self.count if function else last.function))

    def close(self, closer: str) -> None:
        if len(self.frames) > 1 and self.frames[-1].opener in _CLOSES.get(closer, ()):
            self.frames.pop()

    def next_arm(self, opener: str) -> None:
        """`else`, `elif`, `;;`."""
        frame = self.frames[-1]
        if frame.opener == opener:
            frame.arm += 1
            frame.list_start = frame.arm_start = len(self.commands)

    def operator(self, text: str, *, function: bool) -> None:
        frame = self.frames[-1]
        self.joined = text in ("&&", "||")
        if text == "&":
            for command in self.commands[frame.list_start :]:
                command.background = True
        if text in (";", "\n", "&"):
            frame.list_start = len(self.commands)
        elif text == ";;":
            self.next_arm("case")
        elif text in ("(", "{"):
            self.open(text, function=function)
        elif text in (")", "}"):
            self.close(text)

    def add(self, words: Iterable[ShellWord]) -> ShellCommand:
        command = ShellCommand(words, len(self.commands), self.branch)
        command.looped = any(f.opener in _LOOPS for f in self.frames)
        command.function = self.frames[-1].function
        first = command[0].text if command else ""
        if first in _ENDS and not self.joined and (first != "exec" or len(command) > 1):
            for earlier in self.commands[self.frames[-1].arm_start :]:
                earlier.over = command.number if earlier.over is None else earlier.over
        self.commands.append(command)
        return command
