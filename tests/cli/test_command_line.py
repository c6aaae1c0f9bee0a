"""The command line as a shell sees it: exit codes, streams, odd terminals, hostile files."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import inferfab
from inferfab.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
CONSTRUCTS = str(Path(inferfab.__file__).resolve().parents[1])
COMMANDS = ("init", "check", "plan", "diff", "bootstrap", "synth", "explain", "schema", "catalog")
BROKEN = "name: Dev\nowner: x\n"
ENV = {
    **{k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")},
    "PYTHONPATH": CONSTRUCTS,
}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the shipped environments and a broken one."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "INFERFAB_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    Path("environments").mkdir()
    for file in (ROOT / "environments").glob("*.yaml"):
        Path("environments", file.name).write_bytes(file.read_bytes())
    Path("environments/broken.yaml").write_text(BROKEN, encoding="utf-8")
    return tmp_path


class Ran:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        assert "Traceback" not in out + err, err


@pytest.fixture(name="run")
def checked_run(run: Callable[..., tuple[int, str, str]]) -> Callable[..., Ran]:
    return lambda *argv: Ran(*run(*argv))


def starts(commands: Sequence[Sequence[str]], **more: str) -> list[Ran]:
    """The same through the interpreter, all at once."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "inferfab.cli", *argv],
            env={**ENV, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for argv in commands
    ]
    ran = []
    for process in started:
        out, err = process.communicate(timeout=60)
        ran.append(Ran(process.returncode, out.decode(errors="replace"), err.decode(errors="replace")))
    return ran


def shell(script: str, **more: str) -> Ran:
    python = f'"{sys.executable}" -m inferfab.cli'
    done = subprocess.run(
        ["bash", "-c", script.replace("inferfab", python)],
        env={**ENV, **more},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_exit_codes_as_a_process() -> None:
    """0 fine, 1 an error in a file, 2 wrong usage; findings of check on stdout, of plan on stderr."""
    fine, version, errors, missing, usage, no_plan = starts(
        [["check", "dev"], ["--version"], ["check", "broken"], ["check", "prd"], ["check"], ["plan", "broken"]]
    )
    assert [r.code for r in (fine, version, errors, missing, usage, no_plan)] == [0, 0, 1, 1, 2, 1]
    assert fine.out == "environments/dev.yaml: no findings\n" and fine.err == ""
    assert re.fullmatch(r"inferfab \d+\.\d+\.\d+\S*\n", version.out)
    assert "IF-ENV-013" in errors.out and errors.err == ""
    assert "did you mean environments/prod.yaml?" in missing.out
    assert "Missing argument 'ENV'" in usage.err and usage.out == ""
    assert "IF-ENV-013" in no_plan.err and no_plan.out == ""


def test_check_json(run) -> None:  # type: ignore[no-untyped-def]
    """JSON for machines: file, verdict, and each finding with its place, whole even when there are errors."""
    fine, broken = run("check", "dev", "--format", "json"), run("check", "broken", "-f", "json")
    assert json.loads(fine.out) == {"file": "environments/dev.yaml", "ok": True, "findings": [], "switched_off": []}
    body = json.loads(broken.out)
    assert (fine.code, broken.code, body["ok"]) == (0, 1, False)
    first = next(f for f in body["findings"] if f["rule"] == "IF-ENV-013")
    assert first["location"] == {"file": "environments/broken.yaml", "line": 1, "column": 7}
    assert first["dotted_path"] == "name" and first["what"] and first["why"] and first["fix"]


def test_check_quiet_and_out(run) -> None:  # type: ignore[no-untyped-def]
    """--quiet drops remarks and keeps warnings; --out writes the file, says so on stderr and keeps the exit code."""
    loud, quiet = run("check", "prod"), run("check", "prod", "--quiet")
    assert "  info  " in loud.out and "  info  " not in quiet.out and "  warning  " in quiet.out
    written = run("check", "broken", "--out", "new/findings.txt")
    assert (written.code, written.out, written.err) == (1, "", "wrote new/findings.txt\n")
    assert "IF-ENV-013" in Path("new/findings.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("format_", ["json", "table"])
def test_no_plan_of_a_broken_file_is_written(run, format_: str) -> None:  # type: ignore[no-untyped-def]
    """A file with an error gives no plan, no empty file and no folder, and leaves an old plan alone."""
    ran = run("plan", "broken", "--format", format_, "--out", "new/plan")
    assert ran.code == 1 and ran.out == "" and not Path("new").exists()
    assert "there is no plan until the errors are mended" in ran.err and "IF-ENV-013" in ran.err
    Path("old").write_text("old", encoding="utf-8")
    assert run("plan", "broken", "--format", format_, "--out", "old").code == 1
    assert Path("old").read_text(encoding="utf-8") == "old"


def test_plan_json_reads_back(run) -> None:  # type: ignore[no-untyped-def]
    """plan --format json prints what --out writes, and it is a plan that diff finds equal to the environment."""
    printed = run("plan", "dev", "-f", "json")
    assert run("plan", "dev", "-f", "json", "-o", "dev.plan.json").err == "wrote dev.plan.json\n"
    assert Path("dev.plan.json").read_text(encoding="utf-8") == printed.out
    for pair in (
        ("dev.plan.json", "dev"),
        ("dev", "dev.plan.json"),
        ("dev.plan.json", "dev.plan.json"),
        ("dev", "dev"),
    ):
        same = run("diff", *pair)
        assert (same.code, same.out) == (0, "dev (before) and dev (after) plan the same fleet.\n")


def test_plan_counts_warnings_on_stderr(run) -> None:  # type: ignore[no-untyped-def]
    """Warnings do not stand in the plan's own output."""
    ran = run("plan", "prod", "-f", "json")
    assert ran.code == 0 and "1 warning" in ran.err
    json.loads(ran.out)


def test_diff_text_and_json(run) -> None:  # type: ignore[no-untyped-def]
    """Two different environments: a table for people, one JSON object for machines."""
    assert "GPUs" in run("diff", "dev", "staging").out
    body = json.loads(run("diff", "dev", "staging", "--format", "json").out)
    assert (body["before"], body["after"]) == ("dev", "staging")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"\x80abc", "not JSON"),
        (b"[]", "not a FleetPlan"),
        (b"{}", "not a FleetPlan"),
        (b"42", "not a FleetPlan"),
        (b'{"plan_version": true}', "not a FleetPlan"),
        (b'{"plan_version": "1"}', "not a FleetPlan"),
        (b'{"plan_version": 99}', "plan_version 99 is newer than 1"),
        (b'{"plan_version": 0}', "plan_version 0 never existed"),
        (b'{"plan_version": 1}', "broken at"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_diff_refuses_what_is_no_plan(run, content: bytes, message: str) -> None:  # type: ignore[no-untyped-def]
    """Garbage, other JSON and newer plans are one line on stderr and exit 1, as first and as second argument."""
    Path("x.json").write_bytes(content)
    for pair in (("x.json", "dev"), ("dev", "x.json")):
        ran = run("diff", *pair)
        assert ran.code == 1 and ran.out == ""
        assert ran.err.startswith("inferfab: x.json: ") and message in ran.err and ran.err.count("\n") == 1


def test_diff_of_a_missing_or_broken_side(run) -> None:  # type: ignore[no-untyped-def]
    """A missing JSON, a folder, and an environment with errors end in exit 1."""
    Path("d.json").mkdir()
    assert "No such file" in run("diff", "nope.json", "dev").err
    assert "s a directory" in run("diff", "dev", "d.json").err
    broken = run("diff", "dev", "broken")
    assert broken.code == 1 and "IF-ENV-013" in broken.err and broken.out == ""


def test_explain(run) -> None:  # type: ignore[no-untyped-def]
    """All rules, one rule in any case, JSON of both; an unknown id is wrong usage with the nearest one."""
    assert "IF-MEM-002" in run("explain").out
    assert run("explain", "if-mem-002").out == run("explain", "IF-MEM-002").out
    [one] = json.loads(run("explain", "IF-MEM-002", "-f", "json").out)
    assert one["id"] == "IF-MEM-002" and all(one[key] for key in ("title", "why", "do", "source"))
    assert len(json.loads(run("explain", "-f", "json").out)) > 30
    for unknown in ("IF-MEM-02", "", "[/]", "[link=http://x]y", "\x1b[31m"):
        ran = run("explain", unknown)
        assert ran.code == 2 and ran.out == "" and "\x1b[31m" not in ran.err
    assert "did you mean" in run("explain", "IF-MEM-02").err


def test_every_rule_in_findings_is_explained(run) -> None:  # type: ignore[no-untyped-def]
    """A rule id that check prints is one that explain knows."""
    for name in ("broken", "prod", "nowhere"):
        for finding in json.loads(run("check", name, "-f", "json").out)["findings"]:
            assert run("explain", finding["rule"]).code == 0


@pytest.mark.parametrize("kind", ["models", "gpus", "aws", "gcp"])
def test_catalog(run, kind: str) -> None:  # type: ignore[no-untyped-def]
    """Each kind lists every id, as table and as JSON."""
    listed = json.loads(run("catalog", kind, "--format", "json").out)
    table = run("catalog", kind).out
    assert listed and all(name in table for name in listed)


@pytest.mark.parametrize(
    "argv",
    [
        ("catalog",),
        ("catalog", "tpus"),
        ("catalog", "gpus", "x"),
        ("nope",),
        ("chek", "dev"),
        ("check", "dev", "--format", "xml"),
        ("plan",),
        ("plan", "dev", "--out"),
        ("diff", "dev"),
        ("diff",),
        ("init",),
        ("init", "x", "--cloud", "azure"),
        ("--nope",),
        ("schema", "x"),
        (),
    ],
)
def test_wrong_usage(run, argv: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    """Unknown commands, options and choices and missing arguments exit with 2 and write nothing."""
    assert run(*argv).code == 2
    assert sorted(p.name for p in Path().iterdir()) == ["environments"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(run, command: str) -> None:  # type: ignore[no-untyped-def]
    """Each command's help has a whole example line, and -h is --help."""
    ran = run(command, "--help")
    assert ran.code == 0 and re.search(rf"Examples?: inferfab {command}", ran.out)
    assert run(command, "-h").out == ran.out


def test_every_example_in_the_help_runs(run) -> None:  # type: ignore[no-untyped-def]
    """What the help shows works as it stands (pictures are tested where they are drawn)."""
    for line in (
        "init dev --force",
        "check dev",
        "check prod",
        "check prod --format sarif --out findings.sarif",
        "plan prod",
        "plan prod --format json --out prod.plan.json",
        "diff staging prod",
        "diff prod.plan.json prod",
        "explain IF-MEM-002",
        "explain",
        "schema --out environments/environment.schema.json",
        "catalog models",
        "catalog aws",
    ):
        assert run(*line.split()).code == 0, line


def test_the_schema_is_printed_and_written(run) -> None:  # type: ignore[no-untyped-def]
    """schema prints what --out writes."""
    printed = run("schema").out
    assert run("schema", "--out", "s.json").code == 0
    assert Path("s.json").read_text(encoding="utf-8") == printed


def test_readers_that_stop_early() -> None:
    """`| head -1`, `| true`: no traceback, nothing on stderr, and check's own exit code stays."""
    ran = shell(
        "set -o pipefail;"
        "inferfab plan dev -f json | head -1; echo $?;"
        "inferfab schema | true; echo $?;"
        "inferfab check broken | true; echo $?"
    )
    assert ran.err == "" and ran.out.splitlines() == ["{", "0", "0", "1"]


def test_a_closed_or_full_stdout() -> None:
    """Without stdout the exit code still tells; a full disk is one message that says so."""
    closed = shell("inferfab check dev >&-; echo $?; inferfab check broken >&-; echo $?")
    assert (closed.out.split(), closed.err) == (["0", "1"], "")
    assert shell("inferfab check broken 2>&- >&-; echo $?").out.split() == ["1"]
    full = shell("inferfab schema > /dev/full; echo $?")
    assert full.out == "1\n" and full.err == "inferfab: cannot write the output: No space left on device\n"


@pytest.mark.slow
def test_a_locale_without_unicode() -> None:
    """In an ASCII terminal characters become `?`; nothing crashes, and files stay UTF-8."""
    commands = [
        ["plan", "dev"],
        ["explain"],
        ["catalog", "models"],
        ["plan", "dev", "-h"],
        ["plan", "dev", "-o", "p.txt"],
    ]
    for ran in starts(commands, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"):
        assert ran.code == 0 and ran.out.isascii() and ran.err.isascii()
    assert "·" in Path("p.txt").read_text(encoding="utf-8")


def test_narrow_and_odd_widths(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """COLUMNS is kept; nonsense in it is ignored."""
    for columns in ("60", "72"):
        monkeypatch.setenv("COLUMNS", columns)
        for argv in (("plan", "dev"), ("explain",), ("catalog", "gpus"), ("diff", "dev", "staging")):
            assert max(map(len, run(*argv).out.splitlines())) <= int(columns), argv
    for columns in ("0", "-5", "abc", "", "1"):
        monkeypatch.setenv("COLUMNS", columns)
        assert run("plan", "dev").code == 0


def test_tables_run_over_the_edge_of_a_narrow_terminal(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """Below 60 columns tables are as wide as on 100: words broken letter by letter cannot be read."""
    monkeypatch.setenv("COLUMNS", "100")
    wide = run("plan", "dev").out
    monkeypatch.setenv("COLUMNS", "40")
    assert run("plan", "dev").out == wide


def test_ascii_terminals_get_ascii_lines(run) -> None:  # type: ignore[no-untyped-def]
    """Lines and signs of ours have ASCII forms; a file is UTF-8 whatever the terminal."""
    out = starts([["plan", "dev"]], PYTHONIOENCODING="ascii:strict", PYTHONUTF8="0", LC_ALL="C")[0].out
    assert "---" in out and "1 x TP1" in out and "?" not in out
    assert out.isascii()


def test_capacity_that_every_cell_states_is_no_default(run) -> None:  # type: ignore[no-untyped-def]
    """prod buys chat pools from reservations in each cell; only `documents` falls back to on demand."""
    hint = next(line for line in run("plan", "prod").out.split("\n\n") if "Defaults:" in line)
    assert "capacity = on_demand (pools.documents.capacity)" in " ".join(hint.split())


def test_a_saved_plan_is_named_as_one(run) -> None:  # type: ignore[no-untyped-def]
    """`plan` and `check` of a plan JSON say which command reads it."""
    run("plan", "dev", "-f", "json", "-o", "p.json")
    assert "inferfab diff" in run("plan", "p.json").err
    ran = run("check", "p.json")
    assert ran.code == 1 and ran.out.count("IF-ENV") == 1


HOSTILE = "\x1b]0;pwned\x07\x1b[31m\x9b31m[bold]x[/][/nope][link=http://e.com]l[/link]\u202e\\"


def hostile_files() -> None:
    """A sound environment whose texts are hostile, and the same with errors that quote them."""
    # On AWS the owner becomes a tag, and a tag takes no such text.
    google = Path("environments/prod-gcp.yaml").read_text(encoding="utf-8")
    quoted = json.dumps(HOSTILE)
    price = (
        f"{{cloud: gcp, instance: a3-ultragpu-8g, kind: spot, usd_per_hour: 2, source: {quoted}, as_of: '2026-11-01'}}"
    )
    sound = google.replace("owner: ml-platform", f"owner: {quoted}")
    sound += f"prices: {{overlay: [{price}]}}\n"
    Path("environments/sound.yaml").write_text(sound, encoding="utf-8")
    broken = sound.replace("region: us-central1", f"region: {quoted}").replace("name: prod-gcp", f"name: {quoted}")
    broken += f"tags: {{{quoted}: {quoted}}}\n"
    Path("environments/hostile.yaml").write_text(broken + f"{quoted}: 1\n", encoding="utf-8")


COLOURS = re.compile("\x1b\\[[0-9;]*m")


def assert_tame(text: str, *, colours: bool = False) -> None:
    rest = COLOURS.sub("", text) if colours else text
    assert all(c in "\n\t" or ord(c) >= 32 for c in rest), ascii(rest)
    assert not re.search("[\x7f-\x9f]", rest)


def test_hostile_text_reaches_no_terminal(run) -> None:  # type: ignore[no-untyped-def]
    """Escape sequences and rich markup in an environment come out as visible text, in every command and format."""
    hostile_files()
    plan = run("plan", "sound")
    assert plan.code == 0, plan.err
    assert "[bold]x[/][/nope][link=http://e.com]l[/link]" in plan.out.replace("\n", "")
    for argv in (
        ("plan", "sound"),
        ("plan", "sound", "--defaults"),
        ("plan", "sound", "-f", "json"),
        ("check", "sound"),
        ("diff", "dev", "sound"),
        ("diff", "dev", "sound", "-f", "json"),
        ("check", "hostile"),
        ("check", "hostile", "-f", "json"),
        ("check", "hostile", "-f", "sarif"),
        ("plan", "hostile"),
        ("check", HOSTILE),
        ("check", HOSTILE + ".yaml"),
        ("diff", HOSTILE + ".json", "dev"),
        ("explain", HOSTILE),
    ):
        ran = run(*argv)
        assert_tame(ran.out)
        assert_tame(ran.err)
    assert json.loads(run("plan", "sound", "-f", "json").out)["ownership"]["owner"] == HOSTILE


def test_hostile_plan_json(run) -> None:  # type: ignore[no-untyped-def]
    """A plan JSON is no more trusted than an environment: names in it, and keys that do not belong."""
    plan = json.loads(run("plan", "dev", "-f", "json").out)
    plan["ownership"]["name"] = HOSTILE
    plan["cells"][0]["cluster"] = HOSTILE
    Path("named.json").write_text(json.dumps(plan), encoding="utf-8")
    plan["cells"][0]["name"] = HOSTILE
    Path("dangling.json").write_text(json.dumps(plan), encoding="utf-8")
    plan[HOSTILE] = 1
    Path("keyed.json").write_text(json.dumps(plan), encoding="utf-8")
    for file, code in (("named.json", 0), ("dangling.json", 1), ("keyed.json", 1)):
        ran = run("diff", file, "dev")
        assert ran.code == code, ran.err
        assert_tame(ran.out)
        assert_tame(ran.err)


def on_terminal(*argv: str, **more: str) -> str:
    """Output of a command whose stdout and stderr are a terminal."""
    leader, follower = pty.openpty()
    env = {**ENV, "TERM": "xterm-256color", **more}
    process = subprocess.Popen(
        [sys.executable, "-m", "inferfab.cli", *argv], stdin=follower, stdout=follower, stderr=follower, env=env
    )
    os.close(follower)
    out = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not piece:
            break
        out += piece
    os.close(leader)
    process.wait(timeout=60)
    return out.decode("utf-8", errors="replace").replace("\r\n", "\n")


def test_on_a_terminal_only_our_own_colours_appear() -> None:
    """On a terminal there are colours, and no other escape sequence; with NO_COLOR there are no colours."""
    hostile_files()
    for argv in (("check", "hostile"), ("plan", "sound"), ("plan", "hostile")):
        text = on_terminal(*argv)
        assert COLOURS.search(text) and "\x1b[31m" not in text, argv
        assert_tame(text, colours=True)
    for argv in (("check", "hostile"), ("plan", "sound")):
        styles = set(COLOURS.findall(on_terminal(*argv, NO_COLOR="1")))
        assert not any(re.search(r"[;\[](3[0-7]|9[0-7]|38)[;m]", s) for s in styles), styles


def test_a_fault_of_ours_is_an_apology(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """An unexpected exception is an apology in two lines, without traceback or control characters; debug shows it."""

    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError(f"oh {HOSTILE}")

    monkeypatch.setattr("inferfab.checks.check.check", breaks)
    ran = run("check", "dev")
    assert (ran.code, ran.out) == (1, "") and ran.err.count("\n") == 2
    assert ran.err.startswith("inferfab: this is a fault of inferfab, not of your file: ZeroDivisionError: oh ")
    assert "INFERFAB_DEBUG=1" in ran.err
    assert_tame(ran.err)
    monkeypatch.setenv("INFERFAB_DEBUG", "1")
    monkeypatch.setattr("sys.argv", ["inferfab", "check", "dev"])
    with pytest.raises(ZeroDivisionError):
        main()


def test_interruption_is_silent(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """Ctrl-C exits with 130 and no traceback."""

    def stops(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("inferfab.checks.check.check", stops)
    assert run("check", "dev").code == 130


@pytest.mark.slow
def test_completion_in_the_shell() -> None:
    """bash asks the program, and gets names of environments and rules."""
    script = shell("inferfab --show-completion bash").out
    assert "COMP_WORDS" in script and "_INFERFAB_COMPLETE=complete_bash" in script
    for words, expected in (
        ("inferfab check pro", ["prod", "prod-gcp", "prod-global", "prod-hybrid"]),
        ("inferfab explain if-env-00", "if-env-001"),
        ("inferfab explain IF-ENV-00", "IF-ENV-001"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "inferfab.cli"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={**ENV, "_INFERFAB_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "2"},
        )
        offered = done.stdout.split()
        assert offered == expected if isinstance(expected, list) else expected in offered
