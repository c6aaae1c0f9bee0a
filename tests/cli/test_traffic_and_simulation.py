"""What the commands about traffic, speed and simulation say of bad input, and without Dynamo."""

from collections.abc import Callable
from pathlib import Path

import pytest

from inferfab.extras import DYNAMO

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an environment, a sound trace, and no Dynamo anywhere near."""
    (tmp_path / "environments").mkdir()
    for name in ("dev", "staging"):
        text = (ROOT / "environments" / f"{name}.yaml").read_text(encoding="utf-8")
        (tmp_path / "environments" / f"{name}.yaml").write_text(text, encoding="utf-8")
    rows = "".join(f"{n},1000,50\n" for n in range(300))
    (tmp_path / "trace.csv").write_text("timestamp,prompt_tokens,output_tokens\n" + rows, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(DYNAMO.variable, "/nowhere/python")
    return tmp_path


def test_fit_writes_a_profile_and_tells_bad_rows(run: Run, work: Path) -> None:
    text = (work / "trace.csv").read_text(encoding="utf-8")
    (work / "trace.csv").write_text(text + "oops,1,1\n", encoding="utf-8")
    code, out, err = run("traffic", "fit", "trace.csv", "--out", "chat.json")
    assert code == 0
    assert "300 rows" in out
    assert "trace.csv:302: timestamp is 'oops', not a time" in err
    assert (work / "chat.json").is_file()


def test_nothing_is_written_of_a_broken_trace(run: Run, work: Path) -> None:
    (work / "bad.csv").write_text("timestamp,prompt_tokens,output_tokens\nx,1,1\n", encoding="utf-8")
    code, out, err = run("traffic", "fit", "bad.csv", "--out", "bad.json")
    assert code == 1
    assert "bad.csv:2:" in err
    assert out == ""
    assert not (work / "bad.json").exists()


@pytest.mark.parametrize(
    "argv",
    [
        ("simulate", "dev", "--trace", "trace.csv"),
        ("size", "dev", "--trace", "trace.csv"),
        ("retune", "dev", "--trace", "trace.csv"),
        ("rehearse", "dev"),
    ],
)
def test_without_dynamo_it_says_what_is_wrong(run: Run, argv: tuple[str, ...]) -> None:
    code, out, err = run(*argv)
    assert code == 1
    assert out == ""
    assert "DYNAMO_PYTHON=/nowhere/python is not a program" in err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("simulate", "dev", "--trace", "a", "--traffic", "b"), "one of --trace and --traffic"),
        (("simulate", "dev", "--scale", "2"), "there is neither"),
        (("simulate", "dev", "--trace", "trace.csv", "--lose", "all"), "node, cell"),
        (("simulate", "dev", "--trace", "trace.csv", "--pool", "none"), "there is no pool"),
        (("size", "dev", "--trace", "trace.csv", "--gpu", "h300"), "there is no"),
        (("retune", "dev", "--trace", "trace.csv", "--pool", "none"), "there is no"),
        (("rehearse", "dev", "--cell", "none"), "has no cell"),
        (("profile", "import", "x.json", "--model", "nope", "--gpu", "l40s", "--engine", "e"), "the catalog has no"),
    ],
)
def test_wrong_usage(run: Run, argv: tuple[str, ...], says: str) -> None:
    code, out, err = run(*argv)
    assert code == 2
    assert out == ""
    # The box of the message breaks lines.
    assert says in " ".join(err.replace("│", " ").split())


def test_shipped_profiles_are_listed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    code, out, _ = run("profile", "list")
    assert code == 0
    assert "llama-3.1-70b-instruct" in out
    assert "35 interpolated, 16 assumed" in out


def test_importing_what_is_no_result_writes_nothing(run: Run, work: Path) -> None:
    argv = ("profile", "import", "trace.csv", "--model", "qwen3-8b", "--gpu", "l40s", "--engine", "vllm 0.31.0")
    code, out, err = run(*argv)
    assert (code, out) == (1, "")
    assert "trace.csv: not JSON" in err
    assert not (work / "environments" / "performance").exists()
