"""The catalog's model behind a ``--model``."""

from functools import cache

from inferfab.catalog.models import Model, Quantization, models
from inferfab.checks.serving.views import EngineView


@cache
def _by_repository() -> dict[str, tuple[str, Quantization]]:
    return {c.repository.lower(): (name, c.quantization) for name, m in models().items() for c in m.checkpoints}


def model_of(engine: EngineView) -> Model | None:
    """By the hub id; None for other models and for paths."""
    entry = entry_of(engine)
    return models()[entry[0]] if entry else None


def entry_of(engine: EngineView) -> tuple[str, Quantization] | None:
    """(id in the catalog, precision of the checkpoint)."""
    return _by_repository().get((engine.model or "").lower())
