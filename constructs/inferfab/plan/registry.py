"""The registry of models: what is pinned, on whose terms, where it lies, who serves it. Read off the plan."""

from collections.abc import Iterator

from pydantic import NonNegativeFloat, NonNegativeInt

from inferfab.environment.evaluations import Evaluation, LicenceAccepted
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.served import ModelPlan
from inferfab.record import Record


class StoredAt(Record):
    """One place that holds a model, or should."""

    cell: str
    store_uri: str | None
    """Folder of the region's store, which is asked first; None where there is none."""
    hub: bool
    """The hub is asked where the store does not have it."""
    node_paths: tuple[str, ...]
    """Folders on the disks of the cell's nodes."""


class ServedBy(Record):
    """One pool in one cell."""

    cell: str
    pool: str
    tier: str


class RegisteredModel(Record):
    """One pinned set of weights."""

    name: str
    title: str
    source: str
    revision: str
    manifest_sha256: str | None
    quantization: str
    quantized_variant: bool
    licence: str
    gated: bool
    token_secret: str | None
    licence_accepted: LicenceAccepted | None
    bytes: NonNegativeInt
    """Of the weights, those of a draft too."""
    load_seconds: NonNegativeFloat
    """From the node's disk into a pod; engine start comes on top."""
    evaluations: tuple[Evaluation, ...]
    """Of this revision."""
    older_evaluations: NonNegativeInt
    """Of other revisions."""
    stored: tuple[StoredAt, ...]
    served_by: tuple[ServedBy, ...]

    @property
    def standing(self) -> str:
        """What the evaluations say, in a word or two."""
        if not self.evaluations:
            if self.older_evaluations:
                return "of another revision"
            return "none" if self.quantized_variant else "none needed"
        return "passed" if all(e.passed for e in self.evaluations) else "NOT PASSED"


def registered_models(fleet: FleetPlan) -> tuple[RegisteredModel, ...]:
    """In the order of the file."""
    return tuple(_registered(fleet, model) for model in fleet.models)


def _registered(fleet: FleetPlan, model: ModelPlan) -> RegisteredModel:
    return RegisteredModel(
        name=model.name,
        title=model.title,
        source=model.source,
        revision=model.revision,
        manifest_sha256=model.manifest_sha256,
        quantization=model.quantization,
        quantized_variant=model.quantized_variant,
        licence=model.licence,
        gated=model.gated,
        token_secret=model.token_secret,
        licence_accepted=model.licence_accepted,
        bytes=model.weights_bytes + model.draft_weights_bytes,
        load_seconds=model.cold_load_seconds,
        evaluations=model.evaluated,
        older_evaluations=len(model.evaluations) - len(model.evaluated),
        stored=tuple(_stored(fleet, model)),
        served_by=tuple(
            ServedBy(cell=pool.cell, pool=pool.name, tier=pool.tier)
            for pool in fleet.pools
            if model.name in pool.models
        ),
    )


def _stored(fleet: FleetPlan, model: ModelPlan) -> Iterator[StoredAt]:
    for cell in fleet.cells:
        holders = [h for h in cell.serving.cache.holders if h.model == model.name and h.weights]
        sources = [s for h in holders for s in h.sources if s.folder == model.folder]
        if not sources:
            continue
        yield StoredAt(
            cell=cell.name,
            store_uri=sources[0].store_uri,
            hub=sources[0].hub,
            node_paths=tuple(dict.fromkeys(f"{h.host_path}/{model.folder}" for h in holders)),
        )
