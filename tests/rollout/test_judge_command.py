"""``inferfab rollout judge`` against Prometheus servers on loopback: exit codes, and what was asked of whom."""

import json
from pathlib import Path

import pytest

from command import Run, command

from .fake_prometheus import Fake, series, serving

PROD = str(Path(__file__).resolve().parents[2] / "environments" / "prod.yaml")
MODELS = ("llama-70b", "qwen-32b")


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return command(monkeypatch, capsys, "rollout", "judge", PROD)


def fleet(started: int = 20_000, **more: float) -> Fake:
    return Fake({m: series(started, **more) for m in MODELS})  # type: ignore[arg-type]


def test_the_same_goes_on(judge: Run) -> None:
    with serving(fleet()) as b, serving(fleet()) as a, serving(fleet()) as c:
        code, out, _ = judge(
            "-c", "use1-b", "-p", b.url, "-b", f"use1-a={a.url}", "-b", f"usw2-c={c.url}", "--format", "json"
        )
    assert code == 0 and json.loads(out)["outcome"] == "advance"
    # The changed cell's own new frontends; all of the others'.
    assert all("pod=~" in q for q in b.asked) and not any("pod=~" in q for q in a.asked + c.asked)
    # Four questions a model, and one more where a router over tiers hides failures.
    assert len(b.asked) == len(a.asked) == 9 and not any("offset" in q for q in b.asked + a.asked)


def test_a_slower_cell_is_backed_out(judge: Run) -> None:
    """6 % of qwen-32b's first tokens beyond 2 s: 4 % more than elsewhere, and the promise allows 5 %."""
    slow = fleet()
    slow.models["qwen-32b"] = series(20_000, slow=0.06)
    with serving(slow) as b, serving(fleet()) as a:
        code, out, _ = judge("-c", "use1-b", "-p", b.url, "-b", f"use1-a={a.url}")
    assert code == 20 and out.startswith("use1-b: BACK OUT")
    text = " ".join(out.split())
    assert "6.00% slower than 2,000 ms, 2.00% in the others" in text
    assert "p95 ≤ 2000 ms of tier standard: 6.00% beyond, 5.00% allowed; broken" in text


def test_failures_back_out(judge: Run) -> None:
    with serving(fleet(failed=600)) as b, serving(fleet(failed=10)) as a:
        assert judge("-c", "use1-b", "-p", b.url, "-b", f"use1-a={a.url}")[0] == 20


def test_failures_behind_a_router_over_tiers_back_out(judge: Run) -> None:
    """They are `validation` to the counter of requests; qwen-32b has no such router, so nobody asks for it."""
    hidden = fleet()
    for one in hidden.models.values():
        one["dynamo_frontend_failures_total"] = 600
    with serving(hidden) as b, serving(fleet(failed=10)) as a:
        code, out, _ = judge("-c", "use1-b", "-p", b.url, "-b", f"use1-a={a.url}", "--format", "json")
    assert code == 20
    failed = {j["model"] for j in json.loads(out)["judgements"] if j["outcome"] == "back out"}
    assert failed == {"llama-70b"}


def test_too_little_waits(judge: Run) -> None:
    with serving(fleet(80)) as b, serving(fleet()) as a:
        code, out, _ = judge("-c", "use1-b", "-p", b.url, "-b", f"use1-a={a.url}")
    assert code == 10 and "not enough requests: 80 in the changed cell, 500 are needed" in out
    with serving(Fake({})) as b, serving(fleet()) as a:
        assert judge("-c", "use1-b", "-p", b.url, "-b", f"use1-a={a.url}")[0] == 10


def test_no_answer_waits(judge: Run) -> None:
    """A Prometheus that is away, or something else in its place."""
    with serving(fleet()) as a:
        code, out, _ = judge("-c", "use1-b", "-p", "http://127.0.0.1:9", "-b", f"use1-a={a.url}")
        assert code == 10 and "gave no answer" in out
        broken = fleet()
        broken.broken = True
        with serving(broken) as b:
            code, out, _ = judge("-c", "use1-b", "-p", b.url, "-b", f"use1-a={a.url}")
            assert code == 10 and "no judgement" in out
            assert judge("-c", "use1-b", "-p", f"{a.url}/prefix", "-b", f"use1-a={a.url}")[0] == 10


def test_alone_it_is_held_against_its_own_past(judge: Run) -> None:
    """Without others, the window before the step: 45 minutes ago."""
    with serving(fleet()) as b:
        code, _, _ = judge("-c", "use1-b", "-p", b.url, "--since-minutes", "45")
    assert code == 0 and sum("[30m] offset 45m" in q for q in b.asked) == 9


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("-c", "use1-x", "-p", "http://h"), "no cell"),
        (("-c", "use1-b", "-p", "h:9090"), "no URL like"),
        (("-c", "use1-b", "-p", "http://h", "-b", "http://h"), "no CELL=URL"),
        (("-c", "use1-b", "-p", "http://h", "-b", "use1-b=http://h"), "the cell that changed"),
    ],
)
def test_wrong_usage(judge: Run, argv: tuple[str, ...], said: str) -> None:
    code, _, err = judge(*argv)
    assert code == 2 and said in " ".join(err.replace("│", " ").split())
