"""Scripts that start engines: which run beside each other, in which environment, and where a line breaks off."""

import pytest

from inferfab.checks.manifests import check_manifests
from inferfab.manifests.read import manifests_from_text

POD = """apiVersion: v1
kind: Pod
metadata: {name: one}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.33.0
      env: [{name: UCX_TLS, value: tcp}]
      command: [bash, -c]
      args:
        - |
SCRIPT
"""
A = "vllm serve m --port 8000"


def pod(script: str) -> str:
    return POD.replace("SCRIPT", "\n".join(f"          {line}" for line in script.split("\n")))


def said(script: str, rule: str) -> list[str]:
    return [f.what for f in check_manifests(manifests_from_text(pod(script))).findings if f.rule == rule]


ALTERNATIVES = [
    f"if [ $X ]; then exec {A}; else exec {A} --headless; fi",
    f"if [ $X ]; then {A} & else {A} & fi\nwait",
    f"case $X in\n  0) {A} & ;;\n  1) {A} & ;;\nesac\nwait",
    f"{A} || {A}",
    f"{A}\n{A}",
    f"exec {A}\n{A}",
    f"if [ $X ]; then\n  {A} &\n  wait\n  exit\nfi\n{A}",
    f"{A} &\nP=$!\nkill $P\n{A}",
    f"one() {{\n  {A} &\n}}\ntwo() {{\n  {A} &\n}}\n$X",
    f"{A} --headless & {A}",
]
TOGETHER = [
    f"{A} &\n{A}",
    f"{A} & {A} & wait",
    f"( cd /x; {A} ) &\n{A}",
    f"{{ {A}; }} &\nsleep 5\n{A}",
    f"if [ $X ]; then sleep 1; fi\n{A} &\nif [ $Y ]; then {A}; fi",
    f"cd /x && {A} &\n{A}",
    f"{A} &\ncurl x || exit 1\n{A}",
]


@pytest.mark.parametrize("script", ALTERNATIVES)
def test_one_instead_of_the_other(script: str) -> None:
    """By POSIX, only `&` makes two commands of one script run at once, and only one arm of `if` or `case` runs."""
    assert said(script, "IF-POD-004") == []


@pytest.mark.parametrize("script", TOGETHER)
def test_one_beside_the_other(script: str) -> None:
    """What `&` puts into the background is still there when the next one starts."""
    assert said(script, "IF-POD-004") == ["HTTP of vllm of `one` takes port 8000, and HTTP of vllm 8000"]


def value_of(script: str, name: str) -> str | None:
    (workload,) = manifests_from_text(pod(script)).workloads
    variable = workload.processes[-1].env(name)
    return None if variable is None else variable.value


@pytest.mark.parametrize(
    ("script", "value"),
    [
        (A, "tcp"),
        (f"export UCX_TLS=rc\n{A}", "rc"),
        (f"UCX_TLS=rc {A}", "rc"),
        (f"env UCX_TLS=rc {A}", "rc"),
        (f"UCX_TLS=rc\n{A}", "rc"),
        (f"X=rc; export UCX_TLS=$X,sm\n{A}", "rc,sm"),
        (f"UCX_TLS=rc sleep 1\n{A}", "tcp"),
        (f"if [ $X ]; then export UCX_TLS=rc; {A}; fi", "rc"),
        (f"if [ $X ]; then export UCX_TLS=rc; else {A}; fi", "tcp"),
        (f"if [ $X ]; then export UCX_TLS=rc; fi\n{A}", None),
        (f"export UCX_TLS=$(cat /x)\n{A}", None),
    ],
)
def test_the_environment_of_a_script(script: str, value: str | None) -> None:
    """As a shell passes it on; None where an arm or a command decides."""
    assert value_of(script, "UCX_TLS") == value


def test_a_shell_s_own_variable_is_none_of_the_engine_s() -> None:
    """Without `export` a variable that was not in the environment stays in the shell."""
    assert value_of(f"OTHER=1\n{A}", "OTHER") is None


@pytest.mark.parametrize("end", ["", " \\ "])
def test_what_follows_a_break_is_still_judged(end: str) -> None:
    """One finding about the break, at its place; the flags behind it count as if it were mended."""
    script = f"vllm serve m{end}\n  --port 8000 \\\n  --max-modle-len 1"
    whats = said(script, "IF-ENG-001")
    assert len(whats) == 2
    assert whats[0].startswith("a blank behind" if end else "`--port` begins a command of its own")
    assert whats[1] == "vLLM 0.33.0 has no flag `--max-modle-len`"


@pytest.mark.parametrize(
    ("script", "flags"),
    [
        ('exec vllm serve m "$@"', ["--port"]),
        ('shift\nexec vllm serve m "$@"', []),
        ('if [ $X ]; then shift; fi\nexec vllm serve m "$@"', None),
        ('run() {\n  vllm serve "$@"\n}\nrun m', None),
    ],
)
def test_words_that_a_script_forwards(script: str, flags: list[str] | None) -> None:
    """`"$@"` is what stands behind the script, but for its first word, which is `$0` (POSIX sh, -c)."""
    text = pod(script) + "        - name\n        - --port=8000\n"
    (process,) = manifests_from_text(text).workloads[0].processes
    assert (None if process.options.hidden else [o.flag for o in process.options.given]) == flags
