"""dynamo.vllm's command line: a wrong flag, choice, type or JSON key is refused by the pair's own lists."""

import argparse
import json
from typing import Any

import pytest

from .engine_flags import FlagError, Parser, add_engine_flags, json_object
from .sample_files import graph, main
from .worker_args import CLASSES, class_problems, config_classes, engine_flag_list, worker_problems, written_problems

NIXL = '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}'
PREFILL = ["--model", "m", "--disaggregation-mode", "prefill", "--kv-transfer-config", NIXL]


def transfer(mode: str, **config: Any) -> list[str]:
    return ["--model", "m", "--disaggregation-mode", mode, "--kv-transfer-config", json.dumps(config)]


def test_sound_workers() -> None:
    """The samples, and each way of writing a value."""
    for name in ("prefill", "decode"):
        assert worker_problems(main(graph(), name)["args"]) == []
        assert class_problems(main(graph(), name)["args"]) == []
    for more in (
        ["--no-enable-prefix-caching"],
        ["--max-model-len", "auto"],
        ["--max-num-batched-tokens", "16K"],
        ["--enable-expert-parallel", "--data-parallel-size", "8"],
        ["--served-model-name", "a", "b"],
        ["--middleware", "a"],
        ["--lora-modules", '{"name":"a","path":"b"}'],
    ):
        assert worker_problems([*PREFILL, *more]) == [], more


ARGS: dict[str, tuple[list[str], str]] = {
    "unknown flag": (["--swap-space", "4"], "unrecognized"),
    "abbreviation": (["--tensor-parallel", "4"], "unrecognized"),
    "removed flag": (["--is-prefill-worker"], "unrecognized"),
    "frontend's flag": (["--router-mode", "kvv"], "unrecognized"),
    "stray word": (["stray"], "unrecognized"),
    "no value": (["--block-size"], "expected one argument"),
    "choice": (["--kv-cache-dtype", "fp4"], "invalid choice"),
    "choice of the wrapper": (["--event-plane", "kafka"], "invalid choice"),
    "int": (["--tensor-parallel-size", "four"], "is no int"),
    "int with underscore": (["--tensor-parallel-size", "1_0"], "is no int"),
    "float for int": (["--tensor-parallel-size", "4.0"], "is no int"),
    "float": (["--gpu-memory-utilization", "92%"], "is no float"),
    "bound": (["--gpu-memory-utilization", "1.2"], "is not le 1"),
    "bool with value": (["--enable-prefix-caching", "true"], "unrecognized"),
    "no json": (["--speculative-config", "{'method': 'ngram'}"], "no JSON"),
    "json list": (["--speculative-config", "[]"], "no JSON object"),
    "json twice": (["--speculative-config", '{"a":1,"a":2}'], "stands twice"),
    "one word": (["--tensor-parallel-size=4"], "word of its own"),
    "short": (["-tp", "4"], "long spelling"),
    "twice": (["--block-size", "16", "--block-size", "32"], "stands 2 times"),
    "connector": (["--connector", "nixl"], "refused by dynamo.vllm"),
}


@pytest.mark.parametrize("case", ARGS)
def test_workers_refuse(case: str) -> None:
    """One wrong word after sound ones."""
    more, says = ARGS[case]
    assert worker_problems(PREFILL) == []
    found = worker_problems([*PREFILL, *more])
    assert any(says in line for line in found), found


TRANSFER: dict[str, tuple[list[str], str]] = {
    "prefill without": (["--model", "m", "--disaggregation-mode", "prefill"], "needs --kv-transfer-config"),
    "role": (transfer("prefill", kv_connector="NixlConnector", kv_role="kv_consumer"), "as kv_consumer"),
    "other role": (transfer("decode", kv_connector="NixlConnector", kv_role="kv_producer"), "as kv_producer"),
    "both": (transfer("decode", kv_connector="NixlConnector", kv_role="kv_both"), "as kv_both"),
    "no role": (transfer("decode", kv_connector="NixlConnector"), "without kv_role"),
    "connector": (transfer("decode", kv_connector="NIXLConnector", kv_role="kv_consumer"), "no connector"),
    "child": (
        transfer(
            "decode",
            kv_connector="MultiConnector",
            kv_role="kv_both",
            kv_connector_extra_config={"connectors": [{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}]},
        ),
        "as kv_producer",
    ),
    "no model": (["--block-size", "16"], "--model"),
}


@pytest.mark.parametrize("case", TRANSFER)
def test_transfer_refuses(case: str) -> None:
    """Roles and connectors, those inside a MultiConnector too."""
    args, says = TRANSFER[case]
    assert any(says in line for line in worker_problems(args)), worker_problems(args)


KEYS: dict[str, tuple[list[str], str]] = {
    "key": (["--speculative-config", '{"num_spec_tokens":3}'], "no field num_spec_tokens"),
    "type": (["--speculative-config", '{"num_speculative_tokens":"3"}'], "is no int"),
    "bool": (["--speculative-config", '{"num_speculative_tokens":true}'], "is no int"),
    "bound": (["--speculative-config", '{"num_speculative_tokens":0}'], "is not gt 0"),
    "method": (["--speculative-config", '{"method":"eagle4"}'], "one of"),
    "publisher": (["--kv-events-config", '{"publisher":"nats"}'], "one of"),
    "events key": (["--kv-events-config", '{"enable":true}'], "no field enable"),
    "null": (["--kv-events-config", '{"endpoint":null}'], "null"),
    "eplb": (["--eplb-config", '{"window":1}'], "no field window"),
    "role": (transfer("decode", kv_connector="NixlConnector", kv_role="producer"), "one of"),
    "port": (transfer("decode", kv_connector="NixlConnector", kv_role="kv_consumer", kv_port="14579"), "is no int"),
    "child": (
        transfer(
            "decode",
            kv_connector="MultiConnector",
            kv_role="kv_both",
            kv_connector_extra_config={"connectors": [{"kv_connector": "OffloadingConnector", "role": "kv_both"}]},
        ),
        "connectors[0]: KVTransferConfig has no field role",
    ),
}


@pytest.mark.parametrize("case", KEYS)
def test_config_classes_refuse(case: str) -> None:
    """Keys and values of JSON flags, by the fields of vLLM's classes."""
    more, says = KEYS[case]
    args = more if "--model" in more else ["--model", "m", *more]
    assert any(says in line for line in class_problems(args)), class_problems(args)


def test_every_named_class_and_flag_exists() -> None:
    """CLASSES is of this vLLM."""
    assert set(CLASSES.values()) <= set(config_classes())
    assert all(engine_flag_list()[flag]["type"] == name for flag, name in CLASSES.items())


def test_the_whole_list_makes_a_parser() -> None:
    """Every flag of the list is in the parser, in all its spellings."""
    parser = Parser()
    add_engine_flags(parser, engine_flag_list())
    spellings = {spelling for flag in engine_flag_list().values() for spelling in flag["flags"] if spelling[0] == "-"}
    assert spellings <= set(parser._option_string_actions)
    with pytest.raises(FlagError):
        parser.parse_args(["--nope"])
    with pytest.raises(argparse.ArgumentTypeError):
        json_object('{"a": NaN}')


def test_words_are_strings() -> None:
    """A number that YAML read as one is no argument; JSON values and negative numbers are no flags."""
    assert written_problems(["--seed", 1]) == ["1 is no string"]
    assert written_problems(["--seed", "-1", "--kv-transfer-config", '{"a":"--b=c"}']) == []
