"""GPU models: memory, bandwidth, compute, MIG profiles."""

from functools import cache
from typing import Literal

from pydantic import PositiveFloat, PositiveInt, model_validator

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record

Precision = Literal["bf16", "fp8", "fp4"]


class MigProfile(Record):
    """One GPU-instance profile, as ``nvidia-smi mig -lgip`` and ``-lgipp`` list it."""

    name: str
    """For example ``1g.18gb``; the Kubernetes resource is ``nvidia.com/mig-<name>``."""
    memory_mib: PositiveInt
    """Memory that a process in the instance sees."""
    compute_slices: PositiveInt
    memory_slices: PositiveInt
    """Width of the placement, in memory slices (a data-centre GPU has 8)."""
    starts: tuple[int, ...]
    """Memory slices at which the instance may start."""


class Gpu(Record):
    """One GPU model. Figures are per GPU."""

    title: str
    """What people call it: ``NVIDIA H200 SXM``."""
    architecture: Literal["turing", "ampere", "ada", "hopper", "blackwell"]
    compute_capability: str
    memory_mib: PositiveInt
    """Memory that the driver reports, before vLLM takes anything."""
    memory_gb_per_second: PositiveFloat
    dense_tflops: dict[Precision, PositiveFloat]
    """Dense peak by precision; a precision that the GPU cannot do is absent."""
    nvlink: bool
    """GPUs of one node are joined by NVLink; otherwise tensor parallelism runs over PCIe."""
    mig_profiles: tuple[MigProfile, ...] = ()
    """Empty where the GPU has none, or where no source gives them; ``note`` then says so."""
    note: str = ""
    source: str

    @property
    def memory_bytes(self) -> int:
        return self.memory_mib * 1024 * 1024

    @model_validator(mode="after")
    def _mig_fits(self) -> "Gpu":
        for profile in self.mig_profiles:
            if profile.memory_mib > self.memory_mib:
                raise ValueError(f"MIG profile {profile.name} is larger than the GPU")
        return self


class GpuFile(FactFile):
    gpus: dict[str, Gpu]


@cache
def gpus() -> dict[str, Gpu]:
    """All GPUs by id (``h200``, ``l40s``, …)."""
    return read_facts(DATA / "gpus.yaml", GpuFile).gpus
