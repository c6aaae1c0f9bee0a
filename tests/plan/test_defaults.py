"""Every field that the file left out is told, once."""

from typing import Any

from hypothesis import given
from pydantic import BaseModel

from inferfab.environment.environment import Environment
from inferfab.plan.defaults import defaults_used
from strategies import Tree, environment_trees, quick

from .planning import aggregated, environment_of, prod, prod_plan


def told(environment: Environment) -> dict[str, str]:
    return {d.path: d.value for d in defaults_used(environment)}


def test_by_hand() -> None:
    """Left out, they show as YAML would; stated, they do not."""
    got = told(environment_of(aggregated(tensor_parallel=2)))
    assert got["budget"] == "-"
    assert got["access"] == "private"
    assert got["tags"] == "none"
    assert got["pools.p.capacity"] == "on_demand"
    assert got["pools.p.worker.gpu_memory_utilization"] == "0.92"
    assert got["pools.p.worker.expert_parallel"] == "false"
    assert got["pools.p.worker.replicas.max"] == "-"
    assert "pools.p.worker.tensor_parallel" not in got
    assert "models.llama.quantization" not in got
    assert got["models.llama.prefix_caching"] == "true"


def test_a_default_equal_to_what_is_stated_is_not_told() -> None:
    """Writing the default down makes it a decision."""
    assert "pools.p.worker.data_parallel" not in told(environment_of(aggregated(data_parallel=1)))


def test_prod() -> None:
    """Prod states utilization of memory nowhere, its tiers' workloads partly."""
    got = {d.path for d in prod_plan().defaults}
    assert "pools.chat-priority.prefill.gpu_memory_utilization" in got
    assert "tiers.batch.workload" in got
    assert "tiers.priority.workload" not in got
    assert got == set(told(prod()))


def fields_left_out(kind: type[BaseModel], part: BaseModel, tree: Tree, path: str) -> list[str]:
    """The same from the mapping: fields of each model whose key the mapping lacks."""
    found: list[str] = []
    for name in kind.model_fields:
        here = f"{path}.{name}" if path else name
        value: Any = getattr(part, name)
        if name not in tree:
            found.append(here)
        elif isinstance(value, BaseModel):
            found += fields_left_out(type(value), value, tree[name], here)
        elif isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, BaseModel):
                    found += fields_left_out(type(item), item, tree[name][key], f"{here}.{key}")
        elif isinstance(value, tuple):
            for position, item in enumerate(value):
                if isinstance(item, BaseModel):
                    found += fields_left_out(type(item), item, tree[name][position], f"{here}[{position}]")
    return found


@quick
@given(environment_trees())
def test_each_left_out_field_once(tree: Tree) -> None:
    """As many as the mapping lacks, no field twice, none that the mapping has."""
    environment = Environment.model_validate(tree)
    got = [d.path for d in defaults_used(environment)]
    assert len(got) == len(set(got))
    expected = fields_left_out(Environment, environment, tree, "")
    # Positions in lists may be written either way.
    assert [p.replace("[", ".").replace("]", "") for p in got] == [
        p.replace("[", ".").replace("]", "") for p in expected
    ]
