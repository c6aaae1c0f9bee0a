"""Frontends and routers: who takes a request in and who chooses its worker."""

from collections.abc import Sequence

from inferfab.catalog.engines import EnginePair
from inferfab.plan.draining import answer_seconds
from inferfab.plan.engine import Argument
from inferfab.plan.images import ImageSource
from inferfab.plan.observability.buckets import frontend_buckets
from inferfab.plan.serving.component import CONFIG_PATH, ComponentPlan
from inferfab.plan.serving.cpu_components import ROUTERS, SELF_HOST_ENV, SYSTEM_ENV, cpu_component, drain_env
from inferfab.plan.serving.images import frontend_image, planner_image
from inferfab.plan.tiers import TierPlan
from inferfab.plan.transport import EnvValue

ROUTER_POLICY = "router-policy.yaml"
GLOBAL_ROUTER = "global-router.json"
PLANNER = "planner.json"
READY = "ready.py"
"""Asks the pools of every tier for a token."""
PREFILL_ENDPOINT, BACKEND_ENDPOINT = "prefill.generate", "backend.generate"
"""Where workers register: prefill workers as ``prefill``, all others as ``backend`` (dynamo/vllm/args.py)."""


_DRAIN_ENV = "DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS"
"""Named in the runtime of ai-dynamo-runtime 1.6.1; that streams then go on to their end is unproven."""


def _file(name: str) -> str:
    return f"{CONFIG_PATH}/{name}"


def frontend(
    pair: EnginePair,
    registry: ImageSource | None,
    *,
    replicas: int,
    dynamo_namespace: str | None,
    kv_aware: bool,
    tiers: Sequence[TierPlan],
    drain_seconds: int,
) -> ComponentPlan:
    """The OpenAI endpoint of a graph.

    :param dynamo_namespace: what it may see exactly, in front of a router over pools; None: its own graph, by prefix,
        as the operator sets it.
    :param kv_aware: route by what each worker's cache holds; else, in front of a router, any instance serves.
    :param tiers: whose promises its histograms are judged by.
    :param drain_seconds: see :mod:`inferfab.plan.draining`.
    """
    arguments: tuple[Argument, ...]
    if kv_aware:
        arguments = (
            Argument(flag="--router-mode", value="kv"),
            Argument(flag="--router-policy-config", value=_file(ROUTER_POLICY)),
        )
    else:
        arguments = (Argument(flag="--router-mode", value="round-robin"),)
    if dynamo_namespace is not None:
        arguments = (*arguments, Argument(flag="--namespace", value=dynamo_namespace))
    drain = EnvValue(name=_DRAIN_ENV, value=str(answer_seconds(drain_seconds)))
    return cpu_component(
        "frontend",
        "dynamo.frontend",
        frontend_image(pair, registry),
        arguments,
        replicas=replicas,
        env=(drain, *(value for buckets in frontend_buckets(tiers) for value in buckets.env)),
        config=ROUTER_POLICY if kv_aware else READY,
        drain_seconds=drain_seconds,
    )


def local_router(
    pair: EnginePair,
    registry: ImageSource | None,
    *,
    dynamo_namespace: str,
    endpoint: str,
    block_tokens: int,
    drain_seconds: int,
) -> ComponentPlan:
    """The KV-aware router of one pool (or one role of it) behind a router over pools.

    It registers as ``<dynamo namespace>.router.generate``, where the router over pools looks for it, so one graph
    holds one: a disaggregated pool becomes two graphs (dynamo/router/__main__.py, dynamo/global_router/handler.py).
    """
    return cpu_component(
        "router",
        "dynamo.router",
        planner_image(pair, registry),
        (
            Argument(flag="--endpoint", value=f"{dynamo_namespace}.{endpoint}"),
            Argument(flag="--router-block-size", value=str(block_tokens)),
            Argument(flag="--router-policy-config", value=_file(ROUTER_POLICY)),
        ),
        replicas=ROUTERS,
        env=(*SYSTEM_ENV, drain_env(drain_seconds)),
        config=ROUTER_POLICY,
        drain_seconds=drain_seconds,
    )


def global_router(
    pair: EnginePair,
    registry: ImageSource | None,
    *,
    dynamo_namespace: str,
    model: str,
    folder: str,
    ttft_ms: int,
    itl_ms: int,
    drain_seconds: int,
) -> ComponentPlan:
    """The router over the tiers of a model.

    It registers the model under the very text that it loads the model's small files by
    (dynamo/global_router/__main__.py passes ``--model-name`` for both), so it starts in a folder in which the served
    name is the path. Shown with real processes of 1.6.1.
    """
    return cpu_component(
        "global-router",
        "dynamo.global_router",
        planner_image(pair, registry),
        (
            Argument(flag="--config", value=_file(GLOBAL_ROUTER)),
            Argument(flag="--model-name", value=model),
            Argument(flag="--namespace", value=dynamo_namespace),
            Argument(flag="--default-ttft-target-ms", value=str(ttft_ms)),
            Argument(flag="--default-itl-target-ms", value=str(itl_ms)),
        ),
        replicas=ROUTERS,
        # Frontends read tokenizer and chat template from it over HTTP, and need no copy of their own.
        env=(*SYSTEM_ENV, *SELF_HOST_ENV, drain_env(drain_seconds)),
        config=GLOBAL_ROUTER,
        drain_seconds=drain_seconds,
        model_folders=(folder,),
        model_as=model,
    )


def planner(pair: EnginePair, registry: ImageSource | None) -> ComponentPlan:
    """One planner a graph: two would both own the same ``replicas``."""
    return cpu_component(
        "planner",
        "dynamo.planner",
        planner_image(pair, registry),
        (Argument(flag="--config", value=_file(PLANNER)),),
        replicas=1,
        config=PLANNER,
    )
