"""What GKE calls things, and the images that its GPU nodes need."""

from functools import cache

from pydantic import PositiveFloat

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class Named(Record):
    name: str
    source: str


class Text(Record):
    value: str
    source: str


class Settings(Record):
    value: dict[str, str]
    source: str


class Size(Record):
    value: PositiveFloat
    source: str


class GkeFile(FactFile):
    accelerators: dict[str, Named]
    machines: dict[str, Named]
    local_ssd_gb: Size
    gib_image: Text
    gib_image_arm64: Text
    gib_host_path: Text
    """On the node: the installer's DaemonSet copies the plugin there."""
    gib_path: Text
    """In a pod."""
    gib_env: Settings
    """Of NCCL, where a worker spans nodes."""
    driver_installer_image: Text
    pause_image: Text


@cache
def gke() -> GkeFile:
    return read_facts(DATA / "gke.yaml", GkeFile)


def accelerator(machine: str, gpu: str) -> str:
    """Compute Engine's name of the GPUs of a machine type."""
    named = gke().machines.get(machine) or gke().accelerators[gpu]
    return named.name


def local_ssds(local_nvme_gb: int) -> int:
    """Local disks of a machine type."""
    return round(local_nvme_gb / gke().local_ssd_gb.value)
