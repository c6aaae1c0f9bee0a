"""Language models: the shapes from which memory, bandwidth and compute follow."""

from functools import cache
from typing import Annotated, Literal

from pydantic import Field, PositiveInt, model_validator

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record

Size = Annotated[int, Field(ge=1, le=10_000_000)]
Parameters = Annotated[float, Field(ge=1_000_000, le=1e15)]


class FullAttention(Record):
    """Multi-head (``kv_heads == query_heads``) or grouped-query attention over the whole context."""

    kind: Literal["full"] = "full"
    layers: Size
    kv_heads: Size
    head_dim: Size


class SlidingAttention(Record):
    """Grouped-query attention that only sees the last ``window_tokens``."""

    kind: Literal["sliding"] = "sliding"
    layers: Size
    kv_heads: Size
    head_dim: Size
    window_tokens: Size


class LatentAttention(Record):
    """Multi-head latent attention (MLA): one compressed vector a token and layer.

    The vector is not split over tensor-parallel ranks: each rank holds all of it.
    """

    kind: Literal["mla"] = "mla"
    layers: Size
    kv_lora_rank: Size
    rope_head_dim: Size


Attention = Annotated[FullAttention | SlidingAttention | LatentAttention, Field(discriminator="kind")]

Quantization = Literal["bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4"]


class ModelShape(Record):
    """What a checkpoint's ``config.json`` says, in the field's words."""

    parameters: Parameters
    """Parameters in all (embeddings and experts included)."""
    active_parameters: Parameters
    """Parameters that one token runs through; equal to ``parameters`` in a dense model."""
    hidden_size: Size
    query_heads: Size
    vocabulary: Size
    max_context_tokens: Size
    """``max_position_embeddings``, or the length that the card promises with its stated scaling."""
    attention: tuple[Attention, ...]
    """Groups of layers that cache in the same way. Layers without a KV cache are left out."""
    experts: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Routed experts a layer; 0 in a dense model."""
    expert_parameters: Parameters | None = None
    """Parameters of all routed experts: layers with experts x ``experts`` x 3 x hidden size x width of an expert
    (``moe_intermediate_size``), shared experts not counted. Default: those that a token does not run through, which
    is somewhat less.
    """

    @model_validator(mode="after")
    def _consistent(self) -> "ModelShape":
        if not self.attention:
            raise ValueError("attention needs at least one group of layers")
        if self.active_parameters > self.parameters:
            raise ValueError("active_parameters is larger than parameters")
        if self.expert_parameters is not None and not self.experts:
            raise ValueError("expert_parameters needs `experts`, the number of routed experts a layer")
        if (self.expert_parameters or 0) > self.parameters:
            raise ValueError("expert_parameters is larger than parameters")
        for group in self.attention:
            if not isinstance(group, LatentAttention) and self.query_heads % group.kv_heads:
                raise ValueError(f"query_heads {self.query_heads} is not a multiple of kv_heads {group.kv_heads}")
        return self

    @property
    def routed_parameters(self) -> float:
        """Parameters of routed experts; from below where ``expert_parameters`` is not stated.

        A token runs through ``k`` of ``E`` experts, so what it leaves out is (1 - k/E) of them.
        """
        if not self.experts:
            return 0.0
        if self.expert_parameters is not None:
            return self.expert_parameters
        return self.parameters - self.active_parameters


class Checkpoint(Record):
    """One published set of weights of a model."""

    quantization: Quantization
    repository: str
    """Hub id, ``owner/name``."""
    weights_bytes: PositiveInt | None = None
    """Size of all weight files, where it was read; otherwise the plan computes it from the parameters."""
    gated: bool = False
    """A licence must be accepted and a token sent to download it."""
    source: str


class Model(Record):
    """One model of the catalog."""

    title: str
    family: str
    shape: ModelShape
    checkpoints: tuple[Checkpoint, ...]
    """The first is the one that an environment gets by default."""
    licence: str
    source: str

    @model_validator(mode="after")
    def _one_checkpoint_a_quantization(self) -> "Model":
        seen = [c.quantization for c in self.checkpoints]
        if not seen or len(seen) != len(set(seen)):
            raise ValueError("needs checkpoints, one a quantization")
        return self


class ModelFile(FactFile):
    models: dict[str, Model]


@cache
def models() -> dict[str, Model]:
    """All models by id (``llama-3.1-70b-instruct``, …)."""
    return read_facts(DATA / "models.yaml", ModelFile).models
