"""Real arrivals to test with."""

import csv
from pathlib import Path

from conformance.shared_folder import shared


def path_of(name: str) -> Path:
    """:param name: of a ServeGen series of ten-minute windows."""
    return shared(f"data/traces/servegen_{name}_10min.csv")


def servegen(name: str) -> list[float | None]:
    """Rates; None where the collection has a gap."""
    with path_of(name).open() as stream:
        return [float(row["rate_rps"]) or None for row in csv.DictReader(stream)]
