"""LoRA adapters that no worker would load."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.pools import SharedPool


@rule(
    "IF-SRV-011",
    "adapters of a model that takes turns",
    joins=("environment", "engine"),
    why="Dynamo's operator has Dynamo's workers load adapters, and the engines of a lane are vLLM alone: requests for "
    "an adapter get 404.",
    do="serve models with adapters from pools of another kind.",
    source="ai-dynamo 1.6.1: DynamoModel finds workers by modelRef; the plan's lanes run vLLM's own server",
)
def lanes_without_adapters(facts: Facts) -> Iterator[Problem]:
    said = set()
    for name, pool in facts.environment.pools.items():
        if not isinstance(pool, SharedPool) or pool.sharing != "sleep":
            continue
        for each in pool.models:
            if facts.model(each.model).adapters and each.model not in said:
                said.add(each.model)
                yield Problem(
                    ("models", each.model, "adapters"),
                    f"`{each.model}` takes turns on the GPUs of `{name}`, where nothing loads adapters",
                    "remove `adapters`, or serve the model from an aggregated pool or one with `sharing: mig`",
                    of_key=True,
                )


@rule(
    "IF-SRV-012",
    "adapters without a way out",
    joins=("environment", "cloud", "engine"),
    why="workers load adapters from the hub themselves, at each start; neither the region's store nor the node's model "
    "cache has them.",
    do="let the cell out to the hub, or merge the adapter into weights of their own.",
    source="ai-dynamo 1.6.1 dynamo/vllm/handlers.py (hf:// is fetched by the worker); the plan's model cache",
)
def adapters_reach_workers(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        if cell.network.egress != "none":
            continue
        served = dict.fromkeys(name for pool in cell.pools for name in pool.models)
        adapted = [name for name in served if facts.model(name).adapters]
        if adapted:
            yield Problem(
                ("cells", cell.name, "network", "egress"),
                f"adapters of {', '.join(f'`{m}`' for m in adapted)} come from the hub only, and {cell.name} has no "
                "way out",
                "write `egress: nat`, or remove the adapters",
            )
