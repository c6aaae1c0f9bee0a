"""The models that an environment serves."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfab.catalog.models import ModelShape, Quantization
from inferfab.environment.base import Input, Items, Name, Tokens, contradiction, impossible, matching
from inferfab.environment.evaluations import Evaluation, LicenceAccepted, ManifestDigest

KvDtype = Literal["auto", "bf16", "fp8", "nvfp4"]
SpeculativeMethod = Literal["ngram", "suffix", "draft_model", "eagle", "eagle3", "mtp"]
Gib = Annotated[float, Field(ge=0.001, le=65_536)]


_HUB_ID = re.compile(r"([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?/)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")


def _names_weights(text: str) -> str:
    """A URI, or a hub id as huggingface_hub takes it (utils/_validators.py ``validate_repo_id``)."""
    if "://" in text:
        return text
    sound = _HUB_ID.fullmatch(text) and "--" not in text and ".." not in text
    if not sound or len(text) > 96 or text.endswith(".git"):
        raise impossible(
            f"`{text}` is no hub id",
            "write owner/name: letters, digits, `-`, `_` and `.`, none of the last three twice in a row or at an end",
        )
    return text


WeightsSource = Annotated[str, AfterValidator(_names_weights)]
SecretName = Annotated[
    str,
    matching(
        r"^[A-Za-z0-9/_+=.@-]*[A-Za-z0-9][A-Za-z0-9/_+=.@-]*$",
        "write the secret's name: letters, digits and any of / _ + = . @ -",
        max_length=512,
    ),
]
"""As AWS Secrets Manager takes it (CreateSecret, Name)."""


class Draft(Input):
    """The weights that propose tokens."""

    catalog: str | None = None
    """Catalog model that drafts (method `draft_model`); its shape gives weights and KV cache."""
    source: WeightsSource
    """Hub id or URI of the draft weights."""
    revision: Annotated[str, Field(min_length=7, max_length=64)]
    """Pinned commit or version of the draft weights."""
    weights_gib: Gib | None = None
    """Size of the draft weights. Needed for `eagle` and `eagle3`; taken from the catalog for `draft_model`."""


class Speculative(Input):
    """Speculative decoding: some tokens are proposed cheaply and verified together."""

    method: SpeculativeMethod
    """What proposes the tokens."""
    tokens: Annotated[int, Field(ge=1, le=32)] = 3
    """Tokens proposed at a time. Default: 3."""
    draft: Draft | None = None
    """Draft weights. Needed for `draft_model`, `eagle` and `eagle3`; `ngram`, `suffix` and `mtp` bring their own."""

    @model_validator(mode="after")
    def _draft_where_needed(self) -> "Speculative":
        if self.method in ("draft_model", "eagle", "eagle3") and self.draft is None:
            raise contradiction(
                f"speculative method {self.method} needs `draft:` with source, revision and size",
                "add `draft: {source: …, revision: …, weights_gib: …}`, or use ngram or mtp",
            )
        if self.method in ("ngram", "suffix", "mtp") and self.draft is not None:
            raise contradiction(
                f"speculative method {self.method} takes no `draft:`; it has no weights of its own",
                "remove `draft`, or write the method that uses it: draft_model, eagle, eagle3",
            )
        return self


class Offload(Input):
    """KV cache tiers behind the GPU, by vLLM's own tiering. Sizes are per GPU, so that every worker size fits."""

    cpu_gib_per_gpu: Gib
    """CPU memory for evicted KV blocks. It should hold at least what a GPU's own cache holds."""
    nvme_gib_per_gpu: Gib | None = None
    """Local NVMe behind the CPU tier. Default: no disk tier."""
    nvme_storage_class: Annotated[str, Field(min_length=1, max_length=253)] = "local-nvme"
    """Kubernetes storage class that makes volumes of a fixed size on the node's own disks: the engine fills its disk
    tier until a write fails, so the tier has a file system of its own. Default: `local-nvme`. Nothing here makes it.
    """


class Adapter(Input):
    """A LoRA adapter: small weights on top of the model's, asked for by a name of their own."""

    source: Annotated[
        str,
        matching(
            r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$",
            "write a hub id, like owner/name: workers load adapters themselves, and have no rights on buckets",
        ),
        AfterValidator(_names_weights),
    ]
    """Hub id (`owner/name`) of the adapter. Workers load it from the hub, with the model's `token_secret`: an adapter
    has no token of its own.
    """
    revision: Annotated[str, Field(min_length=7, max_length=64)]
    """Pinned commit of the adapter."""
    rank: Literal[1, 8, 16, 32, 64, 128, 256, 320, 512] = 16
    """Rank of its matrices; the engine makes room for the largest. Default: 16."""


class ServedModel(Input):
    """One model under a name of its own."""

    catalog: str | None = None
    """Catalog model that gives shape, checkpoints and licence (see `inferfab catalog`). Or give `shape`."""
    shape: ModelShape | None = Field(default=None, strict=False)
    """Shape of a model that the catalog does not have, from its config.json."""
    source: WeightsSource | None = None
    """Hub id (`owner/name`) or `s3://`/`gs://` URI of the weights. Default: the catalog's checkpoint of this
    quantization.
    """
    revision: Annotated[str, Field(min_length=7, max_length=64)]
    """Pinned commit hash (or version) of the weights, quoted. A branch name is refused: it moves."""
    context_tokens: Tokens
    """Longest prompt plus answer that is promised; vLLM's `--max-model-len`."""
    quantization: Quantization | None = None
    """Precision of the weights. Default: the catalog's first checkpoint."""
    weights_gib: Gib | None = None
    """Size of the weights on disk. Default: the checkpoint's own size, else parameters times bytes."""
    kv_cache_dtype: KvDtype = "auto"
    """KV cache precision. Default `auto`: bf16, as vLLM does."""
    prefix_caching: bool = True
    """Reuse the KV cache of equal prompt beginnings. Default: on."""
    speculative: Speculative | None = None
    """Default: no speculative decoding."""
    offload: Offload | None = None
    """Default: KV cache on the GPU only."""
    adapters: Annotated[dict[Name, Adapter], Field(max_length=64)] = {}
    """LoRA adapters that every worker of the model loads. Default: none."""
    gated: bool | None = None
    """The weights need an accepted licence and a token. Default: as the catalog's checkpoint says."""
    token_secret: SecretName | None = None
    """Name of the secret that holds the download token (a reference, never the token), for the weights and for the
    model's adapters. Needed when gated.
    """
    licence_accepted: LicenceAccepted | None = None
    """Who accepted the licence of gated weights, and when. Needed when gated."""
    evaluations: Annotated[Items[Evaluation], Field(max_length=50)] = ()
    """Benchmarks on record. Quantized weights need one of their own `revision` before requests reach them. Default:
    none.
    """
    manifest_sha256: ManifestDigest | None = None
    """SHA-256 of the model's manifest, as `inferfab checksum FOLDER` prints it: nodes take nothing else. Default: files
    are held against the manifest that lies beside them, if one does.
    """
    cold_load_gib_per_second: Annotated[float, Field(ge=0.001, le=100)] = 2.0
    """Rate at which weights arrive in a pod from the cache volume, for cold-load times. Default: 2 GiB/s."""

    @model_validator(mode="after")
    def _one_shape(self) -> "ServedModel":
        if (self.catalog is None) == (self.shape is None):
            raise contradiction(
                "give exactly one of `catalog` (a model of the catalog) and `shape` (your own)",
                "add `catalog: …` (`inferfab catalog models` lists them)"
                if self.catalog is None
                else f"remove `shape`, or `catalog: {self.catalog}`",
            )
        if self.shape is not None and self.source is None:
            raise contradiction("a model with its own `shape` needs a `source`", "add `source: owner/name`, the hub id")
        if self.shape is not None and self.quantization is None:
            raise contradiction(
                "a model with its own `shape` needs a `quantization`",
                "add `quantization: bf16`, or what the weights are",
            )
        return self
