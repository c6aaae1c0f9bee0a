"""``inferfab autoscale backtest``: what it says, and what it refuses."""

import json
import math
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[int, str, str]]
HEAD = "window_start_s,rate_rps,mean_input_tokens,mean_output_tokens\n"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with environments and a series of four days with a gap."""
    (tmp_path / "environments").mkdir()
    for name in ("dev", "prod"):
        text = (ROOT / "environments" / f"{name}.yaml").read_text(encoding="utf-8")
        (tmp_path / "environments" / f"{name}.yaml").write_text(text, encoding="utf-8")
    rates = [6 + 4 * math.sin(n / 23) for n in range(4 * 144)]
    rows = "".join(f"{n * 600},{0 if n == 300 else r:.4f},1000,50\n" for n, r in enumerate(rates))
    (tmp_path / "rates.csv").write_text(HEAD + rows, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_table(run: Run) -> None:
    code, out, _ = run("autoscale", "backtest", "prod", "--traffic", "rates.csv", "--pool", "documents")
    assert code == 0
    for way in ("static peak", "reactive", "constant headroom", "forecast", "clairvoyant"):
        assert way in out
    assert "1 windows without data" in out
    assert "the first half chooses, the second judges" in out


def test_json_has_every_figure(run: Run, work: Path) -> None:
    code, out, err = run(
        "autoscale", "backtest", "prod", "-t", "rates.csv", "--fit", "-c", "use1-b", "-f", "json", "-o", "b.json"
    )
    assert (code, out) == (0, "")
    assert "wrote b.json" in err
    found = json.loads((work / "b.json").read_text(encoding="utf-8"))
    assert [(p["cell"], p["pool"]) for p in found["pools"]] == [
        ("use1-b", "chat-priority"), ("use1-b", "chat-standard"), ("use1-b", "documents")
    ]  # fmt: skip
    for pool in found["pools"]:
        assert pool["peak_rps"] <= pool["most_rps"] * 1.2
        assert len(pool["rates"]) == len(pool["policies"][0]["ready_rps"]) == 288


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name in ("src", "href") for name, _ in attrs), "it loads something"
        self.seen.append(tag)
        if tag not in ("meta", "rect", "line", "polyline", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "line", "polyline"):
            assert self.open.pop() == tag


def test_page(run: Run, work: Path) -> None:
    """One page with plots that loads nothing; a file's name is text in it."""
    (work / "rates.csv").rename(work / "a<b>.csv")
    argv = ("autoscale", "backtest", "prod", "-t", "a<b>.csv", "-p", "documents", "-f", "html", "-o", "b.html")
    assert run(*argv)[0] == 0
    text = (work / "b.html").read_text(encoding="utf-8")
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.seen.count("svg") == 3
    assert "a&lt;b&gt;.csv" in text
    assert "<b>" not in text


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        (("prod",), 2, "--traffic"),
        (("prod", "-t", "rates.csv", "--fit", "--scale", "2"), 2, "give one of --scale and --fit"),
        (("prod", "-t", "rates.csv", "--scale", "nan"), 2, "less than or equal to 1000000"),
        (("prod", "-t", "rates.csv", "--scale", "inf"), 2, "less than or equal to 1000000"),
        (("prod", "-t", "rates.csv", "-p", "chats"), 2, "there is no `chats`; one of: chat-priority"),
        (("prod", "-t", "rates.csv", "-c", "nowhere"), 2, "there is no `nowhere`; one of: use1-a"),
        (("prod", "-t", "missing.csv"), 1, "missing.csv"),
        (("prod", "-t", "environments/prod.yaml"), 1, "prod.yaml"),
        (("dev", "-t", "rates.csv"), 1, ""),
        (("nowhere", "-t", "rates.csv"), 1, "nowhere"),
    ],
)
def test_refused(run: Run, argv: tuple[str, ...], code: int, word: str) -> None:
    got, out, err = run("autoscale", "backtest", *argv)
    assert got == code, (out, err)
    assert word in err
    assert "Traceback" not in err
    if argv[0] == "dev":
        assert "fixed: it has no room to scale" in out


def test_too_short(run: Run, work: Path) -> None:
    (work / "short.csv").write_text(HEAD + "".join(f"{n * 600},5,10,10\n" for n in range(20)), encoding="utf-8")
    code, out, err = run("autoscale", "backtest", "prod", "-t", "short.csv")
    assert (code, out) == (1, "")
    assert "short.csv has 20 windows of 600 s" in err
