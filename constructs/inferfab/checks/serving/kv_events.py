"""A router that chooses by KV cache, and the events that it needs to know what is where."""

from collections.abc import Iterator

from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.known_models import model_of
from inferfab.checks.serving.register import of_manifests, serving_rule
from inferfab.checks.serving.views import EngineView, FrontendView, Serving
from inferfab.manifests.model import Manifests

_EVENTS = "--kv-events-config"


@serving_rule(
    "IF-ENG-014",
    "KV events that nobody sends, or that say nothing",
    joins=("engine", "pod"),
    why="a KV-aware router without events guesses from what it sent itself, with no error: it routes as well as a "
    "random one once there are two routers or evictions (dynamo#11984, #11473).",
    do="give every worker `--kv-events-config` with `enable_kv_cache_events` and `publisher: zmq`, and leave prefix "
    "caching on; or say `--no-router-kv-events`.",
    source="ai-dynamo 1.6.1 dynamo/vllm/args.py create_kv_events_config; vLLM 0.31.0 vllm/config/kv_events.py",
)
def events_are_sent(serving: Serving) -> Iterator[Problem]:
    listening = [f for f in serving.frontends if f.mode == "kv" and f.events]
    for engine in serving.engines:
        events = engine.json(_EVENTS)
        if events is not None:
            yield from _says_something(engine, events)
        if listening and engine.program == "dynamo.vllm" and _EVENTS not in engine.given:
            yield from _silent(engine, serving, listening[0])


def _says_something(engine: EngineView, events: dict[str, object]) -> Iterator[Problem]:
    spot = engine.at(_EVENTS)
    on = events.get("enable_kv_cache_events", False)
    publisher = events.get("publisher", "zmq" if on else "null")
    if on and publisher not in ("zmq",):
        yield spot.problem(f"{engine.name} enables KV events and publishes them to `{publisher}`", 'write `"publisher":'
                           '"zmq"`')  # fmt: skip
    elif not on and events.get("publisher") == "zmq":
        yield spot.problem(
            f"{engine.name} names a publisher of KV events and does not enable them",
            'add `"enable_kv_cache_events":true`',
        )
    if on and engine.on("--enable-prefix-caching") is False:
        yield engine.at("--enable-prefix-caching").problem(
            f"{engine.name} publishes KV events with prefix caching off: there is nothing to tell",
            f"remove `--no-enable-prefix-caching`, or `{_EVENTS}`",
            severity="warning",
        )


def _silent(engine: EngineView, serving: Serving, router: FrontendView) -> Iterator[Problem]:
    if engine.unsure(_EVENTS) or (engine.role == "decode" and serving.of_role("prefill")):
        return  # decode workers of a pair are chosen by load, not by prefix
    off = engine.on("--enable-prefix-caching") is False
    yield engine.spot.problem(
        f"{router.name} routes by KV cache, and {engine.name} publishes no events" + (
            " (nor caches any prefix)" if off else ""
        ),
        f'add `{_EVENTS} {{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557"}}`'
        + (" and remove `--no-enable-prefix-caching`" if off else ""),
        severity="error" if engine.vllm is not None else "warning",
    )  # fmt: skip


@manifest_rule(
    "IF-ENG-015",
    "a KV block size that router and workers do not share",
    joins=("engine", "pod"),
    why="the router hashes prompts in blocks of another size than the workers, finds nothing, and routes as if no "
    "cache were there; nothing is logged (dynamo#1232, reproduced with Dynamo's mocker).",
    do="use one block size on router, prefill and decode, or leave the router's out.",
    source="dynamo#1232, #1233; ai-dynamo 1.6.1 run on loopback: blocks of 16 and 64 were accepted silently",
)
def blocks_shared_with_router(manifests: Manifests) -> Iterator[Problem]:
    for serving in of_manifests(manifests):
        yield from _router_blocks(serving)
        yield from _worker_blocks(serving)


def block_tokens(engine: EngineView) -> int | None:
    """As given; else the engine's default where the model is known: 16, and 64 for latent attention."""
    if "--block-size" in engine.given or engine.hidden:
        return engine.whole("--block-size")
    model = model_of(engine)
    if model is None:
        return None
    return 64 if any(group.kind == "mla" for group in model.shape.attention) else 16


def _router_blocks(serving: Serving) -> Iterator[Problem]:
    for router in serving.frontends:
        if router.block_tokens is None or router.mode not in ("kv", None):
            continue
        for engine in serving.engines:
            size = block_tokens(engine)
            if engine.program == "dynamo.vllm" and size is not None and size != router.block_tokens:
                yield router.block_spot.problem(
                    f"{router.name} counts in blocks of {router.block_tokens} tokens and {engine.name} in blocks of "
                    f"{size}",
                    f"write {size} on both",
                )
                break


def _worker_blocks(serving: Serving) -> Iterator[Problem]:
    """Workers of one role that one router chooses among."""
    if not any(r.mode == "kv" for r in serving.frontends):
        return
    for role in ("worker", "prefill"):
        engines = [e for e in serving.of_role(role) if block_tokens(e)]
        for engine in engines[1:]:
            first, size = block_tokens(engines[0]), block_tokens(engine)
            if size != first and engine.model == engines[0].model:
                yield engine.at("--block-size").problem(
                    f"{engine.name} has blocks of {size} tokens and {engines[0].name} of {first}, behind one router",
                    f"write {first} on both",
                )
