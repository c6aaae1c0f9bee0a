"""The shell reader against a real shell, and against the shapes that manifests have."""

import shlex
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inferfab.manifests.shell import shell_commands

SHELL = shutil.which("sh")
PIECES = st.one_of(
    st.text(alphabet="abz019._/:=-+@%", min_size=1, max_size=6),
    st.text(alphabet=" ab\"'\\$#;&|(){}*?~\n", max_size=6).map(shlex.quote),
    st.sampled_from(
        ("$ONE", "${TWO}", '"$TWO"', '"${ONE}x"', "${NONE:-dflt}", '"a b"', "\\ ", '"\\""', "'$ONE'", "a\\\nb")
    ),
)


def words(script: str, variables: dict[str, str | None]) -> list[list[str]]:
    return [[w.text for w in command] for command in shell_commands(script, variables)]


@pytest.mark.skipif(SHELL is None, reason="no POSIX shell on this machine")
@given(st.lists(st.lists(PIECES, min_size=1, max_size=3).map("".join), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_words_are_the_shells(items: list[str]) -> None:
    """Quotes, escapes, variables and field splitting come out as `sh` has them."""
    variables = {"ONE": "1", "TWO": "two  words"}
    line = "printf '%s\\0' x " + " ".join(items)
    done = subprocess.run(
        [str(SHELL), "-f", "-c", line], env={**variables, "HOME": "~"}, capture_output=True, check=False, timeout=20
    )
    if done.returncode or done.stderr or any(item.startswith("~") for item in items):
        return  # not a sentence of the language
    expected = done.stdout.decode().split("\0")[:-1]
    command = shell_commands(line, dict(variables))[0]
    if not all(word.known for word in command):
        return  # `$ONE0` is another variable, of which nothing is known
    assert [word.text for word in command][2:] == expected, line


CASES = [
    ("exec vllm serve m --a 1 \\\n  --b 2  # last\n", [["exec", "vllm", "serve", "m", "--a", "1", "--b", "2"]]),
    ("set -e; cd /x && vllm serve m || exit 1", [["set", "-e"], ["cd", "/x"], ["vllm", "serve", "m"], ["exit", "1"]]),
    ("A=1 B='2 3' vllm $A \"$B\" $B", [["vllm", "1", "2 3", "2", "3"]]),
    ("export TP=4\nvllm -tp $TP", [["vllm", "-tp", "4"]]),
    ("X=(--a 1)\nX+=(--b '2 3')\nvllm \"${X[@]}\"", [["vllm", "--a", "1", "--b", "2 3"]]),
    ("cat <<EOF\nvllm serve not-me\nEOF\nvllm serve me", [["cat"], ["vllm", "serve", "me"]]),
    ("vllm serve m > /log 2>&1 &\nwait", [["vllm", "serve", "m"], ["wait"]]),
    ('vllm \'{"a": {"b": 1}}\'', [["vllm", '{"a": {"b": 1}}']]),
    ("for i in 1 2; do vllm $i; done", [["vllm", "$i"]]),
    ('CMD="vllm serve m --a 1"\n$CMD', [["vllm", "serve", "m", "--a", "1"]]),
    ("CMD='vllm serve m'\neval \"$CMD --b '2 3' &\"", [["vllm", "serve", "m", "--b", "2 3"]]),
    (
        'set -- m --a 1\nset -- "$@" \'2 3\'\nvllm serve "$@"',
        [
            ["set", "--", "m", "--a", "1"],
            ["set", "--", "m", "--a", "1", "2 3"],
            ["vllm", "serve", "m", "--a", "1", "2 3"],
        ],
    ),
    ("(cd /x; vllm serve m)", [["cd", "/x"], ["vllm", "serve", "m"]]),
]


@pytest.mark.parametrize(("script", "expected"), CASES)
def test_shapes(script: str, expected: list[list[str]]) -> None:
    """What scripts in manifests are made of."""
    assert words(script, {}) == expected


def test_unknown_is_said() -> None:
    """A variable without a value, a command's output, and one that a branch sets are not guessed."""
    script = 'T=1\nif [ -n "$Q" ]; then T=2; fi\nvllm $T $(nproc) ${GONE} `x` fine'
    command = shell_commands(script, {"Q": None})[-1]
    assert [(w.text, w.known) for w in command] == [
        ("vllm", True), ("$T", False), ("$(nproc)", False), ("${GONE}", False), ("`x`", False), ("fine", True),
    ]  # fmt: skip


@given(st.text(max_size=80) | st.text(alphabet="\"'\\$`(){}[]<>|&;#=\n ab+", max_size=60))
@settings(max_examples=300, deadline=2000, derandomize=True, database=None)
def test_any_text_ends(script: str) -> None:
    """Whatever stands in a script: no exception, no endless loop, places inside of it."""
    for command in shell_commands(script, {}):
        for word in command:
            assert 0 <= word.offset <= len(script)
