"""Performance profiles: shipped, made into archives, imported, bounded."""

import json
import zipfile
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from inferfab import check, load
from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import instances
from inferfab.catalog.models import models
from inferfab.performance.find import UnreadablePerformance, profile_for, read_performance, shipped
from inferfab.performance.importing import Run, Unimportable, _runs, import_profile
from inferfab.performance.npz import BadArchive, read_npz, write_npz
from inferfab.performance.profile import PerformanceProfile, Worker, beside_pair, surface, too_old

ENVIRONMENTS = Path(__file__).resolve().parents[2] / "environments"
SAMPLES = Path(__file__).parent / "samples"
WORKER = Worker(model="qwen3-8b", quantization="fp8", kv_precision="fp8", gpu="l40s", tensor=1)


def test_shipped_profiles_are_grids_of_known_things() -> None:
    assert len(shipped()) > 20
    for one in shipped():
        assert one.worker.model in models()
        assert one.worker.gpu in gpus()
        points = surface(one)
        # Longer prompts take longer; kernels for short ones wobble.
        assert all(b > 0.85 * a for a, b in pairwise(points.ttft_ms)), one.worker
        assert points.ttft_ms[-1] > 10 * points.ttft_ms[0], one.worker
        assert one.itl_ms(786_432, 2048) > one.itl_ms(65_536, 2048), one.worker
        assert set(one.counted) <= {"interpolated", "assumed"}


@pytest.mark.parametrize("name", ["dev", "staging", "prod", "prod-gcp"])
def test_every_pool_of_our_environments_has_a_shipped_one(name: str) -> None:
    fleet = check(load(ENVIRONMENTS / f"{name}.yaml")).plan
    assert fleet is not None
    served = {m.name: m for m in fleet.models}
    for cell in fleet.cells:
        for pool in cell.pools:
            for role in pool.roles:
                gpu = instances(cell.cloud)[cell.node_group(role.node_group).instance].gpu
                found = profile_for(served[pool.models[0]], role, gpu)
                assert found is not None
                assert found.basis == "aiconfigurator", f"{pool.name} {role.role}"


def test_a_roofline_says_so_and_is_slower_than_what_was_measured() -> None:
    """Its efficiencies are the lower ends, so it must not promise more than kernels that were measured."""
    fleet = check(load(ENVIRONMENTS / "prod.yaml")).plan
    assert fleet is not None
    pool = fleet.cells[0].pools[0]
    role, model = pool.role("decode"), fleet.models[0]
    measured = profile_for(model, role, "h200")
    other = profile_for(
        model, role.model_copy(update={"parallelism": role.parallelism.model_copy(update={"data": 2})}), "h200"
    )
    assert measured is not None
    assert other is not None
    assert other.basis == "roofline"
    assert set(other.counted) == {"assumed"}
    assert too_old(other, date(2030, 1, 1)) is None
    assert other.ttft_ms(4096) > measured.ttft_ms(4096)


def test_age_and_engine_are_noted() -> None:
    one = shipped()[0]
    read = one.provenance.retrieved
    assert too_old(one, read) is None
    assert "181 days old" in (too_old(one, date.fromordinal(read.toordinal() + 181)) or "")
    assert beside_pair(one, "0.31.0") == f"measured with {one.engine_version}, planned is vLLM 0.31.0"
    assert beside_pair(one, one.engine_version.removeprefix("vllm ")) is None


def test_between_points_is_a_line() -> None:
    one = shipped()[0].model_copy(
        update={
            "prefill": tuple(
                p.model_copy(update={"prompt_tokens": n, "ttft_ms": ms})
                for p, (n, ms) in zip(shipped()[0].prefill, ((100, 10.0), (200, 30.0)), strict=False)
            )
        }
    )
    assert one.ttft_ms(150) == 20
    assert one.ttft_ms(50) == 10
    assert one.ttft_ms(400) == 60


def test_archives_read_back(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", {"one": (1.0, 2.5), "two": ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))})
    assert read_npz(tmp_path / "a.npz") == {"one": [1.0, 2.5], "two": [1, 2, 3, 4, 5, 6]}
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        raw = archive.read("two.npy")
    # The format's own rule: data begins at a multiple of 64.
    assert (len(raw) - 6 * 8) % 64 == 0
    assert b"'shape': (2, 3)" in raw
    (tmp_path / "b.npz").write_bytes(b"no archive")
    with pytest.raises(BadArchive):
        read_npz(tmp_path / "b.npz")


def aiperf(folder: Path, prompt: int, concurrency: int, ttft: float, itl: float) -> Path:
    path = folder / f"aiperf-{prompt}-{concurrency}.json"
    body = {
        "input_config": {"loadgen": {"concurrency": concurrency}},
        "time_to_first_token": {"avg": ttft, "p50": ttft}, "inter_token_latency": {"avg": itl},
        "input_sequence_length": {"avg": prompt}, "output_sequence_length": {"avg": 200},
        "request_latency": {"avg": ttft + 200 * itl}, "request_throughput": {"avg": 1.0},
    }  # fmt: skip
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def test_import_of_aiperf(tmp_path: Path) -> None:
    """A step of 10 ms and 1 ms for each 1,100 KV tokens: 1 request of 1,000 + 100 tokens makes 11 ms, 10 make 20 ms."""
    files = [aiperf(tmp_path, 1000, 1, 50, 11), aiperf(tmp_path, 4000, 1, 210, 10 + 4100 / 1100),
             aiperf(tmp_path, 1000, 10, 90, 20)]  # fmt: skip
    found = import_profile(files, WORKER, engine="vllm 0.31.0", as_of=date(2026, 11, 1))
    assert found.basis == "measured"
    assert [(p.prompt_tokens, p.ttft_ms, p.how) for p in found.prefill] == [
        (1000, 50, "measured"),
        (4000, 210, "measured"),
    ]
    at = {p.kv_tokens: p for p in found.decode}
    assert at[11_000].itl_ms == pytest.approx(20, rel=1e-3)
    assert at[11_000].how == "measured"
    assert at[65_536].how == "assumed"
    assert at[65_536].itl_ms == pytest.approx(10 + 65_536 / 1100, rel=1e-3)
    surface(found)


def test_import_of_guidellm(tmp_path: Path) -> None:
    def run(prompt: int, flight: float, ttft: float, itl: float) -> dict[str, object]:
        values = {
            "prompt_token_count": prompt, "output_token_count": 100, "request_concurrency": flight,
            "time_to_first_token_ms": ttft, "inter_token_latency_ms": itl,
        }  # fmt: skip
        return {"metrics": {k: {"successful": {"mean": v, "median": v}} for k, v in values.items()}}

    path = tmp_path / "benchmarks.json"
    path.write_text(json.dumps({"benchmarks": [run(500, 1, 30, 10), run(2000, 1, 90, 12), run(500, 20, 60, 18)]}))
    found = import_profile([path], WORKER, engine="vllm 0.31.0", as_of=date(2026, 11, 1))
    assert [p.prompt_tokens for p in found.prefill] == [500, 2000]


def test_what_aiperf_0_10_writes(tmp_path: Path) -> None:
    """A published result: two requests in flight, of 580.7 + 217.1 / 2 tokens; warming up had as many."""
    (run,) = _runs(SAMPLES / "aiperf-0.10.0-c2.json")
    assert run.in_flight == 2
    assert (run.prompt_tokens, run.ttft_ms) == (580.71875, 104.5644975)
    raw = json.loads((SAMPLES / "aiperf-0.10.0-c2.json").read_text(encoding="utf-8"))
    raw["input_config"]["phases"][1] = {"name": "profiling", "type": "poisson", "rate": 1.5}
    (tmp_path / "rate.json").write_text(json.dumps(raw), encoding="utf-8")
    (by_rate,) = _runs(tmp_path / "rate.json")
    # Little's law: 1.3265 s x 1.5007 requests/s.
    assert by_rate.in_flight == pytest.approx(1.9908, rel=1e-3)


def test_what_guidellm_0_5_writes(tmp_path: Path) -> None:
    """A published result; a benchmark without an answer has zeros for times, which are no measurement."""
    (run,) = _runs(SAMPLES / "guidellm-0.5.0-sync.json")
    assert run == Run(264.0, 128.0, pytest.approx(1.0, rel=1e-3), 96.59028053283691, 20.59245331422209)
    raw = json.loads((SAMPLES / "guidellm-0.5.0-sync.json").read_text(encoding="utf-8"))
    failed = json.loads(json.dumps(raw["benchmarks"][0]).replace('"successful": {"mean"', '"gone": {"mean"'))
    for metric in failed["metrics"].values():
        metric["successful"] = {"mean": 0.0, "median": 0.0, "count": 0}
    (tmp_path / "half.json").write_text(json.dumps({"benchmarks": [*raw["benchmarks"], failed]}), encoding="utf-8")
    assert _runs(tmp_path / "half.json") == [run]
    (tmp_path / "none.json").write_text(json.dumps({"benchmarks": [failed]}), encoding="utf-8")
    with pytest.raises(Unimportable, match="no request of any"):
        _runs(tmp_path / "none.json")


def test_import_of_dynamos_profiler(tmp_path: Path) -> None:
    write_npz(tmp_path / "p.npz", {"prefill_isl": (100.0, 1000.0), "prefill_ttft": (10.0, 60.0)})
    write_npz(
        tmp_path / "d.npz",
        {"x_kv_usage": (0.1, 0.1, 0.5), "y_context_length": (512.0, 2048.0, 512.0), "z_itl": (5.0, 6.0, 9.0),
         "max_kv_tokens": (100_000.0,)},
    )  # fmt: skip
    found = import_profile(
        [tmp_path / "p.npz", tmp_path / "d.npz"], WORKER, engine="vllm 0.31.0", as_of=date(2026, 11, 1)
    )
    at = {(p.kv_tokens, p.context_tokens): p for p in found.decode}
    assert at[50_000, 512].itl_ms == 9
    assert at[50_000, 512].how == "measured"
    # Nobody measured this corner.
    assert at[50_000, 2048].how == "assumed"


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"benchmarks": [{}]}', '{"time_to_first_token": 3}', "\x00"])
def test_what_cannot_be_imported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Unimportable):
        import_profile([path], WORKER, engine="vllm 0.31.0", as_of=date(2026, 11, 1))


def test_one_load_says_too_little(tmp_path: Path) -> None:
    with pytest.raises(Unimportable, match="two prompt lengths"):
        import_profile([aiperf(tmp_path, 1000, 1, 50, 11)], WORKER, engine="e", as_of=date(2026, 11, 1))


def test_a_teams_own_profile_comes_first(tmp_path: Path) -> None:
    fleet = check(load(ENVIRONMENTS / "prod.yaml")).plan
    assert fleet is not None
    role, model = fleet.cells[0].pools[0].role("decode"), fleet.models[0]
    own = profile_for(model, role, "h200")
    assert own is not None
    mine: PerformanceProfile = own.model_copy(update={"basis": "measured"})
    (tmp_path / "mine.json").write_text(mine.model_dump_json(), encoding="utf-8")
    read = read_performance(tmp_path / "mine.json")
    assert profile_for(model, role, "h200", (read,)) == mine
    (tmp_path / "broken.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UnreadablePerformance, match=r"broken\.json"):
        read_performance(tmp_path / "broken.json")
