"""Kinds of faults in an environment, each with the rule that must catch it and every place in which it can stand."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml
from mutation_run import Injected

from environments import ALL_PARTS, Env, base, check_text

ROOT = Path(__file__).parent.parent.parent
Places = Callable[[Env], Iterator[tuple[str, Env]]]
FAULTS: list[tuple[str, str, Places]] = []


def fault(rule: str, name: str) -> Callable[[Places], Places]:
    def enter(places: Places) -> Places:
        FAULTS.append((rule, name, places))
        return places

    return enter


def sound() -> dict[str, Env]:
    """The environments that ship, and a small one with every kind of pool."""
    files = {
        path.stem: Env(yaml.safe_load(path.read_text(encoding="utf-8")))
        for path in sorted((ROOT / "environments").glob("*.yaml"))
    }
    return {**files, "all parts": base(*ALL_PARTS)}


def workers(env: Env, *roles: str) -> Iterator[str]:
    """Dotted paths of the workers of these roles."""
    for name, pool in env.get("pools").items():
        for role in roles or ("prefill", "decode", "worker"):
            if role in pool:
                yield f"pools.{name}.{role}"


def of_workers(rule: str, name: str, field: str, value: object, *roles: str) -> None:
    def places(env: Env) -> Iterator[tuple[str, Env]]:
        for at in workers(env, *roles):
            yield at, env.set(f"{at}.{field}", value)

    fault(rule, name)(places)


def of_each(rule: str, name: str, section: str, field: str, value: object) -> None:
    def places(env: Env) -> Iterator[tuple[str, Env]]:
        for entry in env.get(section):
            yield f"{section}.{entry}", env.set(f"{section}.{entry}.{field}", value)

    fault(rule, name)(places)


of_workers("IF-ENG-001", "a flag that vLLM does not have", "flags", {"--enforce-eagerly": True})
of_workers("IF-ENG-001", "a flag that the plan decides", "flags", {"--tensor-parallel-size": 2})
of_workers("IF-ENG-003", "heads that do not divide", "tensor_parallel", 3)
of_workers("IF-ENG-004", "stages on the side that receives", "pipeline_parallel", 2, "decode")
of_each("IF-ENG-010", "a block of no kernel", "pools", "block_tokens", 20)
of_workers("IF-ENG-012", "an attention backend on one side", "flags", {"--attention-backend": "FLASHINFER"},
           "prefill", "decode")  # fmt: skip
of_workers("IF-ENG-012", "a dtype on one side", "flags", {"--dtype": "float16"}, "prefill", "decode")
of_workers("IF-ENG-018", "prompts longer than a pass", "flags", {"--enable-chunked-prefill": False}, "decode")
of_workers("IF-ENV-012", "a number in quotes", "tensor_parallel", "2")
of_workers("IF-ENV-010", "a misspelled field", "tensor_paralel", 2)
of_workers("IF-MEM-010", "all of the GPU's memory", "gpu_memory_utilization", 0.99)
of_workers("IF-PLC-001", "tensor parallelism beyond a node", "tensor_parallel", 16)
of_workers("IF-ENG-005", "fewer tokens than sequences", "max_batched_tokens", 1)
of_each("IF-ENV-010", "an unknown field of a model", "models", "contxt_tokens", 1)
of_each("IF-MEM-003", "a context longer than the model's", "models", "context_tokens", 9_000_000)
of_each("IF-REF-002", "a model that the catalog does not have", "models", "catalog", "llama-9-1t")
of_each("IF-REF-005", "a tier that is not there", "pools", "tier", "platinum")
of_each("IF-REF-007", "a zone that is not there", "cells", "zone", "xx-nowhere-1a")
of_each("IF-NET-001", "an address range that is none", "cells", "network", {"kind": "new", "cidr": "10.1.2.3/16"})
of_each("IF-NET-002", "a range of the wrong size", "cells", "network", {"kind": "new", "cidr": "10.96.0.0/28"})
of_each("IF-CLD-001", "a machine that no cloud sells", "pools", "instance", "p9.96xlarge")


@fault("IF-FAB-003", "TCP for a pool that moves KV cache")
def _(env: Env) -> Iterator[tuple[str, Env]]:
    for name, pool in env.get("pools").items():
        if pool["topology"] == "disaggregated":
            yield name, env.set(f"pools.{name}.fabric", "tcp")


@fault("IF-CHK-001", "a change to a rule that is not there")
def _(env: Env) -> Iterator[tuple[str, Env]]:
    change = {"rule": "IF-XXX-999", "severity": "off", "reason": "this rule was never there"}
    yield "checks", env.set("checks", [*env.tree.get("checks", ()), change])


def _usable(changed: Env, rule: str) -> bool:
    # `gpu` and `instance` exclude each other; the fault is about the machine.
    return not (rule == "IF-CLD-001" and any("gpu" in p for p in changed.get("pools").values() if "instance" in p))


def run() -> Iterator[Injected]:
    """Each fault in each place of each sound environment."""
    for name, env in sound().items():
        before = Counter(f.rule for f in check_text(env.text).findings)
        for rule, fault_name, places in FAULTS:
            for where, changed in places(env):
                if not _usable(changed, rule):
                    continue
                after = Counter(f.rule for f in check_text(changed.text).findings)
                new = tuple(sorted(r for r in after if after[r] > before[r]))
                yield Injected(rule, fault_name, name, where, rule in new, tuple(r for r in new if r != rule))
