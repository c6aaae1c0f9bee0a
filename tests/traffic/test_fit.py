"""Profiles of traces whose figures are known by hand."""

import gzip
import json
from datetime import UTC, date
from pathlib import Path

import pytest

from inferfab.traffic.fit import fit
from inferfab.traffic.profile import TrafficProfile, UnreadableProfile, read_profile
from inferfab.traffic.rows import UnusableTrace


def written(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def profile_of(path: Path) -> TrafficProfile:
    return fit(path)[0]


def even(count: int, gap_s: float = 1.0) -> str:
    return "timestamp,prompt_tokens,output_tokens\n" + "".join(f"{n * gap_s},1000,100\n" for n in range(count))


def test_even_arrivals_are_not_bursty(tmp_path: Path) -> None:
    found = profile_of(written(tmp_path, even(601)))
    assert found.rates.mean_rps == pytest.approx(601 / 600)
    assert found.rates.peak_rps == pytest.approx(601 / 600, rel=0.01)
    assert found.burstiness is not None
    assert found.burstiness.gap_cv2 == pytest.approx(0, abs=1e-9)
    assert found.burstiness.dispersion_10s == 0
    assert found.mean_prompt_tokens == 1000
    assert found.outputs is not None
    assert found.outputs.at(100) == 100


def test_pairs_are_bursty(tmp_path: Path) -> None:
    """Two at a time, ten seconds apart: gaps of 0 and 10 s have mean 5 and variance 25, so 1."""
    rows = "".join(f"{10 * n},10,10\n{10 * n},10,10\n" for n in range(200))
    found = profile_of(written(tmp_path, f"timestamp,prompt_tokens,output_tokens\n{rows}"))
    assert found.burstiness is not None
    assert found.burstiness.gap_cv2 == pytest.approx(1, rel=0.02)


def test_a_short_trace_leaves_unknown_what_it_cannot_tell(tmp_path: Path) -> None:
    found = profile_of(written(tmp_path, even(601)))
    assert found.rates.hours_of_day is None
    assert found.rates.days_of_week is None
    assert found.rates.worst_hour_rps is None
    assert found.prefix is None
    assert found.provenance.first_day is None
    assert any(one.startswith("time of day") for one in found.unknown)
    assert any(one.startswith("shared prefixes") for one in found.unknown)


def test_quantiles_are_within_a_bin(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n + 1},1\n" for n in range(10_000))
    found = profile_of(written(tmp_path, f"timestamp,prompt_tokens,output_tokens\n{rows}"))
    assert found.prompts is not None
    for percent, true in ((10, 1000), (50, 5000), (90, 9000), (99, 9900)):
        assert found.prompts.at(percent) == pytest.approx(true, rel=0.06)
    assert found.prompts.at(100) == 10_000
    assert sum(cell.count for cell in found.joint) == 10_000


def test_azure_rows_have_dates(tmp_path: Path) -> None:
    rows = ("2023-11-16 18:17:03.9799600,4808,10", "2023-11-16 18:17:05.9799600,3180,8")
    text = "\n".join(("TIMESTAMP,ContextTokens,GeneratedTokens", *rows)) + "\n"
    found = profile_of(written(tmp_path, text))
    assert found.provenance.format == "azure"
    assert found.provenance.first_day == date(2023, 11, 16)
    assert found.provenance.span_s == pytest.approx(2)
    assert found.mean_output_tokens == 9


def test_hours_and_days_of_a_long_trace(tmp_path: Path) -> None:
    """From Monday, 6 November 2023, 00:00 UTC: twice as many at 14 h, none on Sundays."""
    start = 1_699_228_800
    rows = []
    for day in range(21):
        if day % 7 == 6:
            continue
        for hour in range(24):
            for n in range(24 if hour == 14 else 12):
                at = start + day * 86_400 + hour * 3600 + n * (3600 // (24 if hour == 14 else 12))
                rows.append(f"2023-11-06T00:00:{n:02d},1,1" if at < 0 else f"{_iso(at)},100,10")
    found = profile_of(written(tmp_path, "timestamp,prompt_tokens,output_tokens\n" + "\n".join(rows) + "\n"))
    assert found.rates.hours_of_day is not None
    assert found.rates.hours_of_day.index(max(found.rates.hours_of_day)) == 14
    # 24 against a mean of (23 x 12 + 24) / 24 = 12.5.
    assert found.rates.hours_of_day[14] == pytest.approx(24 / 12.5, rel=0.01)
    assert found.rates.days_of_week is not None
    assert found.rates.days_of_week[6] == 0
    assert found.rates.worst_hour_rps == pytest.approx(24 / 3600, rel=0.1)


def _iso(at: int) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(at, UTC).isoformat()


def test_shared_prefixes(tmp_path: Path) -> None:
    """Three prompts of four blocks; the second shares three blocks with the first, the third none: 3 of 12."""
    rows = [[0, 1, 2, 3], [0, 1, 2, 9], [20, 21, 22, 23]]
    lines = [
        json.dumps({"timestamp": n * 1000, "input_length": 2048, "output_length": 5, "hash_ids": ids})
        for n, ids in enumerate(rows)
    ]
    found = profile_of(written(tmp_path, "\n".join(lines), "trace.jsonl"))
    assert found.prefix is not None
    assert found.prefix.shared_share == pytest.approx(3 / 12)
    assert found.prefix.first_block_groups == 2


def test_failed_requests_of_burstgpt_are_left_out(tmp_path: Path) -> None:
    text = (
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,0,1087,Conversation log\n50,GPT-4,417,276,693,API log\n"
    )
    found, trace = fit(written(tmp_path, text))
    assert (trace.rows, trace.failed, trace.bad) == (2, 1, 0)
    assert found.provenance.format == "burstgpt"
    assert found.mean_prompt_tokens == (472 + 417) / 2


def test_the_third_burstgpt_file_has_sessions(tmp_path: Path) -> None:
    """Its header has two columns more (HPMLL/BurstGPT, release v1.2)."""
    text = (
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "0,s1,1.5,GPT-4,100,20,120,Conversation log\n7,s2,0.2,GPT-4,300,40,340,API log\n"
    )
    found = profile_of(written(tmp_path, text))
    assert found.provenance.format == "burstgpt"
    assert found.mean_prompt_tokens == 200


def test_a_rate_series(tmp_path: Path) -> None:
    rows = "".join(
        f"{n * 600},{0 if n == 5 else 10 + n % 2},{'' if n == 5 else 500},{'' if n == 5 else 100},3\n"
        for n in range(300)
    )
    head = "window_start_s,rate_rps,mean_input_tokens,mean_output_tokens,active_clients\n"
    found = profile_of(written(tmp_path, head + rows))
    # Window 5 (an odd one, which would have 11) is a gap, not a quiet window.
    assert found.rates.mean_rps == pytest.approx((150 * 10 + 149 * 11) / 299)
    assert found.rates.peak_rps == 11
    assert found.rates.worst_hour_rps == pytest.approx(10.5)
    assert found.prompts is None
    assert found.burstiness is None
    assert any("gaps of the collection" in one for one in found.unknown)


def test_bad_rows_are_told_with_their_line(tmp_path: Path) -> None:
    lines = even(500).splitlines()
    lines[100] = "nonsense,1000,100"
    lines[200] = "199,-5,100"
    _, trace = fit(written(tmp_path, "\n".join(lines)))
    assert trace.bad == 2
    assert trace.rows == 498
    assert trace.shown[0].endswith("trace.csv:101: timestamp is 'nonsense', not a time")
    assert ":201: prompt_tokens is -5" in trace.shown[1]


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("nan,1,1", "not a time"),
        ("1e400,1,1", "not a time"),
        ("1,1.5,1", "not a whole number"),
        ("1,inf,1", "not a whole number"),
        ("1,99999999999,1", "not between"),
        ("1", "1 columns"),
        ('"1,1,1', "not CSV"),
        ("1e12,1,1", "days from the first row"),
        ("2023-01-01T00:00:00,1,1", "a date where the rows before have seconds"),
    ],
)
def test_what_a_row_may_not_say(tmp_path: Path, cell: str, says: str) -> None:
    _, trace = fit(written(tmp_path, even(200) + cell + "\n"))
    assert trace.bad == 1
    assert says in trace.shown[0]


def test_more_than_a_hundredth_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnusableTrace, match=r"2 of 102 rows .* are bad \(2\.0%"):
        fit(written(tmp_path, even(100) + "x,1,1\ny,1,1\n"))


@pytest.mark.parametrize("text", ["", "\n\n", "hello\n", "a,b,c\n1,2,3\n", "\x00\x01\x02", "[1]\n", "{\n"])
def test_what_is_no_trace(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnusableTrace):
        fit(written(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnusableTrace, match="No such file"):
        fit(tmp_path / "absent.csv")


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress(even(200).encode()))
    assert profile_of(path).provenance.rows == 200
    (tmp_path / "broken.csv.gz").write_bytes(gzip.compress(even(200).encode())[:-20])
    with pytest.raises(UnusableTrace):
        fit(tmp_path / "broken.csv.gz")


def test_a_profile_reads_back_equal(tmp_path: Path) -> None:
    found = profile_of(written(tmp_path, even(601)))
    path = written(tmp_path, found.to_json(), "profile.json")
    assert read_profile(path) == found
    path.write_text(found.to_json().replace('"peak_rps"', '"peek_rps"'), encoding="utf-8")
    with pytest.raises(UnreadableProfile, match=r"pe[ae]k_rps"):
        read_profile(path)
