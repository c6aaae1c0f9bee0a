"""Prefill against decode: what the KV handshake compares, and what it cannot do.

Sources: vLLM 0.31.0 vllm/distributed/kv_transfer/kv_connector/v1/nixl (metadata.py compute_nixl_compatibility_hash,
tp_mapping.py, base_worker.py), vllm#29503, vllm#43523, vllm#22430.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import inferfab.checks.engine_settings  # noqa: F401 - enters IF-ENG-004, which judges manifests too
from inferfab.checks.registry import Problem
from inferfab.checks.remedies import splits_heads
from inferfab.checks.serving.known_models import model_of
from inferfab.checks.serving.kv_transfer import Connector, transfer_of
from inferfab.checks.serving.register import judges_manifests, serving_rule
from inferfab.checks.serving.views import EngineView, Serving

_EQUAL = {
    "--revision": "revision",
    "--dtype": "dtype",
    "--quantization": "quantization",
    "--kv-cache-dtype": "KV cache dtype",
}
"""Flags that both sides must give alike; what neither gives is alike."""
_ALIKE = {"auto": None, "half": "float16", "fp8": "fp8_e4m3", "fp8_e4m3": "fp8_e4m3"}
_MOONCAKE = "MooncakeConnector"
_SHARED_STORES = ("LMCache", "Mooncake")
"""Connectors that put KV cache where another worker with the same connector finds it."""
_PULLS = ("NixlConnector", "NixlPullConnector")


@serving_rule(
    "IF-ENG-012",
    "prefill and decode with settings that differ",
    joins=("engine", "fabric"),
    why="the KV handshake is rejected or the cache is read wrongly, and every request fails or waits for its timeout.",
    do="give both roles the same image, model, revision, dtypes, attention backend, speculative method and connector.",
    source="vLLM 0.31.0 vllm/distributed/kv_transfer/kv_connector/v1/nixl/metadata.py "
    "compute_nixl_compatibility_hash; vllm#29503",
)
def settings_agree(serving: Serving) -> Iterator[Problem]:
    yield from _once(serving, _settings)


def _settings(prefill: EngineView, decode: EngineView) -> Iterator[Problem]:
    yield from _images(prefill, decode)
    yield from _models(prefill, decode)
    for flag, words in _EQUAL.items():
        yield from _flag(prefill, decode, flag, words)
    yield from _attention(prefill, decode)
    yield from _hybrid(prefill, decode)
    yield from _speculative(prefill, decode)
    yield from _connectors(prefill, decode)


def _once(serving: Serving, judge: Callable[[EngineView, EngineView], Iterator[Problem]]) -> Iterator[Problem]:
    """One engine that differs from many is one problem, and so are many that differ alike from one."""
    found: dict[tuple[object, ...], list[Problem]] = {}
    for prefill, decode in _pairs(serving):
        for problem in judge(prefill, decode):
            bare = problem.what.replace(prefill.name, "").replace(decode.name, "")
            found.setdefault((bare, problem.fix, problem.severity), []).append(problem)
    for same in found.values():
        more = len(same) - 1
        yield replace(same[0], what=f"{same[0].what}; so it is with {more} more pair(s)") if more else same[0]


def _pairs(serving: Serving) -> Iterator[tuple[EngineView, EngineView]]:
    """Each decode engine with the first prefill engine, and each further prefill engine with the first decode one."""
    prefill, decode = serving.of_role("prefill"), serving.of_role("decode")
    if prefill and decode:
        yield from ((prefill[0], d) for d in decode)
        yield from ((p, decode[0]) for p in prefill[1:])


def _differ(decode: EngineView, flag: str, words: str, ours: object, theirs: object, prefill: EngineView) -> Problem:
    side, other = (decode, prefill) if flag in decode.given or flag not in prefill.given else (prefill, decode)
    mine, wanted = (ours, theirs) if side is decode else (theirs, ours)
    shown = [f"`{v}`" if v is not None else "the default" for v in (mine, wanted)]
    fix = f"write `{flag} {wanted}`" if wanted is not None else f"remove `{flag}`, or give it on both sides"
    return side.at(flag).problem(f"{words} is {shown[0]} in {side.name} and {shown[1]} in {other.name}", fix)


def _images(prefill: EngineView, decode: EngineView) -> Iterator[Problem]:
    ours, theirs = decode.image_version, prefill.image_version
    if ours and theirs and ours != theirs:
        spot = decode.spot
        if decode.process is not None:
            ref = decode.process.container.image_ref
            spot = type(spot)(ref.path, ref.at)
        yield spot.problem(
            f"{decode.name} runs version {ours} and {prefill.name} version {theirs}", f"use {theirs} on both sides"
        )


def _models(prefill: EngineView, decode: EngineView) -> Iterator[Problem]:
    ours, theirs = decode.model, prefill.model
    if not ours or not theirs or ours.rstrip("/") == theirs.rstrip("/"):
        return
    local = [text.startswith(("/", ".", "s3://", "gs://")) for text in (ours, theirs)]
    if local[0] != local[1]:
        return  # one of them is a copy of what the other names, or is not: nobody can tell here
    yield _differ(decode, "--model", "the model", ours, theirs, prefill)


def _flag(prefill: EngineView, decode: EngineView, flag: str, words: str) -> Iterator[Problem]:
    if prefill.unsure(flag) or decode.unsure(flag):
        return
    ours, theirs = decode.value(flag), prefill.value(flag)
    if _ALIKE.get(ours or "auto", ours) != _ALIKE.get(theirs or "auto", theirs):
        yield _differ(decode, flag, f"the {words}", ours, theirs, prefill)


def _attention(prefill: EngineView, decode: EngineView) -> Iterator[Problem]:
    flag, name = "--attention-backend", "VLLM_ATTENTION_BACKEND"
    if prefill.unsure(flag) or decode.unsure(flag):
        return
    said = []
    for engine in (decode, prefill):
        variable = engine.env.get(name)
        if variable is not None and variable.value is None:
            return
        said.append((engine.value(flag) or (variable.value if variable else None) or "").upper() or None)
    if said[0] != said[1]:
        yield _differ(decode, flag, "the attention backend", said[0], said[1], prefill)


def _hybrid(prefill: EngineView, decode: EngineView) -> Iterator[Problem]:
    flag = "--disable-hybrid-kv-cache-manager"
    if prefill.hidden or decode.hidden or prefill.on(flag) == decode.on(flag):
        return
    side, other = (decode, prefill) if flag in decode.given else (prefill, decode)
    yield side.at(flag).problem(
        f"the hybrid KV cache manager is switched {'off' if side.on(flag) else 'on'} in {side.name} and not said in "
        f"{other.name}",
        f"give `{flag}` on both sides or on neither",
    )


def _speculative(prefill: EngineView, decode: EngineView) -> Iterator[Problem]:
    flag = "--speculative-config"
    if prefill.unsure(flag) or decode.unsure(flag):
        return
    ours, theirs = (decode.json(flag) or {}), (prefill.json(flag) or {})
    for key, words in (("method", "speculative method"), ("model", "draft model")):
        if ours.get(key) != theirs.get(key) and (ours or theirs):
            side, other = (decode, prefill) if ours else (prefill, decode)
            mine, wanted = (ours, theirs) if side is decode else (theirs, ours)
            yield side.at(flag).problem(
                f"the {words} is `{mine.get(key) or 'none'}` in {side.name} and `{wanted.get(key) or 'none'}` in "
                f"{other.name}",
                "give both sides the same `--speculative-config`; only `num_speculative_tokens` may differ",
            )
            return


def _connectors(prefill: EngineView, decode: EngineView) -> Iterator[Problem]:
    ours, theirs = transfer_of(decode), transfer_of(prefill)
    if ours is None or theirs is None:
        return  # IF-ENG-013
    mine, other = _carrying(ours), _carrying(theirs)
    if mine and other and not set(mine) & set(other):
        yield decode.at("--kv-transfer-config").problem(
            f"{decode.name} moves KV cache with {mine[0]} and {prefill.name} with {other[0]}",
            f"use {other[0]} on both sides",
        )
    elif ours.nixl and theirs.nixl and not set(ours.backends) & set(theirs.backends):
        yield decode.at("--kv-transfer-config").problem(
            f"NIXL of {decode.name} runs over {' and '.join(ours.backends)} and that of {prefill.name} over "
            f"{' and '.join(theirs.backends)}",
            f'write `"backends":{json.dumps(theirs.backends)}` on both sides',
        )


def _carrying(connector: Connector) -> list[str]:
    """Names by which KV cache can reach the other side: from worker to worker, or through a store that both have."""
    names = [c.name for c in connector.leaves if c.moves or c.name.startswith(_SHARED_STORES)]
    return ["NixlConnector" if n in _PULLS else n for n in names]


@judges_manifests("IF-ENG-004")
def shapes_map(serving: Serving) -> Iterator[Problem]:
    for decode in serving.of_role("decode"):
        transfer = transfer_of(decode)
        if transfer is not None and transfer.moves:
            yield from _consumer(decode)
    yield from _once(serving, _shapes)


def _shapes(prefill: EngineView, decode: EngineView) -> Iterator[Problem]:
    transfer = transfer_of(prefill) or transfer_of(decode)
    if transfer is not None and transfer.moves:
        yield from _tensor(prefill, decode, transfer)
        yield from _blocks(prefill, decode)


def _consumer(decode: EngineView) -> Iterator[Problem]:
    for flag, words in (("--pipeline-parallel-size", "pipeline stages"), ("--prefill-context-parallel-size", "context "
                        "parallelism of the prompt")):  # fmt: skip
        number = decode.whole(flag, 1)
        if number is not None and number > 1:
            yield decode.at(flag).problem(
                f"{decode.name} receives KV cache and has {number} {words}", "write 1", value=str(number)
            )


def _tensor(prefill: EngineView, decode: EngineView, transfer: Connector) -> Iterator[Problem]:
    flag = "--tensor-parallel-size"
    ours, theirs = decode.tensor, prefill.tensor
    if not ours or not theirs or ours == theirs:
        return
    # Where the flag can be changed to what the other side has, and the model's heads allow that (IF-ENG-003).
    model = model_of(decode) or model_of(prefill)
    sides = [(decode, theirs), (prefill, ours)]
    given = [(side, number) for side, number in sides if flag in side.given]
    possible = [(side, number) for side, number in given if model is None or splits_heads(model.shape, number)]
    side, wanted = (possible or given or sides)[0]
    spot, fix = side.at(flag), f"write {wanted}" if possible else "write one number on both sides"
    numbers = f"(prefill {theirs}, decode {ours})"
    if max(ours, theirs) % min(ours, theirs):
        yield spot.problem(
            f"tensor parallelism of {prefill.name} and {decode.name} {numbers}: neither is a multiple of the other",
            fix,
        )
    elif any(c.name == _MOONCAKE for c in transfer.leaves):
        yield spot.problem(f"{_MOONCAKE} needs the same tensor parallelism on both sides {numbers}", fix)
    elif any((e.value("--kv-cache-dtype") or "").startswith("nvfp4") for e in (prefill, decode)):
        yield spot.problem(f"an NVFP4 KV cache needs the same tensor parallelism on both sides {numbers}",
                           fix)  # fmt: skip


def _blocks(prefill: EngineView, decode: EngineView) -> Iterator[Problem]:
    flag = "--block-size"
    if prefill.unsure(flag) or decode.unsure(flag):
        return
    ours, theirs = decode.whole(flag), prefill.whole(flag)
    if ours == theirs:
        return
    side = decode if flag in decode.given else prefill
    shown = f"prefill {theirs or 'the default'}, decode {ours or 'the default'}"
    if ours is None or theirs is None:
        # The default is the model's: 16, and 64 for latent attention.
        yield side.at(flag).problem(
            f"KV blocks of {prefill.name} and {decode.name} differ ({shown})",
            f"give `{flag} {ours or theirs}` on both sides",
            severity="warning",
        )
        return
    tensor = (prefill.tensor or 1, decode.tensor or 1)
    hybrid = prefill.on("--disable-hybrid-kv-cache-manager") is False
    if theirs > ours or tensor[0] > tensor[1] or hybrid or ours % theirs:
        because = (
            "decode blocks must not be smaller than prefill blocks" if theirs > ours
            else f"with more GPUs on the prefill side ({tensor[0]} and {tensor[1]}) they must be equal"
            if tensor[0] > tensor[1]
            else "with the hybrid KV cache manager they must be equal" if hybrid
            else "neither is a multiple of the other"
        )  # fmt: skip
        yield side.at(flag).problem(
            f"KV blocks of {prefill.name} and {decode.name} differ ({shown}): {because}", f"write {theirs}"
        )
