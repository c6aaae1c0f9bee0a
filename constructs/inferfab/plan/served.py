"""The models of an environment with everything that the catalog adds to them."""

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from inferfab.catalog.models import Model, ModelShape, Quantization, models
from inferfab.environment.evaluations import Evaluation, LicenceAccepted
from inferfab.environment.served_models import Adapter, KvDtype, ServedModel, Speculative
from inferfab.plan.kv_cache import KvPrecision, one_layer
from inferfab.plan.names import model_folder
from inferfab.plan.quantities import GIB
from inferfab.record import Record

BYTES_PER_PARAMETER: dict[Quantization, float] = {
    "bf16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5 + 2 / 128, "mxfp4": 0.5 + 1 / 32, "nvfp4": 0.5 + 1 / 16,
}  # fmt: skip
"""Weights with their scales: int4 one 16-bit scale a group of 128, MXFP4 one byte for 32, NVFP4 one for 16."""


MODELS_PATH = "/models"
"""Where pods see the node's copies of models."""


class AdapterPlan(Record):
    """One LoRA adapter of a model."""

    name: str
    """Name by which requests ask for it."""
    source: str
    revision: str
    rank: PositiveInt


class ModelPlan(Record):
    """One served model: what is loaded, from where, how large it is."""

    name: str
    title: str
    catalog: str | None
    source: str
    revision: str
    folder: str
    """Of the weights under :data:`MODELS_PATH`; one a revision, so that two can stand side by side."""
    draft_folder: str | None
    """The same of the draft weights; None where drafting has none of its own."""
    adapters: tuple[AdapterPlan, ...]
    quantization: Quantization
    shape: ModelShape
    weights_bytes: PositiveInt
    weights_basis: Literal["environment", "checkpoint", "parameters"]
    """Who gave the size: the environment, the checkpoint's index, or parameters times bytes."""
    kv_precision: KvPrecision
    context_tokens: PositiveInt
    prefix_caching: bool
    speculative: Speculative | None
    draft_weights_bytes: NonNegativeInt
    draft_shape: ModelShape | None
    """Shape of the KV cache that drafting adds; None if it adds none."""
    cpu_tier_bytes_per_gpu: NonNegativeInt
    nvme_tier_bytes_per_gpu: NonNegativeInt
    nvme_storage_class: str | None
    gated: bool
    token_secret: str | None
    licence: str
    cold_load_seconds: float
    """Weights, those of a draft too, over the stated load rate; engine start and compilation come on top."""
    quantized_variant: bool = False
    """Smaller weights that stand in for others: 16-bit ones exist. What was published quantized is no variant."""
    evaluations: tuple[Evaluation, ...] = ()
    licence_accepted: LicenceAccepted | None = None
    manifest_sha256: str | None = None
    """None: files are held against the manifest beside them, if one is there."""

    @property
    def evaluated(self) -> tuple[Evaluation, ...]:
        """Evaluations of these very weights."""
        return tuple(e for e in self.evaluations if e.revision == self.revision)

    @property
    def path(self) -> str:
        """``--model``: the folder with the weights, in the pod."""
        return f"{MODELS_PATH}/{self.folder}"

    @property
    def draft_path(self) -> str | None:
        return f"{MODELS_PATH}/{self.draft_folder}" if self.draft_folder else None


def computed_weights_bytes(shape: ModelShape, quantization: Quantization) -> int:
    """Parameters times bytes; embedding and output matrix stay at 16 bits in quantized checkpoints."""
    embeddings = min(2 * shape.vocabulary * shape.hidden_size, shape.parameters)
    rest = shape.parameters - embeddings
    return round(rest * BYTES_PER_PARAMETER[quantization] + embeddings * 2)


def plan_model(name: str, asked: ServedModel) -> ModelPlan:
    """Fill one served model in. The environment's references were checked before."""
    entry = models()[asked.catalog] if asked.catalog else None
    shape = entry.shape if entry else asked.shape
    assert shape is not None
    quantization = asked.quantization or (entry.checkpoints[0].quantization if entry else "bf16")
    checkpoint = next((c for c in entry.checkpoints if c.quantization == quantization), None) if entry else None
    published = checkpoint.weights_bytes if checkpoint and asked.source in (None, checkpoint.repository) else None
    weights_bytes, basis = _weights(asked, shape, quantization, published)
    offload = asked.offload
    draft_bytes, draft_shape = _draft(asked.speculative, shape, entry)
    return ModelPlan(
        name=name,
        title=entry.title if entry else name,
        catalog=asked.catalog,
        source=asked.source or (checkpoint.repository if checkpoint else name),
        revision=asked.revision,
        folder=model_folder(name, asked.revision),
        draft_folder=_draft_folder(name, asked.speculative),
        adapters=tuple(_adapter(adapter, stated) for adapter, stated in asked.adapters.items()),
        quantization=quantization,
        shape=shape,
        weights_bytes=weights_bytes,
        weights_basis=basis,
        kv_precision=_kv_precision(asked.kv_cache_dtype),
        context_tokens=asked.context_tokens,
        prefix_caching=asked.prefix_caching,
        speculative=asked.speculative,
        draft_weights_bytes=draft_bytes,
        draft_shape=draft_shape,
        cpu_tier_bytes_per_gpu=round(offload.cpu_gib_per_gpu * GIB) if offload else 0,
        nvme_tier_bytes_per_gpu=round((offload.nvme_gib_per_gpu or 0) * GIB) if offload else 0,
        nvme_storage_class=offload.nvme_storage_class if offload else None,
        gated=asked.gated if asked.gated is not None else bool(checkpoint and checkpoint.gated),
        token_secret=asked.token_secret,
        licence=entry.licence if entry else "not stated",
        cold_load_seconds=round((weights_bytes + draft_bytes) / GIB / asked.cold_load_gib_per_second, 1),
        quantized_variant=quantization != "bf16"
        and (entry is None or any(c.quantization == "bf16" for c in entry.checkpoints)),
        evaluations=asked.evaluations,
        licence_accepted=asked.licence_accepted,
        manifest_sha256=asked.manifest_sha256,
    )


def _draft_folder(name: str, speculative: Speculative | None) -> str | None:
    draft = speculative.draft if speculative else None
    return model_folder(f"{name}-draft", draft.revision) if draft else None


def _adapter(name: str, asked: Adapter) -> AdapterPlan:
    return AdapterPlan(name=name, source=asked.source, revision=asked.revision, rank=asked.rank)


def _kv_precision(asked: KvDtype) -> KvPrecision:
    return "bf16" if asked == "auto" else asked


def _weights(
    asked: ServedModel, shape: ModelShape, quantization: Quantization, published: int | None
) -> tuple[int, Literal["environment", "checkpoint", "parameters"]]:
    if asked.weights_gib is not None:
        return round(asked.weights_gib * GIB), "environment"
    if published is not None:
        return published, "checkpoint"
    return computed_weights_bytes(shape, quantization), "parameters"


def _draft(speculative: Speculative | None, shape: ModelShape, entry: Model | None) -> tuple[int, ModelShape | None]:
    """Weights and KV shape that drafting adds. N-gram and suffix methods add neither; MTP modules are part of
    the checkpoint and add one layer of cache; so does an EAGLE head, whose weights the environment states."""
    if speculative is None or speculative.method in ("ngram", "suffix"):
        return 0, None
    draft = speculative.draft
    if draft is None:
        return 0, one_layer(shape)
    stated = round(draft.weights_gib * GIB) if draft.weights_gib is not None else None
    drafting = models()[draft.catalog] if draft.catalog else None
    if drafting is None:
        return stated or 0, one_layer(shape)
    first = drafting.checkpoints[0]
    size = stated or first.weights_bytes or computed_weights_bytes(drafting.shape, first.quantization)
    return size, drafting.shape
