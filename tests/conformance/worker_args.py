"""The command line of a ``dynamo.vllm`` worker, held against the pair's lists.

The lists are the catalog's data files, read here without inferfab's own reader and checks. Unproven: what vLLM itself
does with the values once they parse (a config class of another type than the list says, a model that cannot do it).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .engine_flags import BOUNDS, FlagError, Parser, add_engine_flags, takes_json

DATA = Path(__file__).resolve().parents[2] / "constructs" / "inferfab" / "catalog" / "data"
DYNAMO, VLLM = "1.6.1", "0.31.0"

CONNECTORS = {
    "NixlConnector", "NixlPullConnector", "NixlPushConnector", "MultiConnector", "OffloadingConnector",
    "SimpleCPUOffloadConnector", "LMCacheConnectorV1", "LMCacheMPConnector", "MooncakeConnector",
    "MooncakeStoreConnector", "FlexKVConnectorV1",
}  # fmt: skip
"""vllm 0.31.0 distributed/kv_transfer/kv_connector/factory.py (examples and other makers' hardware left out)."""

CLASSES = {
    "--kv-transfer-config": "KVTransferConfig",
    "--kv-events-config": "KVEventsConfig",
    "--speculative-config": "SpeculativeConfig",
    "--eplb-config": "EPLBConfig",
    "--compilation-config": "CompilationConfig",
    "--kernel-config": "KernelConfig",
    "--attention-config": "AttentionConfig",
}
"""Flags whose JSON is a config class that the class list holds; of the others only that they are a JSON object."""

Classes = Mapping[str, Mapping[str, Mapping[str, Any]]]


@cache
def engine_flag_list(version: str = VLLM) -> dict[str, Any]:
    """The flags of a vLLM as the catalog has them."""
    flags: dict[str, Any] = json.loads((DATA / f"vllm_flags_{version}.json").read_text(encoding="utf-8"))["flags"]
    return flags


@cache
def wrapper_flag_list(version: str = DYNAMO) -> dict[str, Any]:
    """The flags that dynamo.vllm takes before vLLM sees the rest."""
    lists = json.loads((DATA / f"dynamo_flags_{version}.json").read_text(encoding="utf-8"))
    return {**lists["dynamo.runtime(common worker flags)"], **lists["dynamo.vllm wrapper"]}


@cache
def config_classes(version: str = VLLM) -> Classes:
    """The config classes of a vLLM; skips the test where the shared folder is absent."""
    path = Path(__file__).parent / "schemas" / f"vllm_config_classes_{version}.json"
    classes: Classes = json.loads(path.read_text(encoding="utf-8"))["classes"]
    return classes


@cache
def _parser() -> Parser:
    parser = Parser(prog="dynamo.vllm")
    ours = {spelling for flag in engine_flag_list().values() for spelling in flag["flags"]}
    for name, flag in wrapper_flag_list().items():
        if name in ours or name in {"--help", "--version"}:
            continue
        options: dict[str, Any] = {"dest": f"dynamo:{flag['dest']}", "default": None}
        if flag["type"] == "bool":
            names = [name, *flag["aliases"]]
            parser.add_argument(*names, action="store_true", **options)
            continue
        if flag["type"] in {"int", "float"}:
            options["type"] = int if flag["type"] == "int" else float
        if flag["choices"]:
            options["choices"] = flag["choices"]
        if flag["nargs"]:
            options["nargs"] = flag["nargs"]
        parser.add_argument(name, **options)
    add_engine_flags(parser, engine_flag_list())
    return parser


def written_problems(args: Sequence[object]) -> list[str]:
    """How the words are written. The operator counts ranks from ``--tensor-parallel-size N`` as two words only."""
    found = [f"{word!r} is no string" for word in args if not isinstance(word, str)]
    words = [word for word in args if isinstance(word, str)]
    for word in words:
        if word.startswith("--") and "=" in word.partition(" ")[0] and not word.startswith("{"):
            found.append(f"{word}: a value as a word of its own, the operator does not see {word.partition('=')[0]}")
        elif word.startswith("-") and not word.startswith("--") and not word[1:2].isdigit():
            found.append(f"{word}: the long spelling, the operator does not see this one")
        elif word.startswith("--") and word != word.strip():
            found.append(f"{word!r}: space around a flag")
    flags = [word for word in words if word.startswith("--")]
    found += [f"{flag}: stands {flags.count(flag)} times" for flag in sorted({f for f in flags if flags.count(f) > 1})]
    return found


def worker_problems(args: Sequence[str]) -> list[str]:
    """What is wrong with the arguments after ``-m dynamo.vllm``; empty if nothing."""
    found = written_problems(args)
    if found:
        return found
    try:
        given = vars(_parser().parse_args(list(args)))
    except FlagError as error:
        return [str(error)]
    if not given["model"]:
        found.append("--model: without it the worker serves Qwen/Qwen3-0.6B")
    mode = given["dynamo:disaggregation_mode"]
    # dynamo/vllm/args.py, update_dynamo_config_with_engine.
    if mode == "prefill" and given["kv_transfer_config"] is None:
        found.append("--disaggregation-mode prefill needs --kv-transfer-config")
    if given["dynamo:connector"] is not None:
        found.append("--connector: refused by dynamo.vllm")
    found += _transfer_problems(given["kv_transfer_config"], mode)
    return found


def _transfer_problems(transfer: Mapping[str, Any] | None, mode: str | None) -> Iterator[str]:
    """Connectors that exist, and roles that fit the worker's."""
    for config in _with_children(transfer):
        name, role = config.get("kv_connector"), config.get("kv_role")
        if name not in CONNECTORS and "kv_connector_module_path" not in config:
            yield f"--kv-transfer-config: no connector {name!r}"
        if name is not None and role is None:
            yield f"--kv-transfer-config: {name} without kv_role"
        wrong = {"prefill": "kv_consumer", "decode": "kv_producer"}.get(mode or "")
        if str(name).startswith("Nixl") and role in {wrong, "kv_both"}:
            # kv_both with NIXL is deprecated in 0.31.
            yield f"--kv-transfer-config: {name} as {role} on a {mode or 'worker'}"


def _with_children(transfer: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    if transfer is None:
        return
    yield transfer
    for child in (transfer.get("kv_connector_extra_config") or {}).get("connectors", ()):
        yield from _with_children(child)


def class_problems(args: Sequence[str], classes: Classes | None = None) -> list[str]:
    """Keys and values of the JSON flags against the fields of the config classes."""
    classes = config_classes() if classes is None else classes
    try:
        given = vars(_parser().parse_args(list(args)))
    except FlagError:
        return []  # worker_problems says it
    found = []
    for flag, name in CLASSES.items():
        value = given.get(flag.removeprefix("--").replace("-", "_"))
        if isinstance(value, dict):
            found += _fields(value, name, classes, flag)
    for number, child in enumerate(list(_with_children(given["kv_transfer_config"]))[1:]):
        found += _fields(child, "KVTransferConfig", classes, f"--kv-transfer-config connectors[{number}]")
    return found


def _fields(value: Mapping[str, Any], name: str, classes: Classes, where: str) -> Iterator[str]:
    fields = classes[name]
    for key, given in value.items():
        if key not in fields:
            yield f"{where}: {name} has no field {key}"
            continue
        yield from _value(given, fields[key], classes, f"{where} {key}")


def _value(given: Any, field: Mapping[str, Any], classes: Classes, where: str) -> Iterator[str]:
    kind = str(field.get("type"))
    if given is None:
        if not field.get("optional") and "null" not in (field.get("choices") or ()):
            yield f"{where}: null"
        return
    if kind in classes and isinstance(given, dict):
        yield from _fields(given, kind, classes, where)
        return
    expected = {"int": int, "float": (int, float), "str": str, "bool": bool}.get(kind)
    if takes_json(kind):
        expected = dict
    if expected is not None and (not isinstance(given, expected) or (isinstance(given, bool) and kind != "bool")):
        yield f"{where}: {given!r} is no {kind}"
        return
    choices = field.get("choices")
    if isinstance(choices, list) and not field.get("choices_open") and given not in choices:
        yield f"{where}: {given!r}, one of {', '.join(map(str, choices))}"
    for word, limit in (field.get("constraints") or {}).items():
        if isinstance(given, int | float) and not BOUNDS[word](given, limit):
            yield f"{where}: {given} is not {word} {limit:g}"
