"""Dynamo's own parsers take what is right and refuse what is wrong, so that a pass of them means something."""

import json
from typing import Any

import pytest

from . import dynamo_tool
from .dynamo_tool import Answer, Question, ask
from .sample_files import document
from .worker_args import DYNAMO

POLICY = document("ConfigMap", "router-policy")["data"]["policy.yaml"]
POOLS = json.loads(document("ConfigMap", "pools")["data"]["pools.json"])
SLA: dict[str, Any] = {"backend": "vllm", "mode": "disagg", "optimization_target": "sla", "ttft_ms": 300, "itl_ms": 25}
NIXL = '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}'


def policy(text: str) -> Question:
    """A frontend with this policy file."""
    return Question("frontend", ["--router-mode", "kv", "--router-policy-config", "/p.yaml"], {"/p.yaml": text})


def pools(**change: Any) -> Question:
    """A GlobalRouter with these pools."""
    return Question(
        "global_router", ["--config", "/p.json", "--model-name", "m"], {"/p.json": json.dumps({**POOLS, **change})}
    )


def grid(**change: Any) -> Question:
    """A GlobalRouter with this grid."""
    return pools(agg_pool_selection_strategy={**POOLS["agg_pool_selection_strategy"], **change})


def planner(**change: Any) -> Question:
    """A planner with this configuration inline."""
    return Question("planner", ["--config", json.dumps({**SLA, **change})])


def frontend(*argv: str, **env: str) -> Question:
    """A frontend."""
    return Question("frontend", argv, env=env)


def vllm(*argv: str) -> Question:
    """A worker."""
    return Question("vllm", ["--model", "m", *argv])


TAKEN = {
    "frontend": frontend("--router-mode", "kv", "--router-session-affinity-ttl-secs", "600"),
    "policy": policy(POLICY),
    "router": Question("router", ["--endpoint", "a.b.c", "--router-block-size", "16"]),
    "pools": pools(),
    "planner": planner(),
    "planner file": Question("planner", ["--config", "/p.yaml"], {"/p.yaml": "backend: vllm\nmode: agg\n"}),
    "prefill": vllm("--disaggregation-mode", "prefill", "--kv-transfer-config", NIXL, "--tensor-parallel-size", "2"),
    "decode": vllm("--disaggregation-mode", "decode", "--kv-events-config", '{"enable_kv_cache_events":true}'),
}

REFUSED: dict[str, tuple[Question, str]] = {
    "router mode": (frontend("--router-mode", "kvv"), "invalid choice"),
    "unknown flag": (frontend("--no-such-flag"), "Unknown arguments"),
    "abbreviation": (frontend("--router-mod", "kv"), "Unknown arguments"),
    "affinity": (frontend("--router-session-affinity-ttl-secs", "0"), "between 1"),
    "threshold": (frontend("--active-decode-blocks-threshold", "90"), "between 0.0 and 1.0"),
    "conditional": (
        frontend("--router-mode", "round-robin", "--router-conditional-disagg"),
        "requires --router-mode=kv",
    ),
    "certificate": (frontend("--tls-cert-path", "/x"), "together"),
    "environment": (frontend(DYN_ROUTER_SESSION_AFFINITY_TTL_SECS="0"), "between 1"),
    "policy top": (policy(f"bogus: 1\n{POLICY}"), "unknown field `bogus`"),
    "policy router": (policy(POLICY.replace("router_event_threads", "event_threads")), "unknown router setting"),
    "policy class": (policy(POLICY.replace("quantum:", "quantumm:")), "unknown field `quantumm`"),
    "policy queue": (policy(POLICY.replace("fcfs", "fifo")), "unknown variant"),
    "policy family": (policy(POLICY.replace("default_policy_family: standard", "default_policy_family: x")), "family"),
    "policy empty": (policy(""), "mapping"),
    "policy not there": (frontend("--router-mode", "kv", "--router-policy-config", "/nowhere.yaml"), "No such file"),
    "endpoint": (Question("router", ["--endpoint", "a.b"]), "Invalid endpoint"),
    "router flag": (Question("router", ["--endpoint", "a.b.c", "--nope"]), "nope"),
    "no pools": (Question("global_router", ["--model-name", "m"]), "config_path must be set"),
    "pool count": (pools(num_agg_pools=3), "does not match"),
    "pool key": (pools(agg_pool_priority=[0, 1]), "unknown key config.agg_pool_priority"),
    "pool mode": (pools(mode="aggregated"), "Unknown mode"),
    "grid key": (grid(ttft_min=0, isl=1), "unknown key config.agg_pool_selection_strategy"),
    "grid rows": (grid(agg_pool_mapping=[[0]]), "does not match"),
    "grid pool": (grid(agg_pool_mapping=[[0], [2]]), "Invalid agg pool index"),
    "priorities": (grid(priority_overrides=[{"min_priority": 5, "max_priority": 1, "target_pool": 0}]), "must be <="),
    "priority key": (grid(priority_overrides=[{"min": 5}]), "unexpected keyword"),
    "planner key": (planner(adjustment_interval=10), "unknown key config.adjustment_interval"),
    "planner target": (planner(optimization_target="latencies"), "optimization_target"),
    "planner number": (planner(ttft_ms="fast"), "ttft"),
    "planner ttft": (planner(ttft_ms=0), "ttft"),
    "planner loops": (planner(enable_throughput_scaling=False), "scaling"),
    "planner global": (planner(environment="global-planner"), "global_planner_namespace"),
    "planner deep": (planner(scheduling={"bogus": 1}), "bogus"),
    "planner json": (Question("planner", ["--config", "{'mode': 'agg'}"]), "neither a valid file path nor valid JSON"),
    "planner flag": (Question("planner", ["--mode", "agg"]), "--config"),
    "worker mode": (vllm("--disaggregation-mode", "prefil"), "invalid choice"),
    "worker flag": (vllm("--no-such-flag"), "unrecognized"),
    "worker router flag": (vllm("--router-mode", "kvv"), "invalid choice"),
    "worker transfer": (vllm("--disaggregation-mode", "prefill"), "--kv-transfer-config"),
    "worker connector": (vllm("--connector", "nixl"), "no longer supported"),
    "worker limit": (vllm("--engine-request-limit", "0"), "positive"),
    "worker benchmark": (vllm("--benchmark-points-file", "/x"), "requires --benchmark-mode"),
}

DEPRECATED = {
    "router flag": frontend("--router-mode", "kv", "--router-temperature", "0.1"),
    "load aware": frontend("--load-aware"),
    "global router": Question(
        "global_router", ["--config", "/p.json", "--model-name", "m"],
        {"/p.json": json.dumps(POOLS).replace("ttft_min_ms", "ttft_min")},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    """All questions asked at once."""
    questions = {f"taken: {name}": question for name, question in TAKEN.items()}
    questions |= {f"refused: {name}": question for name, (question, _) in REFUSED.items()}
    questions |= {f"deprecated: {name}": question for name, question in DEPRECATED.items()}
    questions["versions"] = Question("versions")
    return dict(zip(questions, ask(list(questions.values())), strict=True))


def test_the_pair(answers: dict[str, Answer]) -> None:
    """The parsers are of the Dynamo whose flags the catalog has."""
    versions = answers["versions"].values
    assert versions["ai-dynamo"] == versions["ai-dynamo-runtime"] == DYNAMO


@pytest.mark.parametrize("case", TAKEN)
def test_taken(case: str, answers: dict[str, Answer]) -> None:
    """Sound ones, and nothing about deprecation."""
    answer = answers[f"taken: {case}"]
    assert answer.error is None and answer.values
    assert answer.deprecations == []


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, answers: dict[str, Answer]) -> None:
    """One wrong thing each, refused with its own words."""
    error = answers[f"refused: {case}"].error
    assert error is not None, "taken"
    assert REFUSED[case][1] in error, error


@pytest.mark.parametrize("case", DEPRECATED)
def test_deprecated(case: str, answers: dict[str, Answer]) -> None:
    """What is on its way out is taken with a warning that we hear, or refused."""
    answer = answers[f"deprecated: {case}"]
    assert answer.deprecations or answer.error


def test_values_are_read(answers: dict[str, Answer]) -> None:
    """The answers hold what the parser made of the words."""
    assert answers["taken: frontend"].values["session_affinity_ttl_secs"] == 600
    assert answers["taken: policy"].values["router_event_threads"] == 2
    assert answers["taken: router"].values["router_block_size"] == 16
    assert answers["taken: planner"].values["itl_ms"] == 25
    worker = answers["taken: prefill"].values
    assert worker["component"] == "prefill" and worker["engine_args"]["tensor_parallel_size"] == 2
    assert answers["taken: decode"].values["use_kv_events"] is True


def test_a_named_python_must_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """DYNAMO_PYTHON that is no program fails; it does not skip."""
    monkeypatch.setenv(dynamo_tool.VARIABLE, "/nowhere/python")
    with pytest.raises(AssertionError, match="is not a program"):
        dynamo_tool.python()
