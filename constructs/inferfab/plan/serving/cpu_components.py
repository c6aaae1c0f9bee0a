"""Components without GPUs: frontends, routers, planners. They stand on system nodes."""

from inferfab.plan.draining import answer_seconds
from inferfab.plan.engine import Argument
from inferfab.plan.quantities import GIB
from inferfab.plan.serving.component import SYSTEM_PORT, ComponentKind, ComponentPlan
from inferfab.plan.transport import EnvValue

SYSTEM_ENV = (EnvValue(name="DYN_SYSTEM_PORT", value=str(SYSTEM_PORT)),)
"""The operator sets it for workers only; a component without type serves neither health nor metrics else (ai-dynamo
examples/global_planner/v1beta1).
"""
SELF_HOST_ENV = (EnvValue(name="DYN_SELF_HOST_METADATA", value="true"),)
"""A worker serves tokenizer and chat template at its system port, so frontends need no copy of the model. Shown with
real processes of 1.6.1: a frontend in an empty folder answers.
"""
ROUTERS = 2
"""Instances of each router: one may be drained, and a single one would be the cell's weakest part."""
_CPU_MILLIS: dict[ComponentKind, int] = {"frontend": 1000, "router": 500, "global-router": 500, "planner": 250}
_MEMORY_GIB: dict[ComponentKind, tuple[float, float]] = {
    "frontend": (2, 4), "router": (1, 4), "global-router": (0.5, 1), "planner": (0.5, 2),
}  # fmt: skip
"""Request and limit. Measured at rest: 0.1 to 0.12 GiB a process (Dynamo 1.6.1 on loopback); the rest is room for
tokenizers, prefix indexes and requests in flight. Estimates.
"""


_DRAIN_ENV = "DYN_WORKER_GRACEFUL_SHUTDOWN_TIMEOUT"
"""Default: 30 s. Name and default: ai-dynamo lib/backend-common (the name is in the runtime of 1.6.1, too). That
routers, through which answers pass as well, read it like workers is unproven.
"""


def drain_env(drain_seconds: int) -> EnvValue:
    """How long a process of Dynamo waits for its answers in flight."""
    return EnvValue(name=_DRAIN_ENV, value=str(answer_seconds(drain_seconds)))


def cpu_component(
    kind: ComponentKind,
    module: str,
    image: str,
    arguments: tuple[Argument, ...],
    *,
    replicas: int,
    env: tuple[EnvValue, ...] = (),
    config: str | None = None,
    model_folders: tuple[str, ...] = (),
    model_as: str | None = None,
    drain_seconds: int = 0,
) -> ComponentPlan:
    """One of Dynamo's own processes."""
    request, limit = _MEMORY_GIB[kind]
    return ComponentPlan(
        name=kind,
        kind=kind,
        replicas=replicas,
        image=image,
        command=("python3", "-m", module),
        arguments=arguments,
        env=env,
        cpu_millis=_CPU_MILLIS[kind],
        memory_request_bytes=round(request * GIB),
        memory_limit_bytes=round(limit * GIB),
        config=config,
        model_folders=model_folders,
        model_as=model_as,
        drain_seconds=drain_seconds,
        disruption_budget=replicas > 1,
    )
