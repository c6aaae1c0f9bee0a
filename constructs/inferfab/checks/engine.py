"""Command lines against the pair's flag lists."""

import json
import math
from collections.abc import Iterator

from inferfab.catalog.engines import Flag, vllm_flags, worker_flags
from inferfab.catalog.replaced import replaced_flags
from inferfab.checks.facts import Facts
from inferfab.checks.flag_owners import SECRETS, server_flag
from inferfab.checks.places import once, stated_flags
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import plain
from inferfab.environment.problems import meant
from inferfab.plan.engine import Argument

DECIDED = {
    "--model": "models.*.source", "--served-model-name": "the model's name", "--revision": "models.*.revision",
    "--max-model-len": "models.*.context_tokens", "--kv-cache-dtype": "models.*.kv_cache_dtype",
    "--enable-prefix-caching": "models.*.prefix_caching", "--no-enable-prefix-caching": "models.*.prefix_caching",
    "--speculative-config": "models.*.speculative", "--tensor-parallel-size": "tensor_parallel",
    "--pipeline-parallel-size": "pipeline_parallel", "--data-parallel-size": "data_parallel",
    "--enable-expert-parallel": "expert_parallel", "--block-size": "block_tokens",
    "--gpu-memory-utilization": "gpu_memory_utilization", "--max-num-seqs": "max_sequences",
    "--max-num-batched-tokens": "max_batched_tokens", "--disaggregation-mode": "topology",
    "--kv-transfer-config": "topology and fabric",
    "--kv-offloading-size": "models.*.offload", "--kv-offloading-backend": "models.*.offload",
    "--kv-events-config": "prefix caching and routing",
}  # fmt: skip
"""Flags that the plan decides, and the field that decides each: a second place would disagree one day."""


@rule(
    "IF-ENG-001",
    "a flag that the engine does not have",
    joins=("environment", "engine"),
    why="the engine exits at start with a usage message, in every pod.",
    do="use the long name of a flag of the pinned vLLM's engine, or of Dynamo's own worker.",
    source="flag lists of the pair, parsed from the released sources; ai-dynamo 1.6.1 dynamo/vllm/args.py",
)
def flags_known(facts: Facts) -> Iterator[Problem]:
    pair = facts.fleet.engine
    known = worker_flags(pair.vllm, pair.dynamo)
    for at, flag, value in stated_flags(facts):
        path = at.path("flags", flag)
        if flag in SECRETS:
            continue  # IF-ENG-023
        elsewhere = server_flag(pair.vllm, flag) if flag not in known or flag == "model_tag" else None
        if elsewhere is not None:
            yield Problem(
                path,
                f"`{flag}` is a flag of vLLM's own HTTP server, and workers run `dynamo.vllm`, which has none",
                elsewhere,
                of_key=True,
            )
            continue
        if flag in DECIDED:
            yield Problem(
                path, f"`{flag}` is decided by {DECIDED[flag]}", "set it there and remove it here", of_key=True
            )
            continue
        declared = known.get(flag)
        negated = known.get(f"--{flag.removeprefix('--no-')}") if flag.startswith("--no-") else None
        if declared is None and negated is not None and negated.negatable:
            yield Problem(
                path,
                f"`{flag}` is written as its opposite",
                f"write `--{flag.removeprefix('--no-')}: false`",
                of_key=True,
            )
        elif declared is None or not flag.startswith("--"):
            long = next((f for f in declared.flags if f.startswith("--")), None) if declared else None
            gone = replaced_flags().get(("dynamo.vllm", flag)) or replaced_flags().get(("vllm", flag))
            fix = f"write `{long}`" if long else meant(flag, [f for f in known if f.startswith("--")])
            fix = gone.advice if gone and not declared else fix
            yield Problem(
                path,
                f"vLLM {facts.fleet.engine.vllm} has no flag `{flag}`"
                if not declared
                else f"`{flag}` is a short form that the operator does not read",
                fix,
                of_key=True,
            )
        else:
            yield from _value_fits(declared, flag, value, path)


def _value_fits(
    declared: Flag, flag: str, value: str | int | float | bool, path: tuple[str | int, ...]
) -> Iterator[Problem]:
    if isinstance(value, float) and not math.isfinite(value):
        yield Problem(path, f"`{flag}` cannot be {value}, which is no number", "write a number")
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    switch = declared.action in ("store_true", "store_false") or declared.type == "bool"
    if switch and not isinstance(value, bool):
        yield Problem(path, f"`{flag}` is a switch, not {value!r}", "write true or false")
    elif switch and value is False and not declared.negatable:
        yield Problem(path, f"`{flag}` is off unless named", "remove it")
    elif not switch and isinstance(value, bool):
        yield Problem(path, f"`{flag}` takes a value, not {str(value).lower()}", "write its value")
    elif declared.type in ("int", "float") and isinstance(value, str) and declared.choices is None:
        yield Problem(path, f"`{flag}` takes a number, not {value!r}", "write a number")
    elif declared.type == "int" and isinstance(value, float):
        whole = f"write {value:.0f}" if value == round(value) else "write a whole number"
        yield Problem(path, f"`{flag}` takes a whole number, not {value!r}", whole)
    elif number and (bound := declared.outside(float(value))):
        yield Problem(path, f"`{flag}` must be {bound}, not {plain(float(value))}", f"write a value {bound}")
    elif number and flag.endswith("-port") and not 0 <= float(value) <= 65535:
        yield Problem(path, f"`{flag}` cannot be {value}: ports end at 65535", "write a port from 1 to 65535")
    elif declared.takes_json and (wrong := _not_an_object(value)):
        yield Problem(path, f"`{flag}` takes a JSON object, and {wrong}", "write one in quotes, like '{\"key\": 1}'")
    elif isinstance(declared.choices, tuple) and not declared.choices_open and value not in declared.choices:
        yield Problem(path, f"`{flag}` cannot be {value!r}", meant(value, [str(c) for c in declared.choices], most=20))


def _not_an_object(value: str | int | float | bool) -> str:
    """Why ``value`` is no JSON object; empty if it is one."""
    if not isinstance(value, str):
        return f"{value!r} is a number"
    try:
        read = json.loads(value)
    except ValueError as error:
        return f"{value!r:.60} is not JSON ({error})"
    return "" if isinstance(read, dict) else f"{value!r:.60} is none"


@rule(
    "IF-ENG-002",
    "a command line that the pair does not accept",
    joins=("engine", "pod"),
    why="what the plan decides itself must be in the pair's list too; this finding means a fault of ours, or a pair "
    "that is half added.",
    do="report it; until then use another value or pair.",
    source="flag list of the pair, parsed from the released sources",
)
def decided_flags_known(facts: Facts) -> Iterator[Problem]:
    known = vllm_flags(facts.fleet.engine.vllm)
    for at in once(facts.roles()):
        asked = getattr(facts.asked(at.pool.name), at.role.role).flags
        stated = {*asked, *(f"--no-{flag.removeprefix('--')}" for flag in asked)}
        for argument in at.role.engine.arguments:
            if argument.flag in ("--disaggregation-mode", *stated) or _accepted(known, argument):
                continue  # a flag that the environment states is IF-ENG-001's
            shown = " ".join(part for part in (argument.flag, argument.value) if part)
            yield Problem(
                at.path(),
                f"vLLM {facts.fleet.engine.vllm} does not accept `{shown:.80}`",
                "choose another value",
                of_key=True,
            )


def _accepted(known: dict[str, Flag], argument: Argument) -> bool:
    declared = known.get(argument.flag)
    if declared is None:
        positive = known.get(f"--{argument.flag.removeprefix('--no-')}")
        return argument.flag.startswith("--no-") and positive is not None and positive.negatable
    if isinstance(declared.choices, tuple) and not declared.choices_open and argument.value is not None:
        return argument.value in [str(c) for c in declared.choices]
    return True
