"""Pools: GPUs of one tier, one model (or several, when shared) and their roles."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfab.environment.autoscaling import PoolScaling
from inferfab.environment.base import (
    Count,
    Input,
    Items,
    MemoryShare,
    Name,
    PositiveCount,
    Share,
    contradiction,
    impossible,
)
from inferfab.environment.capacity import Capacity, OnDemand
from inferfab.environment.tiers import Workload
from inferfab.environment.traffic import Traffic

FabricChoice = Literal["auto", "efa", "roce", "tcp"]
Locality = Literal["none", "preferred", "required"]
Flags = dict[str, str | int | float | bool]


class Replicas(Input):
    """Bounds on a number of engine workers."""

    desired: Count
    """Workers to start with."""
    min: Count | None = None
    """Never fewer. Default: `desired`. At least 1 where workers scale: nothing starts the first one again. An apply
    leaves the number of running nodes alone, and EKS refuses a minimum above it. To raise `min`, let that many nodes
    run first: `aws eks update-nodegroup-config` with minimum and desired size, then apply.
    """
    max: Count | None = None
    """Never more; node groups are sized for it. Default: `desired`."""

    @model_validator(mode="after")
    def _ordered(self) -> "Replicas":
        low, high = self.bounds[0], self.bounds[2]
        if not low <= self.desired <= high:
            lower = f"write `min: {self.desired}` or less, or `desired: {low}`"
            higher = f"write `max: {self.desired}` or more, or `desired: {high}`"
            raise contradiction(
                f"replicas must satisfy min <= desired <= max, got {low} / {self.desired} / {high}",
                lower if low > self.desired else higher,
            )
        return self

    @property
    def bounds(self) -> tuple[int, int, int]:
        """(min, desired, max) with defaults filled in."""
        low = self.desired if self.min is None else self.min
        high = self.desired if self.max is None else self.max
        return low, self.desired, high


class Workers(Input):
    """The engine workers of one role."""

    replicas: Replicas
    tensor_parallel: Annotated[int, Field(ge=1, le=64)] = 1
    """GPUs that split each layer; stays within a node. Default: 1."""
    pipeline_parallel: Annotated[int, Field(ge=1, le=64)] = 1
    """Groups of layers on different GPUs. Default: 1."""
    data_parallel: Annotated[int, Field(ge=1, le=256)] = 1
    """Attention replicas inside one worker (for mixture-of-experts models). Default: 1."""
    expert_parallel: bool = False
    """Spread whole experts over the GPUs instead of splitting each. Default: off."""
    gpu_memory_utilization: MemoryShare = 0.92
    """Share of GPU memory that vLLM may take. Default: 0.92, vLLM's own."""
    max_sequences: PositiveCount | None = None
    """Most sequences in one batch of a data-parallel rank. Default: the typical requests that its KV cache holds and
    with which the tier's ITL promise is kept, at most 256.
    """
    max_batched_tokens: PositiveCount | None = None
    """Most tokens in one forward pass. Default: 8,192 where prompts are read, 2,048 in decode workers."""
    overhead_gib: Annotated[float, Field(ge=1, le=32)] | None = None
    """GPU memory outside weights and KV cache. Default: estimated, between 3 and 8 GB."""
    flags: Flags = {}
    """Further vLLM flags by long name (`--enforce-eager: true`); held against the pair's flag list."""


class _Pool(Input):
    tier: Name
    """Tier whose promise the pool serves."""
    instance: str | None = None
    """Machine type, `p5en.48xlarge`. Or give `gpu`."""
    gpu: str | None = None
    """GPU by catalog id, `h200`; the plan takes the cloud's cheapest whole-node machine type with it."""
    capacity: Capacity = OnDemand()
    """How the GPUs are bought. Default: on demand. A cell may say otherwise."""
    fabric: FabricChoice = "auto"
    """Network that carries KV cache. Default `auto`: EFA on AWS, RoCE on Google, where the machine has it."""
    workload: Workload | None = None
    """Default: the tier's."""
    traffic: Traffic | None = None
    """What `simulate` and `size` replay for it, all cells together. Default: its part of the tier's."""
    scaling: PoolScaling | None = None
    """How it follows demand, where it has room to scale. Default: as `autoscaling` says."""
    frontends: Annotated[PositiveCount, Field(le=100)] = 2
    """Instances of the pool's frontend, on system nodes. Default: 2. Where one model is sold in several tiers, the
    router over its tiers has as many as the pool that asks for most.
    """
    block_tokens: Annotated[int, Field(ge=1, le=1024)] | None = None
    """KV block size, the same on router, prefill and decode. Default: the engine pair's (16), 64 for models with
    latent attention.
    """

    @model_validator(mode="after")
    def _one_machine(self) -> "_Pool":
        if (self.instance is None) == (self.gpu is None):
            raise contradiction(
                "give exactly one of `instance` (a machine type) and `gpu` (the plan picks the machine)",
                "add `gpu: …`, or `instance: …`" if self.gpu is None else f"remove `gpu: {self.gpu}`, or `instance`",
            )
        return self


class DisaggregatedPool(_Pool):
    """Prefill and decode on separate nodes; the KV cache travels over the fabric."""

    topology: Literal["disaggregated"]
    model: Name
    """Name under `models`."""
    prefill: Workers
    decode: Workers
    kv_transfer_share_of_ttft: Share = 0.2
    """Share of the strictest TTFT promise that moving the KV cache may take. Default: 20 %."""
    locality: Locality = "preferred"
    """Whether a request's decode stays close to its prefill, by the platform's node label. Default: preferred. With
    `required`, a place that lacks a role answers with errors. Nothing steers it where the machine reports no place, or
    where the model is sold in several tiers.
    """


class AggregatedPool(_Pool):
    """Workers that read the prompt and write the answer."""

    topology: Literal["aggregated"]
    model: Name
    """Name under `models`."""
    worker: Workers


MOST_SHARED_NODES = 1000
"""Nodes of a shared pool. EKS takes 450 in a group and GKE 1,000 in a zone; more would be packed for nothing."""


def _packable(nodes: Replicas | None) -> Replicas | None:
    if nodes is not None and nodes.bounds[2] > MOST_SHARED_NODES:
        raise impossible(
            f"a shared pool has at most {MOST_SHARED_NODES} nodes",
            f"write at most {MOST_SHARED_NODES}, and split it into several pools",
        )
    return nodes


SharedNodes = Annotated[Replicas, AfterValidator(_packable)]


class SharedModel(Input):
    """One of several models of a shared pool."""

    model: Name
    """Name under `models`."""
    instances: PositiveCount = 1
    """Fewest instances to serve. Room left over goes to further instances. Default: 1."""


class SharedPool(_Pool):
    """Several models on the same GPUs: MIG slices, or whole GPUs that load models on demand."""

    topology: Literal["shared"]
    sharing: Literal["mig", "sleep"]
    """`mig`: hardware partitions, isolated; `sleep`: vLLM sleep mode, one model awake a GPU, others in CPU memory."""
    models: Annotated[Items[SharedModel], Field(min_length=1, max_length=32)]
    nodes: SharedNodes
    """Nodes of the pool: `desired` alone, as nothing scales them."""
    max_sequences: PositiveCount = 8
    """Sequences at full context that each instance must hold. Default: 8."""
    gpu_memory_utilization: MemoryShare = 0.92
    """Share of a GPU's (or slice's) memory that vLLM may take. Default: 0.92."""

    @model_validator(mode="after")
    def _models_once(self) -> "SharedPool":
        names = [each.model for each in self.models]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise contradiction(
                f"model `{twice}` stands in `models` more than once",
                f"keep one entry, with `instances: {sum(m.instances for m in self.models if m.model == twice)}`",
            )
        return self


Pool = Annotated[DisaggregatedPool | AggregatedPool | SharedPool, Field(discriminator="topology")]


Generation = Annotated[int, Field(ge=1, le=99)]


class FormerGroups(Input):
    """Node groups of a pool as they were made, while newer ones take their place."""

    generation: Generation
    """The one before; below `generation` of the pool."""
    instance: str
    """Machine type of its nodes. What the pool asks for now is the newer groups'."""
    capacity: Capacity
    """How its nodes are bought. What the pool or its place in the cell says now is the newer groups'."""


class PoolInCell(Input):
    """A pool placed in a cell, and what differs there."""

    capacity: Capacity | None = None
    """Default: the pool's. A reservation belongs to one zone, so it is usually named here."""
    prefill_replicas: Replicas | None = None
    """Default: the pool's."""
    decode_replicas: Replicas | None = None
    """Default: the pool's."""
    worker_replicas: Replicas | None = None
    """Default: the pool's."""
    nodes: SharedNodes | None = None
    """Shared pools. Default: the pool's."""
    generation: Generation = 1
    """Generation of its node groups, on AWS: another number makes new groups under new names (`chat-decode-g2`).
    Default: 1, which has no suffix.
    """
    former: FormerGroups | None = None
    """Groups that still stand beside it, as they were made; they take no new pods. Remove it when they are empty.
    `inferfab upgrade plan ENV --to generation:POOL` writes it. Default: none.
    """
