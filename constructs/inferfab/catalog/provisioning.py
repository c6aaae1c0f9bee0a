"""How long it takes until a worker that is asked for answers."""

from functools import cache

from pydantic import PositiveFloat, PositiveInt

from inferfab.catalog.facts import DATA, FactFile, read_facts


class ProvisioningFacts(FactFile):
    """One measured cold start in its parts."""

    node_seconds: PositiveInt
    """From asking for a node to its joining the cluster."""
    start_seconds: PositiveInt
    """Image, engine start and warm-up, without weights."""
    weights_seconds: PositiveFloat
    weights_bytes: PositiveInt
    """What was loaded in that time."""

    @property
    def weights_bytes_per_second(self) -> float:
        return self.weights_bytes / self.weights_seconds


@cache
def provisioning_facts() -> ProvisioningFacts:
    return read_facts(DATA / "provisioning.yaml", ProvisioningFacts)
