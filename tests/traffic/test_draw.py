"""Requests drawn from a profile."""

import json
from pathlib import Path

import pytest

from inferfab.traffic.draw import Undrawable, draw, write_replay
from inferfab.traffic.fit import fit
from inferfab.traffic.rows import Request


def profile(folder: Path, rows: str):  # type: ignore[no-untyped-def]
    path = folder / "trace.csv"
    path.write_text("timestamp,prompt_tokens,output_tokens\n" + rows, encoding="utf-8")
    return fit(path)[0]


def test_rate_and_lengths_are_the_profiles(tmp_path: Path) -> None:
    rows = "".join(f"{n},{1000 if n % 4 else 8000},{100 if n % 4 else 10}\n" for n in range(2000))
    drawn = list(draw(profile(tmp_path, rows), rate_rps=20, count=4000))
    assert len(drawn) / drawn[-1].at_s == pytest.approx(20, rel=0.05)
    long = [r for r in drawn if r.prompt_tokens > 4000]
    # A quarter of the requests, and those have the short answers.
    assert len(long) / len(drawn) == pytest.approx(0.25, abs=0.03)
    assert max(r.output_tokens for r in long) < 16


def test_the_same_seed_gives_the_same(tmp_path: Path) -> None:
    found = profile(tmp_path, "".join(f"{n},100,10\n" for n in range(200)))
    assert list(draw(found, rate_rps=1, count=50)) == list(draw(found, rate_rps=1, count=50))
    assert list(draw(found, rate_rps=1, count=50)) != list(draw(found, rate_rps=1, count=50, seed=2))


def test_a_rate_series_has_nothing_to_draw_from(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(
        "window_start_s,rate_rps,mean_input_tokens,mean_output_tokens\n0,1,10,10\n600,1,10,10\n", encoding="utf-8"
    )
    with pytest.raises(Undrawable, match="no lengths"):
        list(draw(fit(path)[0], rate_rps=1, count=1))


def test_replay_is_ordered_and_its_own_text_is_nobody_elses(tmp_path: Path) -> None:
    requests = [
        Request(at_s=5, prompt_tokens=1024, output_tokens=3),
        Request(at_s=2, prompt_tokens=1025, output_tokens=4, blocks=(7, 8)),
        Request(at_s=4, prompt_tokens=600, output_tokens=1),
    ]
    count, span = write_replay(requests, tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (count, span) == (3, 3)
    assert [r["timestamp"] for r in rows] == [0, 2000, 3000]
    # 1,025 tokens are three blocks of 512: the two that the trace knows, and one of its own.
    assert rows[0]["hash_ids"][:2] == [7, 8]
    assert len(rows[0]["hash_ids"]) == 3
    every = [b for r in rows for b in r["hash_ids"]]
    assert len(set(every)) == len(every)
