"""Runs Dynamo's own parsers. A script for the Python of Dynamo's virtual environment; the tests start it.

JSON in: a list of questions, each ``{"ask": NAME, "argv": [...], "files": {path: text}, "env": {...}}``.
JSON out: a list of answers, each ``{"error": text or null, "warnings": [...], "values": {...}}``.

Unproven even here: the planner's run (its AISimulate is not to be had), and vLLM. vLLM's parser is stood in for by one
made from its flag list, and its EngineArgs by a plain object; what dynamo.vllm does around them is the real thing.
"""

import argparse
import dataclasses
import importlib.metadata
import json
import logging
import os
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import engine_flags  # a neighbour, and no package here

Question = dict[str, Any]


class Refused(Exception):
    """Not accepted."""


def _error(_: argparse.ArgumentParser, message: str) -> None:
    raise Refused(message)


def _no_abbreviations() -> None:
    """Dynamo takes ``--router-mod`` for ``--router-mode``; a rendered file spells it out."""
    argparse.ArgumentParser.error = _error
    original = argparse.ArgumentParser.__init__

    def made(self: argparse.ArgumentParser, *args: Any, **options: Any) -> None:
        original(self, *args, **{**options, "allow_abbrev": False})

    argparse.ArgumentParser.__init__ = made


def ask_versions(_: Question) -> dict[str, Any]:
    """What is installed here."""
    return {name: importlib.metadata.version(name) for name in ("ai-dynamo", "ai-dynamo-runtime", "pydantic")}


def ask_frontend(question: Question) -> dict[str, Any]:
    """``python3 -m dynamo.frontend``: its parse_args, then the router configuration that the Rust side checks."""
    from dynamo.common.configuration.groups.router_args import build_router_config
    from dynamo.frontend import main

    _argv("dynamo.frontend", question)
    config, _, _ = main.parse_args()
    build_router_config(config)
    return _values(config)


def ask_router(question: Question) -> dict[str, Any]:
    """``python3 -m dynamo.router``."""
    from dynamo.router.args import build_kv_router_config, parse_args

    config = parse_args(question["argv"])
    build_kv_router_config(config)
    return _values(config)


def ask_router_policy(question: Question) -> dict[str, Any]:
    """A policy file alone: the Rust side reads it when a KvRouterConfig is made."""
    from dynamo.llm import KvRouterConfig

    KvRouterConfig(router_policy_config=question["argv"][0])
    return {}


def ask_global_router(question: Question) -> dict[str, Any]:
    """``python3 -m dynamo.global_router``: arguments, then its configuration file, closed."""
    from dynamo.global_router import __main__ as main
    from dynamo.global_router import pool_selection

    _argv("dynamo.global_router", question)
    config = main.parse_args()
    pools = pool_selection.load_config(config.config_path)
    written = json.loads(Path(config.config_path).read_text(encoding="utf-8"))
    # load_config takes what it knows out of the JSON and passes over the rest.
    for path in _unknown(written, pools, "config"):
        raise Refused(f"unknown key {path}")
    return {**_values(config), "pools": dataclasses.asdict(pools)}


def _unknown(written: Any, read: Any, path: str) -> list[str]:
    if not dataclasses.is_dataclass(read) or not isinstance(written, dict):
        return []
    names = {field.name for field in dataclasses.fields(read)}
    found = [f"{path}.{key}" for key in written if key not in names]
    for name in names & set(written):
        found += _unknown(written[name], getattr(read, name), f"{path}.{name}")
    return found


def ask_planner(question: Question) -> dict[str, Any]:
    """``python3 -m dynamo.planner --config``: PlannerConfig, with unknown keys refused at every level."""
    config_class = _planner_config()
    parser = argparse.ArgumentParser()
    # dynamo/planner/__main__.py, _parse_config.
    parser.add_argument("--config", required=True)
    text = parser.parse_args(question["argv"]).config
    config = config_class.from_config_arg(text)
    path = Path(text)
    written = text
    if text in question["paths"]:
        written = path.read_text(encoding="utf-8")
    import yaml

    # JSON is YAML; from_config_arg has read it as the one or the other already.
    for key in _unknown_to_model(yaml.safe_load(written), config, "config"):
        raise Refused(f"unknown key {key}")
    return config.model_dump(mode="json")


def _planner_config() -> Any:
    """PlannerConfig without dynamo/planner/__init__.py, which needs AISimulate."""
    import dynamo

    for base in map(Path, dynamo.__path__):
        for name in ("planner", "planner.config", "planner.plugins", "planner.plugins.registry"):
            folder = base.joinpath(*name.split("."))
            if folder.is_dir():
                shell = types.ModuleType(f"dynamo.{name}")
                shell.__path__ = [str(folder)]
                sys.modules.setdefault(f"dynamo.{name}", shell)
    from dynamo.planner.config.planner_config import PlannerConfig

    return PlannerConfig


def _unknown_to_model(written: Any, model: Any, path: str) -> list[str]:
    if isinstance(written, list) and isinstance(model, list | tuple):
        return [
            key
            for number, (one, of) in enumerate(zip(written, model, strict=False))
            for key in _unknown_to_model(one, of, f"{path}[{number}]")
        ]
    fields = getattr(type(model), "model_fields", None)
    if fields is None or not isinstance(written, dict):
        return []
    names = {}
    for name, field in fields.items():
        alias = field.validation_alias
        for word in (name, field.alias, *getattr(alias, "choices", [alias])):
            if isinstance(word, str):
                names[word] = name
    found = [f"{path}.{key}" for key in written if key not in names]
    for key in set(written) & set(names):
        found += _unknown_to_model(written[key], getattr(model, names[key]), f"{path}.{key}")
    return found


def ask_vllm(question: Question) -> dict[str, Any]:
    """``python3 -m dynamo.vllm``: all of its parse_args, over a stand-in for vLLM."""
    _stand_in_for_vllm(question["vllm_flags"])
    from dynamo.vllm import args

    config = args.parse_args(question["argv"])
    return {**_values(config), "engine_args": _values(config.engine_args)}


def _stand_in_for_vllm(flags: engine_flags.Flags) -> None:
    if "vllm" in sys.modules:
        return
    defaults = {
        name.removeprefix("--").replace("-", "_"): flag.get("default")
        for name, flag in flags.items()
        if not str(flag.get("default")).startswith("factory:")
    }

    class FlexibleArgumentParser(argparse.ArgumentParser):
        pass

    class EngineArgs(types.SimpleNamespace):
        @staticmethod
        def add_cli_args(parser: argparse.ArgumentParser, **_: Any) -> argparse.ArgumentParser:
            engine_flags.add_engine_flags(parser, flags)
            return parser

        @classmethod
        def from_cli_args(cls, given: argparse.Namespace) -> "EngineArgs":
            # The list has vLLM's defaults, but those that are made at start ("factory:...").
            kept = {name: defaults.get(name) if value is None else value for name, value in vars(given).items()}
            for name in ("kv_transfer_config", "kv_events_config"):
                if kept[name] is not None:
                    first = {"enable_kv_cache_events": False, "kv_connector": None, "kv_connector_extra_config": {}}
                    kept[name] = types.SimpleNamespace(**{**first, **kept[name]})
            return cls(**kept)

    for name, content in {
        "vllm": {},
        "vllm.config": {"VllmConfig": types.SimpleNamespace},
        "vllm.distributed": {},
        "vllm.distributed.kv_events": {"KVEventsConfig": types.SimpleNamespace},
        "vllm.engine": {},
        "vllm.engine.arg_utils": {"AsyncEngineArgs": EngineArgs},
        "vllm.v1": {},
        "vllm.v1.engine": {},
        "vllm.v1.engine.async_llm": {"AsyncLLM": types.SimpleNamespace},
        "vllm.utils": {"FlexibleArgumentParser": FlexibleArgumentParser},
    }.items():
        module = types.ModuleType(name)
        module.__path__ = []
        vars(module).update(content)
        sys.modules[name] = module


def _argv(program: str, question: Question) -> None:
    # These two read sys.argv.
    sys.argv = [program, *question["argv"]]


def _values(config: Any) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(json.dumps(vars(config), default=str))
    return values


ASKS = {
    "versions": ask_versions,
    "frontend": ask_frontend,
    "router": ask_router,
    "router_policy": ask_router_policy,
    "global_router": ask_global_router,
    "planner": ask_planner,
    "vllm": ask_vllm,
}


def answer(question: Question) -> dict[str, Any]:
    """One answer. The question's files exist while it is asked, its environment is the only one with DYN_* in it."""
    kept_environment, heard = dict(os.environ), _Heard()
    logging.getLogger().addHandler(heard)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        moved = {}
        for number, (path, text) in enumerate(question.get("files", {}).items()):
            moved[path] = Path(folder) / str(number) / Path(path).name
            moved[path].parent.mkdir()
            moved[path].write_text(text, encoding="utf-8")
        question["argv"] = [str(moved.get(word, word)) for word in question.get("argv", [])]
        question["paths"] = {str(path) for path in moved.values()}
        os.environ.update(question.get("env", {}))
        try:
            values, error = ASKS[question["ask"]](question), None
        except SystemExit as stop:
            values, error = {}, f"exits with {stop.code}: {' '.join(heard.lines)}"
        except Exception as refusal:  # whatever a parser raises is its refusal
            values, error = {}, f"{type(refusal).__name__}: {refusal}"
        finally:
            os.environ.clear()
            os.environ.update(kept_environment)
            logging.getLogger().removeHandler(heard)
    return {"error": error, "values": values, "warnings": [*(str(one.message) for one in warned), *heard.lines]}


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__(level=logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def main() -> None:
    """Answer what stands on stdin."""
    # Rust and Python log to stdout; the answer alone goes where it belongs.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for name in [name for name in os.environ if name.startswith(("DYN_", "VLLM_"))]:
        del os.environ[name]
    # Else dynamo.vllm looks for this machine's address.
    os.environ["VLLM_NIXL_SIDE_CHANNEL_HOST"] = "127.0.0.1"
    _no_abbreviations()
    # Else the first import of a program takes our ears off the root logger.
    import dynamo.runtime.logging

    dynamo.runtime.logging.configure_dynamo_logging = lambda *_, **__: None
    questions = json.load(sys.stdin)
    json.dump([answer(question) for question in questions], out)
    out.close()


if __name__ == "__main__":
    main()
