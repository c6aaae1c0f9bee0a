"""Objects of our own that the rest stands on: namespaces, the storage class, classes of importance."""

from typing import Annotated

from pydantic import Field

from inferfab.kubernetes.local_chart import LocalChartSpec
from inferfab.record import Record
from inferfab.render.templates import render

Priority = Annotated[int, Field(ge=0, le=1_000_000_000)]
"""Above 1,000,000,000 are Kubernetes' own; below zero the autoscaler would not add nodes."""


class ServingTier(Record):
    """One tier in the cluster: a namespace and a class of importance."""

    name: str
    priority: Priority
    """Higher goes first. It cannot be changed later: Kubernetes refuses another value for a class that is there."""
    preempts: bool = True
    """Its pods may push out pods of lower tiers. Default: yes."""

    @property
    def namespace(self) -> str:
        return f"serving-{self.name}"

    @property
    def priority_class(self) -> str:
        return f"inferfab-{self.name}"


class CellObjectsSpec(Record):
    """What every cell has before the first operator."""

    tiers: tuple[ServingTier, ...]
    namespaces: tuple[str, ...] = ()
    """Further namespaces, such as the gateway's. Default: none."""
    storage_class: str = "gp3-encrypted"
    """The cluster's default class. Default: ``gp3-encrypted``."""
    kms_key_arn: str | None = None
    """Key of the volumes. Default: the account's own EBS key."""

    def chart(self) -> LocalChartSpec:
        namespaces: list[dict[str, str | None]] = [{"name": tier.namespace, "tier": tier.name} for tier in self.tiers]
        namespaces += [{"name": name, "tier": None} for name in self.namespaces]
        storage = render("chart/storage_class.yaml.j2", name=self.storage_class, kms_key_arn=self.kms_key_arn)
        files = {
            "namespaces.yaml": render("chart/namespaces.yaml.j2", namespaces=namespaces),
            "storage_class.yaml": storage,
            "priority_classes.yaml": render("chart/priority_classes.yaml.j2", tiers=self.tiers),
        }
        return LocalChartSpec(name="cell-objects", description="Namespaces, storage class, priorities", files=files)
