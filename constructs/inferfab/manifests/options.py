"""A command line's words as options, by a flag list."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inferfab.catalog.engines import Flag
from inferfab.manifests.nodes import Ref
from inferfab.manifests.words import Word


@dataclass(frozen=True)
class Option:
    """One flag as it was given."""

    flag: str
    """Its long name: ``-tp`` is ``--tensor-parallel-size``."""
    value: str | None
    """None for a switch, and where the value is missing."""
    spelled: str
    """As the command line has it."""
    ref: Ref
    value_ref: Ref
    declared: Flag | None
    """None where the list has no such flag."""
    known: bool = True
    """False where the value is only known when the container runs."""
    joined: bool = False
    """Written ``--flag=value``."""
    negative: bool = False
    """``--no-flag``."""


@dataclass(frozen=True)
class Options:
    """A parsed command line."""

    given: tuple[Option, ...]
    positional: tuple[Word, ...]
    hidden: bool
    """Words that are not known may be flags."""

    def last(self, flag: str) -> Option | None:
        """What holds of a flag that is given: the last."""
        return next((o for o in reversed(self.given) if o.flag == flag), None)


_FLAG = re.compile(r"--?[A-Za-z]")
_NUMBER = re.compile(r"-[0-9.]")


def parse_options(words: Sequence[Word], flags: Mapping[str, Flag]) -> Options:
    """Options in order. As vLLM's parser: underscores are dashes, ``--a.b 1`` sets a key of ``--a``'s JSON."""
    given: list[Option] = []
    positional: list[Word] = []
    hidden = False
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not _FLAG.match(word.text):
            # `$EXTRA_ARGS` may be any number of flags.
            hidden |= not word.known and word.text.startswith(("$", "`", "{{"))
            positional.append(word)
            continue
        name, joined, value = word.text.partition("=")
        long, declared, negative = _declared(name, flags)
        takes = _takes(declared, negative=negative)
        text: str | None = value if joined else None
        value_ref, known = word.ref, word.known
        if not joined and (takes != 0 or declared is None) and position < len(words):
            following = words[position]
            most = 1 if takes in (1, -1) else 10_000
            taken: list[Word] = []
            while position < len(words) and len(taken) < most and not _is_flag(words[position]):
                taken.append(words[position])
                position += 1
            if taken:
                text = " ".join(w.text for w in taken)
                value_ref, known = following.ref, all(w.known for w in taken)
        given.append(Option(long, text, name, word.ref, value_ref, declared, known, bool(joined), negative))
    return Options(tuple(given), tuple(positional), hidden)


def _is_flag(word: Word) -> bool:
    return bool(_FLAG.match(word.text)) and not _NUMBER.match(word.text)


def _declared(name: str, flags: Mapping[str, Flag]) -> tuple[str, Flag | None, bool]:
    """(long name, declaration, negated) of a flag as it is spelled."""
    spelled = f"--{name[2:].replace('_', '-')}" if name.startswith("--") else name
    base, dot, _ = spelled.partition(".")
    for candidate, negative in ((spelled, False), (base, False), (f"--{spelled.removeprefix('--no-')}", True)):
        declared = flags.get(candidate)
        if declared is None or (negative and not (spelled.startswith("--no-") and declared.negatable)):
            continue
        if dot and candidate == base and not (declared.takes_json or "Config" in declared.type):
            continue
        long = next((f for f in declared.flags if f.startswith("--")), candidate)
        return (spelled if dot and candidate == base else long), declared, negative
    if spelled.startswith("--") and len(spelled) > 4:
        # argparse takes any unambiguous beginning.
        begin = {id(f): f for s, f in flags.items() if s.startswith(spelled)}
        if len(begin) == 1:
            declared = next(iter(begin.values()))
            return next((f for f in declared.flags if f.startswith("--")), spelled), declared, False
    if re.fullmatch(r"-O[0-9]?|-O\.\S+|-cc\.\S+", spelled):  # vLLM's own short forms of its compilation settings
        return spelled, flags.get("--optimization-level") or flags.get("--compilation-config"), False
    return spelled, None, False


def _takes(declared: Flag | None, *, negative: bool) -> int:
    """Values that a flag takes: none, one, or -2 for any number."""
    if declared is None:
        return -1
    if negative or declared.action in ("store_true", "store_false") or declared.type == "bool":
        return 0
    many = declared.nargs in ("*", "+") or declared.type.startswith(("list", "set", "str|list"))
    return -2 if many else 1


def near(name: str, flags: Mapping[str, Flag]) -> str | None:
    """The flag that a misspelled one was surely meant to be."""
    long = [f for f in flags if f.startswith("--")]
    found = difflib.get_close_matches(name, long, n=1, cutoff=0.86)
    return found[0] if found else None
