"""One owner a number, and node groups large enough for every worker that an autoscaler may ask for."""

from hypothesis import given

from inferfab.environment.environment import Environment
from inferfab.plan.fleet import plan
from strategies import environments, quick

from .planning import aggregated, disaggregated, pool_plan


def test_fixed_pool_belongs_to_terraform() -> None:
    """Equal bounds leave nothing to scale."""
    scaling = pool_plan(aggregated()).scaling
    assert (scaling.replicas_owner, scaling.nodes_owner) == ("terraform", "terraform")


def test_pool_with_room_belongs_to_the_planner() -> None:
    """2 to 8 workers of TP4 are 1 to 4 nodes of 8 GPUs, and a budget of 32 GPUs."""
    scaling = pool_plan(aggregated(tensor_parallel=4, replicas={"min": 2, "desired": 2, "max": 8})).scaling
    assert (scaling.replicas_owner, scaling.nodes_owner) == ("dynamo-planner", "cluster-autoscaler")
    assert (scaling.gpu_budget, scaling.node_gpus_at_max) == (32, 32)


def test_replicas_scale_within_one_node() -> None:
    """1 to 2 workers of TP4 fit one node: the planner moves replicas, nobody moves nodes."""
    scaling = pool_plan(aggregated(tensor_parallel=4, replicas={"min": 1, "desired": 1, "max": 2})).scaling
    assert (scaling.replicas_owner, scaling.nodes_owner) == ("dynamo-planner", "terraform")


def test_budget_counts_both_roles() -> None:
    """2 prefill and 2 decode workers of TP3: 12 GPUs asked, 16 bought, for whole nodes of each role."""
    scaling = pool_plan(disaggregated(tensor=3)).scaling
    assert (scaling.gpu_budget, scaling.node_gpus_at_max) == (12, 16)


def test_cells_own_bounds_are_laid_over() -> None:
    """A cell may scale a pool of its own."""
    cell = {"pools": {"p": {"worker_replicas": {"desired": 5}}}}
    bounds = pool_plan(aggregated(), cell=cell).scaling.workers["worker"]
    assert (bounds.min, bounds.desired, bounds.max) == (5, 5, 5)


@quick
@given(environments())
def test_the_budget_fits_the_nodes(environment: Environment) -> None:
    """What the planner may ask for never exceeds the GPUs of the node groups at their maximum."""
    for pool in plan(environment).pools:
        scaling = pool.scaling
        assert scaling.gpu_budget <= scaling.node_gpus_at_max
        for bounds in scaling.workers.values():
            assert bounds.min <= bounds.desired <= bounds.max
        if scaling.replicas_owner == "terraform":
            assert all(b.min == b.max for b in scaling.workers.values())
            assert scaling.nodes_owner == "terraform"
