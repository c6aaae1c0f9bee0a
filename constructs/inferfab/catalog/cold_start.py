"""How long a fresh node takes until it serves: one measured run, stage by stage."""

from functools import cache

from pydantic import NonNegativeInt, PositiveInt

from inferfab.catalog.facts import DATA, FactFile, read_facts


class ColdStart(FactFile):
    """Seconds of each stage of the run."""

    node_seconds: NonNegativeInt
    """From the request to a machine."""
    boot_seconds: NonNegativeInt
    """Until the node takes pods."""
    image_seconds: NonNegativeInt
    framework_seconds: NonNegativeInt
    """The engine's imports and processes."""
    warm_up_seconds: NonNegativeInt
    """Compilation and CUDA graphs."""
    unaccounted_seconds: NonNegativeInt
    """In the run's total and in none of its stages."""
    weights_seconds: PositiveInt
    weights_bytes: PositiveInt
    """What was loaded in that time."""
    benchmark_seconds: NonNegativeInt
    """At the run's end; no worker of ours does that."""

    @property
    def measured_seconds(self) -> int:
        """The whole run, its benchmark too."""
        return self.of_node + self.image_seconds + self.of_engine + self.weights_seconds + self.benchmark_seconds

    @property
    def of_node(self) -> int:
        """From asking for a machine to a node that takes pods."""
        return self.node_seconds + self.boot_seconds

    @property
    def of_engine(self) -> int:
        """From an image on the node to an engine that answers, but for the weights."""
        return self.framework_seconds + self.warm_up_seconds + self.unaccounted_seconds

    def of_weights(self, weights_bytes: int) -> float:
        """Seconds for so many bytes, at the run's rate."""
        return weights_bytes * self.weights_seconds / self.weights_bytes


@cache
def cold_start() -> ColdStart:
    return read_facts(DATA / "cold_start.yaml", ColdStart)
