"""RDMA network adapters of owned servers, as NVIDIA's NIC configuration operator knows them."""

from functools import cache

from pydantic import PositiveInt

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class Nic(Record):
    """One adapter model."""

    title: str
    device_id: str
    """PCI device id: the operator's ``nicType``."""
    vendor_id: str
    most_gbps: PositiveInt


class NicFile(FactFile):
    nics: dict[str, Nic]


@cache
def nics() -> dict[str, Nic]:
    """All adapters by id (``connectx-7``)."""
    return read_facts(DATA / "nics.yaml", NicFile).nics
