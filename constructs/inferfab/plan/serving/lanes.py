"""Sleep mode: one GPU, several models, one awake. A lane is a pod with one GPU and the engines that take turns on it.

Who wakes a model: llama-swap, in front of the lane's engines. A request for a sleeping model waits until the requests
that the awake one is answering have ended; then that one's weights go to CPU memory (level 1) and the asked one's come
back. Requests meanwhile queue, first come, first served, and nothing is refused until ``concurrencyLimit``.
"""

from collections import Counter

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from inferfab.catalog.charts import image
from inferfab.plan.aws_names import fit
from inferfab.plan.engine import Argument
from inferfab.plan.images import ImageSource
from inferfab.plan.names import priority_class_name
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import GIB
from inferfab.plan.served import ModelPlan
from inferfab.plan.serving.images import mirrored
from inferfab.plan.serving.workers import cpu_millis_of
from inferfab.plan.transport import EnvValue
from inferfab.record import Record

FIRST_ENGINE_PORT = 8101
FIRST_AWAKE_PORT = 8201
"""An engine's second port, which answers only while it is awake; llama-swap sends requests there."""
_NAME_LENGTH = 40
_REQUEST_BYTES_A_PROCESS = 4 * GIB
"""Asked for beside the weights; the limit is the engine's own. An estimate."""
MOST_IN_LANE = 4
"""Requests of a model that a lane takes, times its batch limit; more get HTTP 429."""
LOAD_TIMEOUT_SECONDS = 3600
WAKE_TIMEOUT_SECONDS = 120
"""For waking and for the answers that the awake model still owes; llama-swap gives up after it."""
_OF_DYNAMO = ("DYN_LORA_ENABLED", "VLLM_NIXL_SIDE_CHANNEL_HOST", "UCX_TLS")
"""Settings of Dynamo's worker and of KV transfer, neither of which a lane has."""


class LaneEngine(Record):
    """One model of a lane."""

    model: str
    folders: tuple[str, ...]
    """Of the model cache: weights, and those of a draft."""
    port: PositiveInt
    awake_port: PositiveInt
    arguments: tuple[Argument, ...]
    env: tuple[EnvValue, ...]
    max_requests: PositiveInt
    """That one lane takes at once, running and waiting for the model's turn; more get HTTP 429."""
    wake_seconds: NonNegativeFloat
    """Weights back from CPU memory, at the stated rate."""
    cold_load_seconds: NonNegativeFloat
    """At the lane's start: from the node's copy, engine start on top."""


class LanePlan(Record):
    """Equal lanes: a Deployment."""

    name: str
    pool: str
    tier: str
    priority_class: str
    node_group: str
    replicas: NonNegativeInt
    image: str
    swap_image: str
    """Has llama-swap; its binary is copied into the pod."""
    engines: tuple[LaneEngine, ...]
    cpu_millis: PositiveInt
    memory_request_bytes: PositiveInt
    memory_limit_bytes: PositiveInt
    shm_bytes: PositiveInt

    @property
    def start_seconds(self) -> float:
        """At least, until every model of a fresh lane was loaded once: one after the other."""
        return sum(e.cold_load_seconds for e in self.engines)


def plan_lanes(
    pool: PoolPlan, group: NodeGroupPlan, models: dict[str, ModelPlan], registry: ImageSource | None
) -> tuple[LanePlan, ...]:
    """Lanes as the plan packed the GPUs; equal ones together."""
    assert pool.shared is not None
    held = Counter(tuple(sorted({piece.model for piece in gpu})) for gpu in pool.shared.packing.gpus if gpu)
    swap = image("llama-swap")
    swap_image = f"{mirrored(swap.repository, registry)}:{swap.tag}"
    return tuple(
        _lane(f"{pool.name}-lane-{number}", names, count, pool, group, models, swap_image)
        for number, (names, count) in enumerate(sorted(held.items()))
    )


def _lane(
    name: str,
    names: tuple[str, ...],
    count: int,
    pool: PoolPlan,
    group: NodeGroupPlan,
    models: dict[str, ModelPlan],
    swap_image: str,
) -> LanePlan:
    assert pool.shared is not None
    instances = {i.model: i for i in pool.shared.instances}
    engines = [instances[n].engine for n in names]
    weights = sum(models[n].weights_bytes + models[n].draft_weights_bytes for n in names)
    return LanePlan(
        name=fit(name, _NAME_LENGTH),
        pool=pool.name,
        tier=pool.tier,
        priority_class=priority_class_name(pool.tier),
        node_group=group.name,
        replicas=count,
        image=engines[0].image,
        swap_image=swap_image,
        engines=tuple(
            LaneEngine(
                model=n,
                folders=tuple(f for f in (models[n].folder, models[n].draft_folder) if f),
                port=FIRST_ENGINE_PORT + position,
                awake_port=FIRST_AWAKE_PORT + position,
                arguments=engine.arguments,
                env=tuple(value for value in engine.env if value.name not in _OF_DYNAMO),
                max_requests=MOST_IN_LANE * int(engine.value_of("--max-num-seqs") or 1),
                wake_seconds=instances[n].wake_seconds,
                cold_load_seconds=instances[n].cold_load_seconds,
            )
            for position, (n, engine) in enumerate(zip(names, engines, strict=True))
        ),
        cpu_millis=cpu_millis_of(group, group.gpus_per_node),
        memory_request_bytes=weights + _REQUEST_BYTES_A_PROCESS * len(engines),
        memory_limit_bytes=weights + sum(e.memory_limit_bytes for e in engines),
        shm_bytes=max(e.shm_bytes for e in engines),
    )
