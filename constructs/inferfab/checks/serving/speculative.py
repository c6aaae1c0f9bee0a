"""Speculative decoding as a command line asks for it."""

from collections.abc import Iterator

import inferfab.checks.engine_settings  # noqa: F401 - enters IF-ENG-011, which judges manifests too
from inferfab.catalog.json_configs import json_flags
from inferfab.catalog.models import families_with_mtp
from inferfab.checks.registry import Problem
from inferfab.checks.serving.known_models import model_of
from inferfab.checks.serving.register import judges_manifests, serving_rule
from inferfab.checks.serving.views import EngineView, Serving
from inferfab.environment.problems import meant

FLAG = "--speculative-config"
_NEED_MODEL = ("draft_model", "eagle", "eagle3", "medusa", "mlp_speculator", "dflash")


@serving_rule(
    "IF-ENG-021",
    "speculative decoding that does not start",
    joins=("engine",),
    why="vLLM checks the object while it starts, after the node has been paid for and the pod was placed.",
    do="give `method`, `num_speculative_tokens` above zero, and `model` for a method that has weights of its own.",
    source="vLLM 0.31.0 vllm/config/speculative.py SpeculativeConfig.__post_init__ and _verify_args",
)
def speculation_starts(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        config = engine.json(FLAG)
        if config is not None:
            yield from _one(engine, config)


def _one(engine: EngineView, config: dict[str, object]) -> Iterator[Problem]:
    spot, method, tokens = engine.at(FLAG), config.get("method"), config.get("num_speculative_tokens")
    listed = json_flags().get(engine.vllm or "", {}).get(FLAG, {}).get("method")
    choices = [str(c) for c in (listed.choices or ())] if listed else []
    if choices and method is not None and method not in choices:
        yield spot.problem(f"{engine.name}: there is no speculative method `{method}`", meant(method, choices, most=40))
    if tokens is None:
        if method != "suffix":
            yield spot.problem(f"{engine.name}: `num_speculative_tokens` is missing", "add it, like 3")
    elif not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1:
        yield spot.problem(f"{engine.name}: `num_speculative_tokens` is {tokens!r}", "write a whole number above zero")
    if method in _NEED_MODEL and not config.get("model"):
        yield spot.problem(f"{engine.name}: the method `{method}` needs a `model` of its own", 'add `"model":"…"`')
    if method is None and not config.get("model"):
        yield spot.problem(f"{engine.name}: neither `method` nor `model` is given", 'add `"method":"ngram"`')


@judges_manifests("IF-ENG-011")
def prediction_modules_exist(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        model, config = model_of(engine), engine.json(FLAG) or {}
        if model is not None and config.get("method") == "mtp" and model.family not in families_with_mtp():
            families = ", ".join(families_with_mtp())
            yield engine.at(FLAG).problem(
                f"{model.title} has no modules for multi-token prediction; the families {families} do", "write `ngram`"
            )
