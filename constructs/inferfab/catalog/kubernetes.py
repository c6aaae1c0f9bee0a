"""Kubernetes versions on EKS: until when each is supported, and what goes with it."""

from datetime import date
from functools import cache

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class KubernetesVersion(Record):
    """One minor version."""

    eks_release: date | None = None
    standard_support_ends: date
    extended_support_ends: date
    """After this day EKS upgrades the cluster by itself."""
    autoscaler_image_tag: str
    """The cluster autoscaler of the same minor."""
    source: str


class KubernetesFile(FactFile):
    versions: dict[str, KubernetesVersion]


@cache
def kubernetes_versions() -> dict[str, KubernetesVersion]:
    """All versions by minor (``1.36``)."""
    return read_facts(DATA / "kubernetes.yaml", KubernetesFile).versions


def minor(version: str) -> tuple[int, int]:
    """``1.36`` as numbers, so that 1.9 comes before 1.10.

    :raises ValueError: if it is not a minor version.
    """
    parts = version.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f'"{version}" is not a Kubernetes minor version such as 1.36')
    return int(parts[0]), int(parts[1])
