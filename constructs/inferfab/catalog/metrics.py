"""Which series exporters write, by version: an expression over a name that nobody exports is never an error, only
silent.
"""

from functools import cache

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class Exporter(Record):
    """Series of one exporter at one version."""

    version: str
    source: str
    metrics: tuple[str, ...]
    """As exported: counters with their ending, histograms without ``_bucket``, ``_sum`` and ``_count``."""
    histograms: tuple[str, ...] = ()
    buckets_seconds: dict[str, tuple[float, ...]] = {}
    """Fixed upper edges of histograms whose edges cannot be set."""

    @property
    def series(self) -> frozenset[str]:
        """Names that a query may use."""
        parts = {f"{name}{end}" for name in self.histograms for end in ("_bucket", "_sum", "_count")}
        return frozenset({*self.metrics, *parts} - set(self.histograms))


class MetricsFile(FactFile):
    exporters: dict[str, Exporter]


@cache
def exporters() -> dict[str, Exporter]:
    """By name, for what moves with the engine pair with its version: ``vllm 0.31.0``."""
    return read_facts(DATA / "metrics.json", MetricsFile).exporters


def engine_exporters(dynamo: str, vllm: str) -> tuple[str, ...]:
    """Names of the exporters of an engine pair that the catalog knows; fewer than three where it does not."""
    wanted = (f"dynamo {dynamo}", f"dynamo-planner {dynamo}", f"vllm {vllm}")
    return tuple(name for name in wanted if name in exporters())


def exported(dynamo: str, vllm: str) -> frozenset[str]:
    """Series that a cell with this engine pair has."""
    fixed = [one for name, one in exporters().items() if " " not in name]
    pair = [exporters()[name] for name in engine_exporters(dynamo, vllm)]
    return frozenset(name for one in (*fixed, *pair) for name in one.series)


@cache
def dcgm_counters() -> str:
    """The list of fields that DCGM's exporter reads, as its CSV."""
    return (DATA / "dcgm_counters.csv").read_text(encoding="utf-8")
