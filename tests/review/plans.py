"""Terraform plans for the tests, as `terraform show -json` shapes them, and what a review says of them."""

import json
import re
from pathlib import Path
from typing import Any

from inferfab.review import Asked, Report, review
from inferfab.review.lines import GpuLine
from inferfab.review.stack import StackReview

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data" / "plans"
NO_SHARED = f"the published plans are not here: {SHARED}"


def change(
    address: str,
    actions: str | list[str],
    before: Any = None,
    after: Any = None,
    *,
    unknown: Any = None,
    before_sensitive: Any = None,
    after_sensitive: Any = None,
    replace_paths: Any = None,
    **more: Any,
) -> dict[str, Any]:
    """One member of ``resource_changes``; ``actions`` are words with spaces between them."""
    path = re.sub(r"\[[^\]]*\]", "", address).split(".")
    inner: dict[str, Any] = {
        "actions": actions.split() if isinstance(actions, str) else actions,
        "before": before,
        "after": after,
        "after_unknown": unknown if unknown is not None else {},
        "before_sensitive": before_sensitive if before_sensitive is not None else {},
        "after_sensitive": after_sensitive if after_sensitive is not None else {},
    }
    if replace_paths is not None:
        inner["replace_paths"] = replace_paths
    return {"address": address, "mode": "managed", "type": path[-2], "name": path[-1], "change": inner, **more}


def plan(*changes: dict[str, Any], region: str = "us-east-1", **top: Any) -> dict[str, Any]:
    """A plan; the AWS provider is in ``region``."""
    provider = {"aws": {"name": "aws", "expressions": {"region": {"constant_value": region}}}} if region else {}
    return {
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "resource_changes": list(changes),
        "configuration": {"provider_config": provider, "root_module": {}},
        **top,
    }


def written(folder: Path, document: Any, name: str = "stack.json") -> Path:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def report_of(folder: Path, document: Any, **asked: Any) -> Report:
    return review(Asked(plans=[written(folder, document)], **asked)).report


def stack_of(folder: Path, document: Any) -> StackReview:
    """The only stack of a review that could read it."""
    (stack,) = report_of(folder, document).stacks
    assert stack.problem == ""
    return stack


def gpus(stack: StackReview, axis: str = "all", name: str = "all") -> GpuLine:
    return next(line for line in stack.gpus if (line.axis, line.name) == (axis, name))


def three(line_side: Any) -> tuple[float | None, ...]:
    """(min, desired, max) where each is known; (low, high) pairs where not."""
    return tuple(r.low if r.known else (r.low, r.high) for r in (line_side.min, line_side.desired, line_side.max))


def node_group(instance: str, low: int, desired: int, high: int, **more: Any) -> dict[str, Any]:
    """Values of an ``aws_eks_node_group``."""
    return {
        "instance_types": [instance],
        "scaling_config": [{"min_size": low, "desired_size": desired, "max_size": high}],
        "capacity_type": "ON_DEMAND",
        **more,
    }
