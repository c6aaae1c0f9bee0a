"""What findings suggest is possible for that machine and state, can be copied, and is said once."""

import re

import pytest
import yaml
from rule_examples import Fails, all_examples
from test_rule_registry import RULE_FILES

from environments import AGGREGATED, DISAGGREGATED, SHARED, Env, base, cell
from inferfab.findings import Finding

assert RULE_FILES
AGG, DIS, SMALL = base(AGGREGATED), base(DISAGGREGATED), base(SHARED)
WORKER = "pools.docs.worker"
TTFT = "tiers.fast.promises[0].at_most_ms"


def found(env: Env, rule: str) -> list[Finding]:
    return [f for f in env.check().findings if f.rule == rule]


def one(env: Env, rule: str) -> Finding:
    findings = found(env, rule)
    assert len(findings) == 1, findings
    return findings[0]


def single_l4() -> Env:
    """Qwen3 8B in bf16 (16.4 GB and 4.0 GB beside it) on g6.xlarge, one L4 of 24 GB."""
    env = AGG.set("pools.docs.instance", "g6.2xlarge").set("models.qwen-8b.quantization", "bf16")
    return env.set("models.qwen-8b.kv_cache_dtype", "bf16").set("tiers.fast.promises", [])


def test_a_split_is_suggested_where_the_gpus_are() -> None:
    """A machine with one GPU cannot split: machine types with more of that GPU are named instead."""
    full = single_l4().set("models.qwen-8b.weights_gib", 24.0)
    fix = one(full, "IF-MEM-001").fix
    assert "g6.12xlarge or g6.24xlarge (4 GPUs) with `tensor_parallel: 2`" in fix
    assert not fix.startswith("use `tensor_parallel")
    on_four = full.set("pools.docs.instance", "g6.12xlarge").set(f"{WORKER}.tensor_parallel", 2)
    assert not found(on_four, "IF-MEM-001") + found(on_four, "IF-MEM-002")


def test_a_small_share_of_memory_is_the_cause() -> None:
    """With a fifth of the GPU the weights do not fit; with vLLM's own share they do, and that is the first way."""
    finding = one(single_l4().set(f"{WORKER}.gpu_memory_utilization", 0.2), "IF-MEM-001")
    assert finding.dotted_path == f"{WORKER}.gpu_memory_utilization"
    assert finding.fix.startswith("write `gpu_memory_utilization: 0.92`")
    assert not found(single_l4(), "IF-MEM-001")


def test_fp8_is_not_suggested_to_who_has_it() -> None:
    """Neither to a cache that is fp8 already, nor on an Ampere GPU, which cannot."""
    env = AGG.set("pools.docs.instance", "g6.2xlarge").set("tiers.fast.promises", [])
    at = "models.qwen-8b.weights_gib"
    assert "fp8" not in one(env.set(at, 16.9), "IF-MEM-002").fix
    ampere = env.set("pools.docs.instance", "g5.2xlarge").set("models.qwen-8b.kv_cache_dtype", "bf16")
    assert "fp8" not in one(ampere.set(at, 16.9), "IF-MEM-002").fix
    ada = env.set("models.qwen-8b.kv_cache_dtype", "bf16").set(at, 16.4)
    assert "`kv_cache_dtype: fp8`" in one(ada, "IF-MEM-002").fix


def test_a_context_is_suggested_that_holds_the_requests() -> None:
    """A context below prompt and answer of the workload is no way out: another rule would refuse it."""
    short = AGG.set("pools.docs.instance", "g6.2xlarge").set("models.qwen-8b.weights_gib", 16.9)
    short = short.set("tiers.fast.promises", []).set("tiers.fast.workload.prompt_tokens", 7000)
    assert "promise at most" not in one(short, "IF-MEM-002").fix


def test_windows_are_counted_in_the_suggested_context() -> None:
    """Gemma 3 fills 52 of 62 layers' windows early: written as suggested, its context fits."""
    env = AGG.set("models.qwen-8b", {"catalog": "gemma-3-27b", "revision": "0" * 40, "context_tokens": 131_072,
                  "token_secret": "hub", "weights_gib": 34.0})  # fmt: skip
    env = env.set("tiers.fast.promises", []).delete("tiers.fast.availability_percent")
    finding = one(env, "IF-MEM-002")
    most = re.match(r"promise at most (\d+) tokens", finding.fix)
    assert most, finding
    at = "models.qwen-8b.context_tokens"
    assert not found(env.set(at, int(most[1])), "IF-MEM-002")
    assert found(env.set(at, int(most[1]) + 1), "IF-MEM-002")


@pytest.mark.parametrize("rule", ["IF-PRM-001", "IF-PRM-003"])
def test_speed_on_a_machine_with_one_gpu(rule: str) -> None:
    """No larger `tensor_parallel` on one GPU; the bound that is suggested holds when written."""
    env = AGG.set("pools.docs.instance", "g6e.4xlarge")
    if rule == "IF-PRM-001":
        env, at = env.set(TTFT, 20), TTFT
    else:
        at = TTFT
        env = env.set("tiers.fast.promises", [{"metric": "whole_answer", "percentile": 95, "at_most_ms": 900}])
    fix = one(env, rule).fix
    assert not fix.startswith("use `tensor_parallel")
    bound = re.search(r"promise at least (\d+) ms", fix)
    assert bound
    assert not found(env.set(at, int(bound[1])), rule)


def test_availability_of_one_cell() -> None:
    """One cell reaches 99.49 % at most (cell 0.5 %, region 0.01 %): no utilization helps, a second cell does."""
    finding = one(DIS.set("tiers.fast.availability_percent", 99.9), "IF-PRM-004")
    assert finding.fix.startswith("add 1 cell like `east-b` in other regions, or write `availability_percent: 99.4")
    reached = re.search(r"percent: ([\d.]+)`", finding.fix)
    assert reached
    assert not found(DIS.set("tiers.fast.availability_percent", float(reached[1])), "IF-PRM-004")


def test_availability_of_nothing() -> None:
    """Where nothing runs at the desired size, more replicas come first."""
    none = AGG.set(f"{WORKER}.replicas", {"min": 0, "desired": 0, "max": 4})
    assert one(none, "IF-PRM-004").fix.startswith("raise `desired`")


def test_room_in_a_shared_pool() -> None:
    """A share of 0.6 is the cause: 14.4 GB over 0.6 are 24 GB, more than a 1g.20gb; over 0.92 they fit."""
    tight = SMALL.set("pools.small.gpu_memory_utilization", 0.6)
    fixes = {f.fix for f in found(tight, "IF-MEM-008")}
    assert len(fixes) == 1
    assert fixes.pop().startswith("write `gpu_memory_utilization: 0.92`")


def test_nodes_do_not_help_what_is_larger_than_a_gpu() -> None:
    """An instance that no GPU holds finds no place on more of them."""
    huge = SMALL.set("models.llama-8b.weights_gib", 100.0)
    fix = found(huge, "IF-MEM-008")[0].fix
    assert "add nodes" not in fix
    assert "GPU with more memory" in fix


def test_an_overlay_entry_can_be_pasted() -> None:
    """The entry in the fix is a whole one: pasted as given, the price is known and nothing new is wrong."""
    block = {"kind": "capacity_block", "id": "cr-0a1b2c3d4e5f60010", "ends_at": "2027-01-31T11:30:00Z"}
    env = DIS.set("pools.chat.capacity", block)
    fix = one(env, "IF-CST-002").fix
    line = yaml.safe_load(fix[fix.index("{") :])
    assert line["region"] == "us-east-1"
    priced = env.set("prices", {"overlay": [line]}).check().findings
    assert not [f for f in priced if f.rule.startswith(("IF-CST", "IF-ENV"))]


@pytest.mark.parametrize(("rule", "example"), [pytest.param(r, e, id=f"{r}-{n}") for n, (r, e) in
                         enumerate(all_examples(Fails))])  # fmt: skip
def test_numbers_can_be_copied(rule: str, example: Fails) -> None:
    """A fix has no thousands separators and no regular expression."""
    fix = example.finding(rule).fix
    assert not re.search(r"\d,\d{3}", fix)
    assert "^" not in fix
    assert "\\d" not in fix
    assert "change one of the fields" not in fix


def test_a_small_promise_and_a_nearly_whole_target() -> None:
    """0.1 ms is not 0 ms, 99.9999999 % is not 100 %, and a ceiling of a tenth of a cent is not $0."""
    quick = one(AGG.set(TTFT, 0.1), "IF-PRM-001")
    assert "promises 0.1 ms" in quick.what
    assert str(AGG.set(TTFT, 0.1).check().plan) is not None
    target = one(AGG.set("tiers.fast.availability_percent", 99.9999999), "IF-PRM-004")
    assert "the target is 99.9999999 %" in target.what
    assert "the ceiling is $0.001" in one(AGG.set("budget", {"usd_per_month": 0.001}), "IF-CST-001").what


def test_amounts_that_round_alike_are_told_apart() -> None:
    """g6e.12xlarge: $10.49264 x 730 = $7,659.6272; a ceiling of 7,659.6 is below it and both say so."""
    what = one(AGG.set("budget", {"usd_per_month": 7659.6}), "IF-CST-001").what
    assert "$7659.63" in what
    assert "$7659.6" in what


FLAGS = f"{WORKER}.flags"


@pytest.mark.parametrize(
    ("flag", "value", "says"),
    [
        ("--swap-space", float("nan"), None),
        ("--nccl-timeout-seconds", float("inf"), None),
        ("--max-logprobs", -2, "at least -1"),
        ("--max-logprobs", 1.5, "whole number"),
        ("--data-parallel-rpc-port", 70_000, "65535"),
        ("--compilation-config", "{level: 3}", "JSON"),
        ("--compilation-config", "3", "JSON object"),
        ("--compilation-config", 3, "JSON object"),
        ("--max-logprobs", -1, ""),
        ("--compilation-config", '{"mode": 3}', ""),
        ("--data-parallel-rpc-port", 29_550, ""),
    ],
)
def test_values_of_flags(flag: str, value: object, says: str | None) -> None:
    """Numbers are finite and within the flag's bounds, ports end at 65535, configurations are JSON objects."""
    findings = [f for f in AGG.set(FLAGS, {flag: value}).check().findings if f.rule == "IF-ENG-001"]
    if says == "":
        assert not findings
        return
    [finding] = findings
    assert says is None or says in finding.what


def test_an_unknown_flag_is_one_finding() -> None:
    """It is the environment's mistake, not also a fault of ours."""
    env = AGG.set(FLAGS, {"--enforce-eagr": True, "--no-such": False})
    assert [f.rule for f in env.check().findings if f.rule.startswith("IF-ENG")] == ["IF-ENG-001"] * 2


def test_a_share_is_one_finding() -> None:
    """A cell that is too busy for two models of two tiers has one share to correct; the busiest is named."""
    env = AGG.set("models.more", AGG.get("models.qwen-8b")).set("tiers.calm", AGG.get("tiers.fast"))
    for name, tier in (("docs-2", "fast"), ("docs-3", "calm")):
        env = env.set(f"pools.{name}", {**AGG.get("pools.docs"), "model": "more", "tier": tier})
        env = env.set(f"cells.east-a.pools.{name}", {})
    west = cell("aws", "us-west-2", "us-west-2a", "10.18.0.0/16", "docs", "docs-2", "docs-3")
    env = env.set("cells.west", west).set("cells.east-a.traffic_share", 0.9)
    env = env.set("tiers.fast.workload.utilization", 0.6).set("tiers.calm.workload.utilization", 0.7)
    assert "126% busy" in one(env, "IF-PRM-006").what


def test_a_long_name_is_one_finding() -> None:
    """A pool's name is in the node group's and in Grove's: shortened by the largest overrun, all fit."""
    long = "p" * 38
    env = AGG.rename("pools.docs", long).rename("cells.east-a.pools.docs", long)
    finding = one(env, "IF-NAM-001")
    by = int(finding.fix.rpartition(" ")[2])
    short = "p" * (38 - by)
    mended = AGG.rename("pools.docs", short).rename("cells.east-a.pools.docs", short)
    assert not found(mended, "IF-NAM-001")
    one_less = f"{short}p"
    assert found(AGG.rename("pools.docs", one_less).rename("cells.east-a.pools.docs", one_less), "IF-NAM-001")


def test_memory_of_two_roles_is_one_finding() -> None:
    """Prefill and decode of a model share one CPU tier: one number to correct."""
    tier = DIS.set("models.llama-70b.offload", {"cpu_gib_per_gpu": 300.0})
    one(tier, "IF-MEM-005")
