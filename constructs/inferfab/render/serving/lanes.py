"""Lanes: Deployments of engines that take turns on a GPU."""

import hashlib
import json
import math

from inferfab.plan.fleet import CellPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.served import MODELS_PATH
from inferfab.plan.serving.component import FRONTEND_PORT
from inferfab.plan.serving.lanes import LOAD_TIMEOUT_SECONDS, WAKE_TIMEOUT_SECONDS, LaneEngine, LanePlan
from inferfab.plan.serving.model_cache import COMPLETE, host_path
from inferfab.render.serving.graph import tolerations
from inferfab.render.templates import render

_DRAIN_LOOKS, _DRAIN_LOOK_SECONDS = 6, 5
"""Half a minute without a request: longer than it takes to put one model to sleep and to wake another."""


def lane_file(cell: CellPlan, lane: LanePlan) -> str:
    """Deployment, metrics, configuration."""
    files = {
        "lane.py": render("dynamo/lane.py.j2"),
        "lane.json": json.dumps(_start(lane), indent=2) + "\n",
        "llama-swap.yaml": llama_swap_config(lane),
    }
    group = cell.node_group(lane.node_group)
    labels = {
        "app.kubernetes.io/part-of": "inferfab",
        "inferfab/cell": cell.name,
        "inferfab/pool": lane.pool,
        "inferfab/tier": lane.tier,
    }
    deployment = render(
        "dynamo/lane.yaml.j2",
        lane=lane,
        namespace=SERVING_NAMESPACE,
        models=", ".join(engine.model for engine in lane.engines),
        labels=labels,
        config_digest=hashlib.sha256("".join(files.values()).encode()).hexdigest()[:12],
        node_selector=group.labels,
        tolerations=tolerations(group),
        # All engines of a lane have the same: they share its process environment.
        env=lane.engines[0].env,
        port=FRONTEND_PORT,
        startup_failures=math.ceil(LOAD_TIMEOUT_SECONDS * len(lane.engines) / 10),
        models_path=MODELS_PATH,
        complete=COMPLETE,
        pull_secret=cell.images.pull_secret,
        host_path=host_path(group),
        drain_seconds=cell.drain_seconds,
    )
    settings = render(
        "dynamo/config_map.yaml.j2", name=lane.name, namespace=SERVING_NAMESPACE, files=files, kept_with=""
    )
    return f"{deployment}---\n{settings}"


def llama_swap_config(lane: LanePlan) -> str:
    """llama-swap's own file: how each model is woken, and how it goes to sleep."""
    return render("dynamo/llama_swap.yaml.j2", lane=lane, wake_timeout_seconds=WAKE_TIMEOUT_SECONDS)


def _start(lane: LanePlan) -> dict[str, object]:
    return {
        "load_timeout_seconds": LOAD_TIMEOUT_SECONDS,
        "drain_looks": _DRAIN_LOOKS,
        "drain_look_seconds": _DRAIN_LOOK_SECONDS,
        "engines": [{"model": engine.model, "port": engine.port, "argv": _argv(engine)} for engine in lane.engines],
        "swap": ["/tools/llama-swap", "-config", "/etc/inferfab/llama-swap.yaml", "-listen", f":{FRONTEND_PORT}"],
    }


def _argv(engine: LaneEngine) -> list[str]:
    """vLLM's own server: sleeping and waking are its endpoints."""
    pairs = ((a.flag,) if a.value is None else (a.flag, a.value) for a in engine.arguments)
    own = ["python3", "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", str(engine.port)]
    return [*own, *(word for pair in pairs for word in pair)]
