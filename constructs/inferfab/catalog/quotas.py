"""Service quotas of AWS that a fleet counts towards: their codes, and which machines each counts."""

from functools import cache
from typing import Literal

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record

Market = Literal["on_demand", "spot"]


class Quota(Record):
    """One service quota. What is granted is the account's, and read there."""

    service: str
    """Service code of the Service Quotas API."""
    code: str
    """Quota code, `L-…`."""
    title: str
    unit: str
    market: Market | None = None
    """Of vCPU quotas: how the machines are bought. None: no vCPU quota."""
    families: tuple[str, ...] = ()
    """Of vCPU quotas: beginnings of instance families that it counts."""


class QuotaFile(FactFile):
    quotas: dict[str, Quota]


@cache
def quotas() -> dict[str, Quota]:
    """All quotas by our name for them (``vcpu_on_demand_p``)."""
    return read_facts(DATA / "quotas.yaml", QuotaFile).quotas


def vcpu_quota(instance: str, market: Market) -> str | None:
    """The quota that counts this machine type's vCPUs; None where no source says which."""
    family = instance.partition(".")[0]
    fitting = [
        (len(start), name)
        for name, quota in quotas().items()
        if quota.market == market
        for start in quota.families
        if family.startswith(start)
    ]
    return max(fitting)[1] if fitting else None
