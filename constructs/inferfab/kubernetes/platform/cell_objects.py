"""Objects of our own that the rest stands on: namespaces, the storage class, classes of importance."""

from typing import Annotated, Literal

from pydantic import Field

from inferfab.kubernetes.local_chart import LocalChartSpec
from inferfab.record import Record
from inferfab.render.cluster_objects import namespaces_text, priority_classes_text
from inferfab.render.templates import render

Priority = Annotated[int, Field(ge=0, le=1_000_000_000)]
"""Above 1,000,000,000 are Kubernetes' own; below zero the autoscaler would not add nodes."""


class ServingTier(Record):
    """One tier in the cluster: a class of importance."""

    name: str
    priority: Priority
    """Higher goes first. It cannot be changed later: Kubernetes refuses another value for a class that is there."""
    preempts: bool = True
    """Its pods may push out pods of lower tiers. Default: yes."""


class CellObjectsSpec(Record):
    """What every cell has before the first operator."""

    tiers: tuple[ServingTier, ...]
    namespaces: tuple[str, ...] = ()
    """Namespaces, such as the one that serves and the gateway's. Default: none."""
    storage_class: str = "gp3-encrypted"
    """The cluster's default class. Default: ``gp3-encrypted``."""
    kms_key_arn: str | None = None
    """Key of the volumes. Default: the account's own EBS key."""
    google_kms_key: str | None = None
    """Google: key of the volumes, by its id."""
    cloud: Literal["aws", "gcp"] = "aws"
    """Whose disks they are. Default: AWS's."""

    def chart(self) -> LocalChartSpec:
        if self.cloud == "gcp":
            key = self.google_kms_key
            storage = render("chart/storage_class_google.yaml.j2", name=self.storage_class, kms_key=key)
        else:
            storage = render("chart/storage_class.yaml.j2", name=self.storage_class, kms_key_arn=self.kms_key_arn)
        files = {
            "namespaces.yaml": namespaces_text(self.namespaces),
            "storage_class.yaml": storage,
            "priority_classes.yaml": priority_classes_text((t.name, t.priority, t.preempts) for t in self.tiers),
        }
        return LocalChartSpec(name="cell-objects", description="Namespaces, storage class, priorities", files=files)
