"""Which requests a pool gets."""

from pathlib import Path

import pytest

from inferfab import check, load
from inferfab.plan.fleet import FleetPlan
from inferfab.simulate.demand import Reader, Source, busiest, cell_shares, demand, source_of

ENVIRONMENTS = Path(__file__).resolve().parents[2] / "environments"


def prod() -> FleetPlan:
    fleet = check(load(ENVIRONMENTS / "prod.yaml")).plan
    assert fleet is not None
    return fleet


def trace(folder: Path, rows: str) -> Path:
    path = folder / "trace.csv"
    path.write_text("timestamp,prompt_tokens,output_tokens\n" + rows, encoding="utf-8")
    return path


def test_the_busiest_hour_of_a_long_trace(tmp_path: Path) -> None:
    """One request a minute for five hours, ten a minute in the third."""
    rows = [n * 60 for n in range(300)] + [7200 + n * 6 for n in range(600)]
    path = trace(tmp_path, "".join(f"{at},10,5\n" for at in sorted(rows)))
    found = busiest(path)
    assert 7200 - 60 <= found[0].at_s <= 7200 + 60
    assert len(found) == pytest.approx(660, abs=20)


def test_cells_share_and_a_lost_cells_part_goes_to_the_others() -> None:
    fleet = prod()
    assert cell_shares(fleet, "chat-priority") == pytest.approx({"use1-a": 0.4, "use1-b": 0.25, "usw2-c": 0.35})
    # `nightly` is in one cell only.
    assert cell_shares(fleet, "nightly") == {"use1-a": 1.0}
    left = cell_shares(fleet, "chat-priority", "use1-a")
    assert left == pytest.approx({"use1-b": 0.25 / 0.6, "usw2-c": 0.35 / 0.6})


def test_thinned_scaled_and_too_long(tmp_path: Path) -> None:
    path = trace(tmp_path, "".join(f"{n},{100 if n % 10 else 40_000},5\n" for n in range(3000)))
    fleet, reader = prod(), Reader()
    cell = fleet.cells[0]
    pool = cell.pools[0]
    found = demand(reader, Source(trace=path), cell, pool, 0.4, 32_768)
    assert found.too_long / (found.too_long + len(found.requests)) == pytest.approx(0.1, abs=0.03)
    assert len(found.requests) + found.too_long == pytest.approx(1200, abs=80)
    assert found.speedup == 1
    assert found.rate_rps == pytest.approx(0.36, rel=0.1)
    scaled = demand(reader, Source(trace=path, scale=10), cell, pool, 0.4, 32_768)
    assert scaled.speedup == pytest.approx(4)
    assert scaled.rate_rps == pytest.approx(0.9 * 4, rel=0.02)
    # The same requests every time.
    assert demand(reader, Source(trace=path), cell, pool, 0.4, 32_768) == found


def test_who_names_traffic() -> None:
    fleet = prod()
    pool = next(p for p in fleet.pools if p.name == "documents")
    assert source_of(fleet, pool, None, Path()) is None
    told = Source(trace=Path("x.csv"))
    assert source_of(fleet, pool, told, Path()) == (told, 1.0)
