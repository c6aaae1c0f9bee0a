"""Bounds of a plan's scaling against its nodes."""

from collections.abc import Iterator

import inferfab.checks.serving.scaling  # noqa: F401 - enters IF-SCL-001, which judges plans too
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, on_plan


@on_plan("IF-SCL-001")
def bounds_within_nodes(facts: Facts) -> Iterator[Problem]:
    """Planner, autoscaler and node groups read these figures; one that is larger than the next never acts."""
    for pool in facts.fleet.pools:
        scaling, path = pool.scaling, ("pools", pool.name)
        if scaling.gpu_budget > scaling.node_gpus_at_max:
            yield Problem(
                path,
                f"`{pool.name}` in {pool.cell} may scale to {scaling.gpu_budget} GPUs, and its node groups bring "
                f"{scaling.node_gpus_at_max} at most",
                "raise `max` of its nodes, or lower that of its workers",
                of_key=True,
            )
        for role, bounds in scaling.workers.items():
            if not bounds.min <= bounds.desired <= bounds.max:
                yield Problem(
                    path,
                    f"{role} of `{pool.name}` in {pool.cell} scales between {bounds.min} and {bounds.max}, from "
                    f"{bounds.desired}",
                    "write min <= desired <= max",
                    of_key=True,
                )
