"""Ports: what listens, what asks, and what meets on one number."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.kv_transfer import transfer_of
from inferfab.checks.serving.manifest_views import engine_view, spot
from inferfab.checks.serving.views import EngineView, Spot
from inferfab.manifests.model import Manifests, Process, Workload
from inferfab.manifests.nodes import Node
from inferfab.manifests.selectors import pool_targets, selected, service_selector

_SYSTEM, _SIDE_CHANNEL, _EVENTS = 9090, 5600, 5557


def http_port(process: Process) -> int | None:
    """Where a process answers HTTP; None where it does not, or nobody can tell."""
    if process.program == "vllm":
        return None if headless(process) else process.whole("--port", 8000)
    if process.program == "dynamo.frontend":
        variable = process.env("DYN_HTTP_PORT")
        stated = (variable.value or "") if variable else ""
        default = int(stated) if stated.isdigit() else 8000
        return process.whole("--http-port", default)
    return None


def headless(process: Process) -> bool:
    """It runs ranks for another node's server. Source: vLLM 0.31.0 vllm/entrypoints/cli/serve.py run_headless."""
    return process.program == "vllm" and process.on("--headless") is True


def listening(workload: Workload) -> set[int] | None:
    """Ports that answer in a pod; None where nobody can tell all of them."""
    found: set[int] = set()
    for container in workload.pod.containers:
        inside = [p for p in workload.processes if p.container is container]
        if not inside or any(p.program not in ("vllm", "dynamo.frontend") for p in inside):
            # Another program, or one that is not understood: what it declares is believed.
            if not container.ports and container.name:
                return None
            found |= {p.number for p in container.ports}
            continue
        for process in inside:
            port = http_port(process)
            if headless(process):
                continue
            if port is None:
                return None
            found.add(port)
    if any(c.name and c.ports for c in workload.pod.init):
        found |= {p.number for c in workload.pod.init for p in c.ports}
    return found


def _names(workload: Workload) -> dict[str, int]:
    return {p.name: p.number for c in (*workload.pod.containers, *workload.pod.init) for p in c.ports if p.name}


@manifest_rule(
    "IF-POD-003",
    "a port at which nothing answers",
    joins=("pod", "engine"),
    why="the Service or the inference pool sends requests to a closed port, or the probe restarts a pod that is fine.",
    do="use the port that the engine's `--port` (or `--http-port`) says.",
    source="vLLM: --port, default 8000; Gateway API inference extension v1.6.0: InferencePool targetPorts; Kubernetes: "
    "Service targetPort, probes",
)
def ports_answer(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        ports = listening(workload) if workload.graph is None else None
        if ports is not None and workload.engines:
            yield from _probes(workload, ports)
        if workload.graph is None:
            yield from _sidecar(workload)
    for service in manifests.of_kind("Service"):
        for workload in selected(manifests, service.namespace, service_selector(service), service.file):
            yield from _service(service.node, service.name, workload)
    for pool in manifests.of_kind("InferencePool"):
        selector, targets = pool_targets(pool)
        for workload in selected(manifests, pool.namespace, selector, pool.file):
            ports = listening(workload)
            for target in targets:
                number = target.whole
                if ports and workload.engines and number is not None and number not in ports:
                    yield spot(target.ref).problem(
                        f"InferencePool `{pool.name}` sends to port {number} of `{workload.name}`, which answers at "
                        f"{_list(ports)}",
                        f"write {min(ports)}",
                        value=str(number),
                    )


def _list(ports: set[int]) -> str:
    return " and ".join(str(p) for p in sorted(ports))


def _probes(workload: Workload, ports: set[int]) -> Iterator[Problem]:
    names = _names(workload)
    for container in workload.pod.containers:
        if not any(p.container is container for p in workload.engines):
            continue
        for probe, node in container.probes:
            for kind in ("httpGet", "tcpSocket"):
                port = node.get(kind, "port")
                number = port.whole if port.whole is not None else names.get(port.text or "")
                if isinstance(port.value, str) and not re.search(r"[${]", port.value):
                    yield from _named(workload, probe, port, names, ports)
                    if port.value.isdigit():
                        continue
                if port.exists and number is not None and number not in ports:
                    yield spot(port.ref).problem(
                        f"the {probe} of `{workload.name}` asks port {number}, and the pod answers at {_list(ports)}",
                        f"write {min(ports)}",
                        value=port.text or "",
                    )


def _named(workload: Workload, probe: str, port: Node, names: dict[str, int], ports: set[int]) -> Iterator[Problem]:
    """A text is the name of a port, also one of digits, which no port can have."""
    text = str(port.value)
    if text.isdigit():
        what = f"the {probe} of `{workload.name}` asks the port named `{text}`: in quotes it is a name, and none is so"
        yield spot(port.ref).problem(what, f"write {text} without quotes", value=text)
    elif text not in names:
        what = f"the {probe} of `{workload.name}` asks port `{text}`, which no container names"
        yield spot(port.ref).problem(what, f"write {min(ports)}, or name the container's port `{text}`", value=text)


def _sidecar(workload: Workload) -> Iterator[Problem]:
    """llm-d's routing sidecar sends on to the engine beside it. Source: llm-d-inference-scheduler, pd-sidecar flags."""
    engines = {port for p in workload.engines if (port := http_port(p)) is not None}
    if not engines or any(http_port(p) is None and not headless(p) for p in workload.engines):
        return
    for container in (*workload.pod.init, *workload.pod.containers):
        words = list(container.args.items())
        for position, word in enumerate(words):
            flag, joined, value = (word.text or "").partition("=")
            if flag not in ("--vllm-port", "-vllm-port"):
                continue
            place = word if joined or position + 1 == len(words) else words[position + 1]
            stated = value if joined else place.text or ""
            if stated.isdigit() and int(stated) not in engines:
                yield spot(place.ref).problem(
                    f"`{container.name}` of `{workload.name}` sends to port {stated}, and the engine answers at "
                    f"{_list(engines)}",
                    f"write {min(engines)}",
                    value=stated,
                )


def _service(node: Node, name: str, workload: Workload) -> Iterator[Problem]:
    ports, names = listening(workload), _names(workload)
    if not ports or not workload.engines:
        return
    reached = {_target(item).whole or names.get(_target(item).text or "") for item in node.get("spec", "ports").items()}
    for item in node.get("spec", "ports").items():
        target = item.get("targetPort")
        place = target if target.exists else item.get("port")
        text = place.text or ""
        number = place.whole if place.whole is not None else names.get(text)
        if number is None and target.exists and text and not re.search(r"[${]", text):
            yield spot(place.ref).problem(
                f"Service `{name}` sends to port `{text}`, which no container of `{workload.name}` names",
                f"write {min(ports)}, or name the container's port `{text}`",
                value=text,
            )
        elif number is not None and number not in ports and _main(item):
            yield spot(place.ref).problem(
                f"Service `{name}` sends to port {number} of `{workload.name}`, which answers at {_list(ports)}",
                f"write {min(ports)}",
                value=text,
                # Beside a port that answers, one that does not may belong to a sidecar that is injected.
                severity="warning" if reached & ports else None,
            )


def _target(item: Node) -> Node:
    target = item.get("targetPort")
    return target if target.exists else item.get("port")


def _main(item: Node) -> bool:
    """A port for requests: ZMQ and metrics ports have names of their own."""
    return not re.search(r"zmq|kv|nixl|metric|grpc|ray|side|lmcache|gcs|dash", item.get("name").text or "")


@dataclass(frozen=True)
class _Taken:
    first: int
    last: int
    what: str
    spot: Spot


@manifest_rule(
    "IF-POD-004",
    "two listeners on one port",
    joins=("pod", "engine"),
    why="the second one does not start; of KV events and side channels each data-parallel rank takes a port of its "
    "own, counted up from the first, so ranges meet where numbers do not (dynamo#12095).",
    do="move one of them out of the other's range.",
    source="vLLM 0.31.0 vllm/distributed/kv_events.py ZmqEventPublisher.offset_endpoint_port, nixl/base_scheduler.py; "
    "Dynamo operator: ports that it injects; dynamo#12095",
)
def ports_differ(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        taken = [(t, process) for process in workload.processes for t in _taken(workload, process)]
        for position, (later, one) in enumerate(taken):
            for earlier, other in taken[:position]:
                meet = earlier.first <= later.last and later.first <= earlier.last
                if meet and other.beside(one):
                    yield later.spot.problem(
                        f"{later.what} of `{workload.name}` takes port {_range(later)}, and {earlier.what} "
                        f"{_range(earlier)}",
                        f"begin at {max(earlier.last, later.last) + 1}",
                        value=str(later.first),
                    )
                    break


def _range(taken: _Taken) -> str:
    return str(taken.first) if taken.first == taken.last else f"{taken.first} to {taken.last}"


def _taken(workload: Workload, process: Process) -> Iterator[_Taken]:
    name = process.container.name or process.program
    port = http_port(process)
    option = process.option("--port") or process.option("--http-port")
    if port is not None:
        yield _Taken(port, port, f"HTTP of {name}", spot(option.value_ref if option else process.ref))
    if process.program not in ("vllm", "dynamo.vllm"):
        return
    view = engine_view(workload, process)
    local = view.whole("--data-parallel-size-local")
    ranks = min(local if local is not None else view.data or 1, 1024)
    if workload.graph is not None:
        system = process.env("DYN_SYSTEM_PORT")
        if process.program == "dynamo.vllm" and (system is None or system.value == str(_SYSTEM)):
            yield _Taken(_SYSTEM, _SYSTEM, f"the operator's health port of {name}", spot(process.ref))
    transfer = transfer_of(view)
    if transfer is not None and transfer.nixl is not None:
        variable = view.env.get("VLLM_NIXL_SIDE_CHANNEL_PORT")
        first = variable.value if variable else str(_SIDE_CHANNEL)
        if first and first.isdigit():
            where = variable.spot if variable else view.spot
            yield _Taken(int(first), int(first) + ranks - 1, f"the side channel of {name}", where)
    yield from _events(view, ranks, name)


def _events(view: EngineView, ranks: int, name: str) -> Iterator[_Taken]:
    events = view.json("--kv-events-config")
    if events is None or not events.get("enable_kv_cache_events"):
        return
    for key, default in (("endpoint", f"tcp://*:{_EVENTS}"), ("replay_endpoint", None)):
        match = re.fullmatch(
            r"tcp://(?:\*|0\.0\.0\.0|\[::\]|localhost|127\.0\.0\.1):([0-9]+)", str(events.get(key) or default or "")
        )
        if match:
            first = int(match[1])
            what = f"{'KV events' if key == 'endpoint' else 'their replay'} of {name}"
            yield _Taken(first, first + ranks - 1, what, view.at("--kv-events-config"))
