"""What a sizing changes in an environment file, and the whole command with Dynamo's simulator."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from inferfab import check, load_text
from inferfab.environment.loading import Loaded
from inferfab.retune.edits import CannotEdit, edited
from inferfab.retune.retune import Retuned, batches, retuned
from inferfab.sizing.result import Option, PoolSize, Sizing
from rehearse.dynamo_python import dynamo_python

Run = Callable[..., tuple[int, str, str]]
TEXT = """\
name: chat
owner: ml
accounts: {aws: {account_id: "111122223333"}}
engine: {dynamo: 1.6.1}
models:
  m: {catalog: llama-3.1-70b-instruct, revision: 3a5f5b0b2c1d4e6f8a9b0c1d2e3f4a5b6c7d8e9f, context_tokens: 32768,
      quantization: fp8, kv_cache_dtype: fp8}
tiers:
  t:
    promises: [{metric: ttft, percentile: 95, at_most_ms: 1500}, {metric: itl, percentile: 95, at_most_ms: 60}]
    workload: {prompt_tokens: 1500, output_tokens: 200}
    traffic: {profile: traffic/chat.json, scale: 3}     # of last month
pools:
  p:
    topology: aggregated
    tier: t
    model: m
    instance: p5en.48xlarge
    worker:
      # half a node each
      tensor_parallel: 4
      replicas: {min: 8, desired: 8, max: 16}
cells:
  c: {cloud: aws, region: us-east-1, zone: us-east-1a, network: {kind: new, cidr: 10.16.0.0/16}, pools: {p: {}}}
"""


def option(tensor: int, batch: int, nodes: int, usd: float = 100.0) -> Option:
    return Option(
        name="", instance="p5en.48xlarge", gpu="h200", topology="aggregated", tensor={"worker": tensor}, pipeline=1,
        batch=batch, nodes={"worker": nodes}, workers={"worker": nodes * 8 // tensor}, gpus=nodes * 8,
        usd_per_hour=usd, usd_per_month=usd * 730, priced="", limit="", speed="",
    )  # fmt: skip


def sized(best: Option | None, *others: Option) -> Sizing:
    one = PoolSize(
        cell="c", pool="p", tier="t", model="m", promises=(), traffic="x", requests=9, rate_rps=1.0, planned_gpus=32,
        planned_usd_per_hour=None, best=best, others=others, passed=(), queueing=None, curve=(), trials=1,
        simulations=1, exhausted=False,
    )  # fmt: skip
    return Sizing(environment="chat", engine="", utilization=0.75, pools=(one,))


def as_retuned(loaded: Loaded, sizing: Sizing) -> Retuned:
    planned = check(loaded).plan
    assert planned is not None
    return retuned(loaded, sizing, planned)


def test_replicas_and_splits_follow_and_bounds_keep_their_ratio() -> None:
    loaded = load_text(TEXT)
    found = as_retuned(loaded, sized(option(2, 256, 3)))
    worker = ("pools", "p", "worker")
    assert found.changes == {
        (*worker, "tensor_parallel"): 2, (*worker, "replicas", "desired"): 12, (*worker, "replicas", "min"): 12,
        (*worker, "replicas", "max"): 24,
    }  # fmt: skip
    assert found.added == {}


def test_a_batch_limit_that_the_plan_would_not_take_is_written() -> None:
    loaded = load_text(TEXT)
    found = as_retuned(loaded, sized(option(2, 64, 3)))
    after = check(load_text(edited(loaded.source, found.changes))).plan
    assert after is not None
    limits = batches(loaded, found.chosen, after)
    assert limits.added == {("pools", "p", "worker", "max_sequences"): 64}
    text = edited(loaded.source, found.changes, limits.added)
    assert "      max_sequences: 64\n      tensor_parallel: 2\n" in text
    again = check(load_text(text)).plan
    assert again is not None
    assert batches(load_text(text), found.chosen, again).changes == {}


def test_no_change_without_a_gain() -> None:
    found = as_retuned(load_text(TEXT), sized(option(2, 256, 4), option(4, 256, 4)))
    assert found.changes == {}
    # Another batch limit at the same price is no gain either.
    found = as_retuned(load_text(TEXT), sized(option(4, 64, 4), option(4, 256, 4)))
    assert found.chosen["p"].batch == 256


def test_what_could_not_be_sized_is_left_as_it_is() -> None:
    found = as_retuned(load_text(TEXT), sized(None))
    assert found.changes == {}
    assert found.words == ("c p: left as it is: nothing that was tried keeps every promise",)


def test_numbers_are_added_in_either_style() -> None:
    source = load_text("a:\n  b: {c: 1, d: 2}\n  e:\n    f: 3\n").source
    assert edited(source, {("a", "b", "d"): 4}, {("a", "b", "x"): 9, ("a", "e", "y"): 8}) == (
        "a:\n  b: {x: 9, c: 1, d: 4}\n  e:\n    y: 8\n    f: 3\n"
    )
    with pytest.raises(CannotEdit, match=r"a\.z is not in the file"):
        edited(source, {}, {("a", "z", "y"): 8})


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with a profile of last month, and this month's trace: twice as much of longer prompts."""
    monkeypatch.setenv("DYNAMO_PYTHON", dynamo_python())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "environments" / "traffic").mkdir(parents=True)
    (tmp_path / "environments" / "chat.yaml").write_text(TEXT, encoding="utf-8")
    for name, rate, prompt in (("last", 4, 900), ("month", 8, 1800)):
        rows = "".join(f"{n / rate},{prompt + n % 200},{100 + n % 50}\n" for n in range(1200))
        (tmp_path / f"{name}.csv").write_text("timestamp,prompt_tokens,output_tokens\n" + rows, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_the_monthly_pull_request(run: Run, work: Path) -> None:
    """The diff applies, is what --write writes, sizes again to no change, and the profile is this month's."""
    assert run("traffic", "fit", "last.csv", "--out", "environments/traffic/chat.json")[0] == 0
    argv = ("retune", "chat", "--trace", "month.csv", "--scale", "2", "--requests", "600")
    code, shown, told = run(*argv)
    assert code == 0, told
    assert "-    traffic: {profile: traffic/chat.json, scale: 3}     # of last month" in shown
    assert "+    traffic: {profile: traffic/chat.json, scale: 2}     # of last month" in shown
    assert '+  "file": "month.csv",' in shown
    assert "16.0" in told.split("requests/s")[0]
    (work / "r.diff").write_text(shown, encoding="utf-8")
    copy = work / "applied"
    (copy / "environments" / "traffic").mkdir(parents=True)
    for name in ("chat.yaml", "traffic/chat.json"):
        (copy / "environments" / name).write_text((work / "environments" / name).read_text(encoding="utf-8"))
    subprocess.run(["git", "init", "--quiet", "."], cwd=copy, check=True)
    subprocess.run(["git", "apply", str(work / "r.diff")], cwd=copy, check=True)
    code, out, told = run(*argv, "--write")
    assert (code, out) == (0, "")
    for name in ("chat.yaml", "traffic/chat.json"):
        written = (work / "environments" / name).read_text(encoding="utf-8")
        assert written == (copy / "environments" / name).read_text(encoding="utf-8")
    changed = check(load_text((work / "environments" / "chat.yaml").read_text(encoding="utf-8"))).plan
    assert changed is not None
    assert changed.pools[0].roles[0].workers.desired < 8
    code, out, told = run(*argv)
    assert (code, out) == (0, "")
    assert "nothing to change" in told


def test_one_trace_cannot_be_two_profiles(run: Run, work: Path) -> None:
    two = TEXT.replace("cells:", "  q: {topology: aggregated, tier: u, model: m, instance: p5en.48xlarge, "
                       "worker: {tensor_parallel: 4, replicas: {desired: 2}}}\ncells:")  # fmt: skip
    two = two.replace("pools: {p: {}}", "pools: {p: {}, q: {}}").replace(
        "pools:\n  p:", "  u: {traffic: {profile: traffic/docs.json}}\npools:\n  p:"
    )
    (work / "environments" / "chat.yaml").write_text(two, encoding="utf-8")
    for name in ("chat", "docs"):
        assert run("traffic", "fit", "last.csv", "--out", f"environments/traffic/{name}.json")[0] == 0
    code, out, told = run("retune", "chat", "--trace", "month.csv")
    assert (code, out) == (1, "")
    assert "one trace cannot be all of them" in " ".join(told.split())
