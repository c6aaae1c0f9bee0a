"""Configuration files of a graph's components, by name."""

import json
from typing import Any

from inferfab.plan.serving.component import FRONTEND_PORT, GraphPlan
from inferfab.plan.serving.frontends import GLOBAL_ROUTER, PLANNER, READY, ROUTER_POLICY
from inferfab.plan.serving.global_router import GlobalRouterPlan
from inferfab.plan.serving.planner import PlannerPlan
from inferfab.render.templates import render


def configuration(graph: GraphPlan, variant: str) -> dict[str, str]:
    """Texts of the files that the graph's ConfigMap holds."""
    files = {}
    if graph.router_policy is not None:
        files[ROUTER_POLICY] = render("dynamo/router_policy.yaml.j2", variant, policy=graph.router_policy)
    if graph.planner is not None:
        files[PLANNER] = _json(planner_config(graph.planner))
    if graph.global_router is not None:
        files[GLOBAL_ROUTER] = _json(global_router_config(graph.global_router))
    if any(part.kind == "frontend" for part in graph.components):
        files[READY] = render("dynamo/ready.py.j2", variant, port=FRONTEND_PORT)
    return files


def _json(value: object) -> str:
    """JSON that a person can read: a row of a grid, a long list of small numbers, stays on a line."""
    rows: list[str] = []
    text = json.dumps(_marked(value, rows), indent=2)
    for number, row in enumerate(rows):
        text = text.replace(f'"{_MARK}{number}"', row)
    return text + "\n"


_MARK = "row "


def _marked(value: object, rows: list[str]) -> object:
    if isinstance(value, dict):
        return {key: _marked(part, rows) for key, part in value.items()}
    if isinstance(value, list) and value and all(isinstance(one, int) for one in value):
        rows.append(json.dumps(value))
        return f"{_MARK}{len(rows) - 1}"
    return [_marked(part, rows) for part in value] if isinstance(value, list) else value


def planner_config(plan: PlannerPlan) -> dict[str, Any]:
    """``PlannerConfig``; what is not decided is left to its default."""
    return plan.model_dump(exclude_none=True)


def global_router_config(plan: GlobalRouterPlan) -> dict[str, Any]:
    """``GlobalRouterConfig`` (dynamo/global_router/pool_selection.py)."""
    overrides = [
        {"min_priority": t.min_priority, "max_priority": t.max_priority, "target_pool": index}
        for index, t in enumerate(plan.targets)
    ]
    ttft = {"ttft_min_ms": 0, "ttft_max_ms": plan.ttft.max_ms, "ttft_resolution": len(plan.ttft.cells)}
    itl = {"itl_min_ms": 0, "itl_max_ms": plan.itl.max_ms, "itl_resolution": len(plan.itl.cells)}
    # Without retries: a tier whose pool is down would come upon the next better one, whose promise then breaks too.
    retry = {"enable_priority_retry": False}
    if plan.mode == "agg":
        return {
            "mode": "agg",
            **retry,
            "num_agg_pools": len(plan.targets),
            "agg_pool_dynamo_namespaces": list(plan.decode_namespaces),
            "agg_pool_selection_strategy": {
                **ttft,
                # Chosen once, by TTFT: keys rise together, so the other axis has nothing to add.
                **itl,
                "itl_resolution": 1,
                "agg_pool_mapping": [[pool] for pool in plan.ttft.cells],
                "priority_overrides": overrides,
            },
        }
    return {
        "mode": "disagg",
        **retry,
        "num_prefill_pools": len(plan.targets),
        "num_decode_pools": len(plan.targets),
        "prefill_pool_dynamo_namespaces": list(plan.prefill_namespaces),
        "decode_pool_dynamo_namespaces": list(plan.decode_namespaces),
        "prefill_pool_selection_strategy": {
            **ttft,
            "isl_min": 0,
            "isl_max": plan.context_tokens,
            "isl_resolution": 1,
            "prefill_pool_mapping": [list(plan.ttft.cells)],
            "priority_overrides": overrides,
        },
        "decode_pool_selection_strategy": {
            **itl,
            "context_length_min": 0,
            "context_length_max": plan.context_tokens,
            "context_length_resolution": 1,
            "decode_pool_mapping": [list(plan.itl.cells)],
            "priority_overrides": overrides,
        },
    }
