"""How long a fresh node takes until it serves, stage by stage."""

from functools import cache

from pydantic import NonNegativeFloat

from inferfab.catalog.facts import DATA, FactFile, read_facts


class ColdStart(FactFile):
    """Seconds of each stage but loading the weights."""

    node_seconds: NonNegativeFloat
    """From the request to a machine."""
    boot_seconds: NonNegativeFloat
    """Until the node takes pods."""
    image_seconds: NonNegativeFloat
    framework_seconds: NonNegativeFloat
    """The engine's imports and processes."""
    warm_up_seconds: NonNegativeFloat
    """Compilation and CUDA graphs."""


@cache
def cold_start() -> ColdStart:
    return read_facts(DATA / "cold_start.yaml", ColdStart)
