"""Processes of manifests as views: which serve together, and in which role."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

import yaml

from inferfab.checks.serving.kv_transfer import transfer_of
from inferfab.checks.serving.pairing import paired
from inferfab.checks.serving.views import (
    MODE,
    MODE_ENV,
    EngineView,
    FrontendView,
    Given,
    Role,
    Serving,
    Spot,
    Variable,
    json_of,
)
from inferfab.manifests.config_maps import mounted_file
from inferfab.manifests.model import Manifests, Process, Workload
from inferfab.manifests.nodes import Ref
from inferfab.manifests.processes import version_known


def spot(ref: Ref) -> Spot:
    return Spot(ref.path, ref.at)


def servings(manifests: Manifests) -> tuple[Serving, ...]:
    """Each graph; and of everything else in one folder and namespace what belongs together."""
    found = []
    for graph in manifests.graphs:
        components = manifests.components(graph)
        engines = tuple(engine_view(w, p) for w in components for p in w.engines)
        fronts = tuple(f for w in components for p in w.processes for f in _frontend(manifests, w, p))
        found.append(Serving(f"graph `{graph.name}`", engines, fronts, spot(graph.ref)))
    return (*found, *_others(manifests))


def _others(manifests: Manifests) -> Iterator[Serving]:
    together: dict[tuple[str, str], list[Workload]] = {}
    for workload in manifests.workloads:
        if workload.graph is None:
            folder = PurePath(workload.file).parent
            variants = not manifests.together(workload.file, str(folder / "another file"))
            place = workload.file if variants else str(folder)
            together.setdefault((place, workload.namespace), []).append(workload)
    for workloads in together.values():
        engines = [engine_view(w, p) for w in workloads for p in w.engines]
        fronts = tuple(f for w in workloads for p in w.processes for f in _frontend(manifests, w, p))
        for group in paired(manifests, engines):
            yield _serving(group, fronts)
        if fronts and not engines:
            yield Serving(fronts[0].name, (), fronts, fronts[0].spot)


def _serving(engines: tuple[EngineView, ...], fronts: tuple[FrontendView, ...]) -> Serving:
    return Serving(" and ".join(dict.fromkeys(e.name for e in engines)), engines, fronts, engines[0].spot)


def engine_view(workload: Workload, process: Process) -> EngineView:
    container, pod = process.container, workload.pod
    given = {
        o.flag: Given(o.flag, o.value, spot(o.value_ref if o.value is not None else o.ref), o.known, o.negative)
        for o in process.options.given
    }
    positional = next(iter(process.options.positional), None)
    if process.program == "vllm" and positional is not None and "--model" not in given:
        given["--model"] = Given("--model", positional.text, spot(positional.ref), positional.known)
    given = {**given, **_dotted(given)}
    resources = {**container.requests, **container.limits}
    view = EngineView(
        name=f"`{workload.name or container.name}`",
        role="worker",
        program=process.program,
        image_version=process.image.version if process.image.known else None,
        vllm=process.image.vllm if version_known(process) else None,
        given=given,
        env={n: Variable(v.value, v.field, spot(v.ref)) for n, v in process.env_vars.items()},
        spot=spot(process.ref),
        resources={name: amount.value for name, amount in resources.items() if "/" in name or "hugepages" in name},
        privileged=container.privileged,
        capabilities=container.capabilities,
        networked=pod.host_network or pod.claims or bool(pod.networks),
        gpus=container.gpus,
        nodes=workload.nodes,
        hidden=process.options.hidden,
        env_hidden=container.env_from,
        process=process,
        workload=workload,
    )
    return EngineView(**{**vars(view), "role": _role(workload, view)})


def _dotted(given: Mapping[str, Given]) -> dict[str, Given]:
    """Flags whose JSON is given key by key (``--hf-overrides.rope_parameters.factor 4.0``), each as one object."""
    merged: dict[str, Given] = {}
    for name in {n.partition(".")[0] for n in given if n.startswith("--") and "." in n}:
        keys = [g for n, g in given.items() if n.startswith(f"{name}.")]
        whole = json_of(given, name)
        place = given.get(name, keys[0]).spot
        known = all(g.known for g in keys) and whole is not None
        merged[name] = Given(name, json.dumps(whole) if whole is not None else None, place, known)
    return merged


def _role(workload: Workload, view: EngineView) -> Role:
    """In a graph by the component's type, which the operator and the frontend go by; else by the flag, by what the
    manifest calls it, by the KV role, by its name."""
    if workload.graph is not None and workload.role in ("prefill", "decode"):
        return workload.role
    mode = view.value(MODE) or (view.env[MODE_ENV].value if MODE_ENV in view.env else None)
    if mode in ("prefill", "decode"):
        return "prefill" if mode == "prefill" else "decode"
    if view.on("--is-prefill-worker"):
        return "prefill"
    if view.on("--is-decode-worker"):
        return "decode"
    if mode in ("agg", "pd"):
        return "worker"
    if workload.role in ("prefill", "decode"):
        return workload.role
    transfer = transfer_of(view)
    if transfer is not None and transfer.role in ("kv_producer", "kv_consumer"):
        return "prefill" if transfer.role == "kv_producer" else "decode"
    named = re.search(r"prefill|decode", workload.name.lower())
    moves = transfer is not None and transfer.moves
    if named and moves and "prefill" in named[0]:
        return "prefill"
    return "decode" if named and moves else "worker"


def _listens(manifests: Manifests, workload: Workload, process: Process) -> bool | None:
    """Whether a router wants KV events: by its flag, else by its policy file; None where that file is not seen."""
    stated, file = process.on("--router-kv-events"), process.option("--router-policy-config")
    if stated is not None or file is None:
        return stated is not False
    node = mounted_file(manifests, workload, process.container, file.value or "") if file.known else None
    try:
        policy = yaml.safe_load(node.text or "") if node is not None else None
    except yaml.YAMLError:
        return None
    router = policy.get("router") if isinstance(policy, dict) else None
    if node is None or not isinstance(router, dict):
        return None if node is None else True
    return router.get("use_kv_events", True) is not False


def _frontend(manifests: Manifests, workload: Workload, process: Process) -> Iterator[FrontendView]:
    if process.program != "dynamo.frontend":
        return
    mode = process.option("--router-mode")
    environment = process.env("DYN_ROUTER_MODE")
    block = process.option("--kv-cache-block-size")
    block_env = process.env("DYN_KV_CACHE_BLOCK_SIZE")
    value = mode.value if mode is not None and mode.known else environment.value if environment else None
    if mode is None and environment is None and not process.options.hidden:
        value = "round-robin"
    size = process.whole("--kv-cache-block-size")
    if block is None and block_env is not None and (block_env.value or "").isdigit():
        size = int(block_env.value or 0)
    yield FrontendView(
        name=f"`{workload.name}`",
        mode=value,
        mode_spot=spot(mode.value_ref if mode else environment.ref if environment else process.ref),
        events=_listens(manifests, workload, process),
        block_tokens=size,
        block_spot=spot(block.value_ref if block else block_env.ref if block_env else process.ref),
        spot=spot(process.ref),
    )
