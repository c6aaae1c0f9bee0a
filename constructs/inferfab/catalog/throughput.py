"""Published serving throughput, against which the plan's estimate stands."""

from functools import cache
from typing import Literal

from pydantic import PositiveFloat, PositiveInt

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class Measurement(Record):
    """One published point: tokens a second and GPU for a model on a GPU at stated lengths."""

    model: str
    """Id in ``models.yaml``."""
    gpu: str
    """Id in ``gpus.yaml``."""
    quantization: str
    engine: str
    topology: Literal["aggregated", "disaggregated"]
    tensor_parallel: PositiveInt | None
    prompt_tokens: PositiveInt
    output_tokens: PositiveInt
    output_tokens_per_second_per_gpu: PositiveFloat
    """Of the whole deployment: output tokens a second over all its GPUs, prefill GPUs included."""
    load: str
    """What the load was: offline, closed loop at a concurrency, Poisson at a rate."""
    trust: Literal["A", "B", "C"]
    source: str


class CostBand(Record):
    """Dollars per million tokens that the project's mission expects."""

    model: str
    gpu: str
    usd_per_million_tokens_low: PositiveFloat
    usd_per_million_tokens_high: PositiveFloat
    source: str


class ThroughputFile(FactFile):
    measurements: tuple[Measurement, ...]
    cost_bands: tuple[CostBand, ...]


@cache
def throughput() -> ThroughputFile:
    return read_facts(DATA / "throughput.json", ThroughputFile)
