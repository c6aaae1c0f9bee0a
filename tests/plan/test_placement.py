"""Whole nodes, and the machine that a GPU name stands for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.catalog.instances import instances
from inferfab.environment.environment import Environment
from inferfab.plan.fleet import plan
from inferfab.plan.placement import choose_instance, nodes_for, workers_on_node
from strategies import cheap, environments, quick

from .planning import aggregated, environment_of


@pytest.mark.parametrize(
    ("node", "worker", "expected"),
    [
        (8, 4, (2, 1)),
        (8, 8, (1, 1)),
        (8, 3, (2, 1)),
        (8, 1, (8, 1)),
        (8, 16, (0, 2)),
        (8, 12, (0, 2)),
        (1, 8, (0, 8)),
    ],
)
def test_workers_on_node(node: int, worker: int, expected: tuple[int, int]) -> None:
    """Whole workers on a node; a worker larger than one takes whole nodes."""
    assert workers_on_node(node, worker) == expected


@pytest.mark.parametrize(
    ("workers", "node", "worker", "nodes"),
    [
        (0, 8, 4, 0),
        (1, 8, 4, 1),
        (4, 8, 4, 2),
        (5, 8, 4, 3),
        (11, 8, 2, 3),
        (5, 8, 3, 3),
        (3, 8, 16, 6),
        (8, 4, 1, 2),
    ],
)
def test_nodes_for(workers: int, node: int, worker: int, nodes: int) -> None:
    """11 workers of TP2 are 22 GPUs, that is 2.75 and so 3 nodes of 8 (peers.md section 6)."""
    assert nodes_for(workers, node, worker) == nodes


@cheap
@given(st.integers(0, 200), st.sampled_from((1, 2, 4, 8)), st.integers(1, 40))
def test_nodes_hold_their_workers(workers: int, node: int, worker: int) -> None:
    """Enough GPUs, and one node less would not do."""
    nodes = nodes_for(workers, node, worker)
    assert nodes * node >= workers * worker
    per_node, per_worker = workers_on_node(node, worker)
    held = (nodes - 1) * per_node if per_node else (nodes - 1) // per_worker
    assert not workers or held < workers


def test_idle_gpus() -> None:
    """Two workers of TP3 leave 8 - 6 = 2 GPUs idle; one of 16 GPUs leaves none."""
    group = plan(environment_of(aggregated(tensor_parallel=3))).node_groups[0]
    assert (group.nodes.desired, group.workers_per_node, group.idle_gpus) == (1, 2, 2)
    group = plan(environment_of(aggregated(tensor_parallel=8, pipeline_parallel=2))).node_groups[0]
    assert (group.nodes.desired, group.workers_per_node, group.nodes_per_worker, group.idle_gpus) == (
        4,
        0,
        2,
        0,
    )


def test_a_group_is_named_labelled_and_tainted() -> None:
    """Only pods of the pool get on its nodes."""
    group = plan(environment_of(aggregated())).node_groups[0]
    assert group.labels == {"inferfab/cell": "a", "inferfab/pool": "p", "inferfab/role": "worker"}
    assert group.taints == {"nvidia.com/gpu": "true:NoSchedule", "inferfab/pool": "p:NoSchedule"}


def test_pods_a_node() -> None:
    """p5 has 51 pod addresses with an EFA on card 0, p5en 149, of which Kubernetes uses 110."""
    for name, most in (("p5.48xlarge", 51), ("p5en.48xlarge", 110)):
        assert plan(environment_of(aggregated(name) | {"fabric": "efa"})).node_groups[0].max_pods == most


def choose(
    gpu: str, worker: int = 1, *, region: str = "us-east-1", cloud: str = "aws", rdma: bool = False
) -> str | None:
    found = choose_instance(
        cloud,
        region,
        instance=None,
        gpu=gpu,
        gpus_per_worker=worker,
        needs_rdma=rdma,  # type: ignore[arg-type]
    )
    return found and found.name


def test_cheapest_a_gpu() -> None:
    """L40S in us-east-1: 1.861 (xlarge) is the least a GPU; 12xlarge costs 10.493 / 4 = 2.623,
    48xlarge 3.766."""
    assert choose("l40s") == "g6e.xlarge"
    assert choose("l40s", 4) == "g6e.12xlarge"
    assert choose("l40s", 8) == "g6e.48xlarge"


def test_rdma_narrows_the_choice() -> None:
    """With RDMA the L40S machines start at 8xlarge (4.529), above a fourth of the 12xlarge (2.623)."""
    assert choose("l40s", rdma=True) == "g6e.12xlarge"
    assert choose("l4", cloud="gcp", region="us-central1", rdma=True) is None


def test_named_machine_is_taken() -> None:
    """A name is not second-guessed; one that the cloud has not is nothing."""
    args = {"gpu": None, "gpus_per_worker": 1, "needs_rdma": False}
    assert choose_instance("aws", "us-east-1", instance="p5.48xlarge", **args) is instances("aws")["p5.48xlarge"]  # type: ignore[arg-type]
    assert choose_instance("gcp", "us-central1", instance="p5.48xlarge", **args) is None  # type: ignore[arg-type]


def test_unknown_gpu() -> None:
    """A cloud without the GPU has no machine."""
    assert choose("t4", cloud="gcp", region="us-central1") is None


def test_capacity_block_machines_are_not_picked() -> None:
    """GB200 on AWS is sold by capacity block only; it must be named."""
    assert choose("gb200") is None


def test_a_worker_over_nodes_takes_the_largest_machine() -> None:
    """16 L40S stand on 2 x 8 GPUs, not on 4 x 4 that are cheaper a GPU: tensor parallelism stays in a
    node."""
    assert choose("l40s", 16) == "g6e.48xlarge"
    assert choose("h100", 16, region="us-east-1") == "p5.48xlarge"


@quick
@given(environments())
def test_groups_of_whole_fleets(environment: Environment) -> None:
    """Whole nodes, bounds in order, no negative idle GPUs, one role a group, unique names in a cell."""
    fleet = plan(environment)
    for cell in fleet.cells:
        names = [g.name for g in cell.node_groups]
        assert len(names) == len(set(names))
        for group in cell.node_groups:
            assert group.nodes.min <= group.nodes.desired <= group.nodes.max
            assert 0 <= group.idle_gpus <= group.gpus.desired
            assert group.workers_per_node or group.nodes_per_worker >= 1
        for pool in cell.pools:
            for role in pool.roles:
                group = cell.node_group(role.node_group)
                used = role.workers.desired * role.parallelism.gpus
                assert group.gpus.desired - used == group.idle_gpus
