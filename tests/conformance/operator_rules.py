"""What Dynamo's operator adds to a component, which a rendered graph must neither repeat nor contradict.

No admission refuses these; the pods come up wrong, or never ready. Sources, in ai-dynamo/dynamo
deploy/operator/internal: consts/consts.go (ports), dynamo/component_common.go and its component_*.go (variables; probes
and ports come by the component's type in ComponentDefaultsFactory, and a component without a type gets none).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from .admission import main_container
from .workloads import module_and_args

Json = Mapping[str, Any]

TYPES: dict[str, set[str | None]] = {
    "dynamo.frontend": {"frontend"},
    "dynamo.vllm": {"worker", "prefill", "decode"},
    "dynamo.planner": {"planner"},
    # As a frontend they would be probed on port 8000, where they do not listen.
    "dynamo.router": {None},
    "dynamo.global_router": {None},
}
"""The types under which a program is probed as it answers."""

ENVIRONMENT = {
    "DYN_COMPONENT", "DYN_DISCOVERY_BACKEND", "DYN_HTTP_PORT", "DYN_NAMESPACE", "DYN_PARENT_DGD_K8S_NAME",
    "DYN_PARENT_DGD_K8S_NAMESPACE", "POD_NAME", "POD_NAMESPACE", "POD_UID",
}  # fmt: skip
"""Variables that the operator sets on ``main``."""
SYSTEM_PORT = "DYN_SYSTEM_PORT"
"""Set by the operator on every type that serves metrics there; a component without a type has to set it itself, as
ai-dynamo/dynamo@dad3112c examples/global_planner/v1beta1/global-planner-mocker-test.yaml does for its routers.
"""

PORTS: dict[str | None, set[int]] = {
    "frontend": {8000},
    "worker": {9090, 19090, 20380},
    "prefill": {9090, 19090, 20380},
    "decode": {9090, 19090, 20380},
    "planner": {9085},
}
"""Ports that the operator declares on ``main``, by type."""


def operator_problems(graph: Json) -> list[str]:
    """What the operator would trip over, one line each."""
    found: list[str] = []
    for component in (graph.get("spec") or {}).get("components") or ():
        found += _component(component, f"component {component.get('name')}")
    return found


def _component(component: Json, where: str) -> Iterator[str]:
    main, kind = main_container(component) or {}, component.get("type")
    module, _ = module_and_args(dict(main))
    if module in TYPES and kind not in TYPES[module]:
        wanted = " or ".join(sorted(str(one) for one in TYPES[module] if one)) or "none"
        yield f"{where}: {module} as type {kind}, wanted: {wanted}"
    theirs = ENVIRONMENT | ({SYSTEM_PORT} if kind else set())
    for name in sorted(theirs & {variable.get("name") for variable in main.get("env") or ()}):
        yield f"{where}: sets {name}, which is the operator's"
    for port in sorted(PORTS.get(kind, set()) & {one.get("containerPort") for one in main.get("ports") or ()}):
        yield f"{where}: declares port {port}, which is the operator's"
    if any(mount.get("mountPath") == "/dev/shm" for mount in main.get("volumeMounts") or ()):
        yield f"{where}: mounts /dev/shm beside the operator's; sharedMemorySize says how large it is"
