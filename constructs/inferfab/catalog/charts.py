"""Helm charts that a cell's cluster gets, and the images of our own pods: versions, reasons, conflicts."""

from collections.abc import Iterable
from functools import cache
from itertools import combinations
from typing import Literal

from pydantic import field_validator

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.catalog.kubernetes import minor
from inferfab.record import Record


class KubernetesRange(Record):
    """Minor versions that a chart states support for; open above where none is stated."""

    min: str
    max: str | None = None

    @field_validator("min", "max")
    @classmethod
    def _is_minor(cls, value: str | None) -> str | None:
        if value is not None:
            minor(value)
        return value

    def __contains__(self, version: str) -> bool:
        return minor(self.min) <= minor(version) and (self.max is None or minor(version) <= minor(self.max))

    def __str__(self) -> str:
        return f"{self.min} to {self.max}" if self.max else f"{self.min} or newer"


class ChartCrds(Record):
    """The custom resource definitions that a chart owns."""

    groups: tuple[str, ...]
    """API groups; where two products share one, with the product's name after a slash."""
    upgraded: Literal["with the chart", "by a job", "by hand"]
    """How they follow a new version: Helm itself never upgrades a ``crds`` folder."""


class Chart(Record):
    """One chart at the version that we install."""

    chart: str
    repository: str
    version: str
    release: str
    namespace: str
    kubernetes: KubernetesRange
    crds: ChartCrds | None = None
    conflicts: tuple[str, ...] = ()
    """Charts that must not be in the same cluster."""
    why: str
    traps: tuple[str, ...] = ()
    source: str


class Image(Record):
    """A container image that our own pods, or settings of a chart, name."""

    repository: str
    tag: str
    why: str
    source: str

    @property
    def reference(self) -> str:
        return f"{self.repository}:{self.tag}"


class NetworkOperatorImages(Record):
    """What NVIDIA's network operator runs: one registry and one version for all but the driver."""

    repository: str
    version: str
    driver_version: str
    source: str


class ChartFile(FactFile):
    charts: dict[str, Chart]
    images: dict[str, Image]
    network_operator: NetworkOperatorImages


@cache
def _file() -> ChartFile:
    return read_facts(DATA / "charts.yaml", ChartFile)


def charts() -> dict[str, Chart]:
    """All charts by name."""
    return _file().charts


def image(name: str) -> Image:
    """One image.

    :raises KeyError: if there is none of that name; that is a mistake in our code.
    """
    return _file().images[name]


def network_operator_images() -> NetworkOperatorImages:
    """Images that a NicClusterPolicy names."""
    return _file().network_operator


def chart_problems(names: Iterable[str], kubernetes: str) -> list[str]:
    """Why these charts cannot be in one cluster of that Kubernetes version; empty if they can."""
    known = charts()
    chosen = list(dict.fromkeys(names))
    problems = [
        f"{name} {known[name].version} supports Kubernetes {known[name].kubernetes}, and the cluster has {kubernetes}"
        for name in chosen
        if kubernetes not in known[name].kubernetes
    ]
    for a, b in combinations(chosen, 2):
        if b in known[a].conflicts or a in known[b].conflicts:
            problems.append(f"{a} and {b} must not be in one cluster: install one of them")
        first, second = known[a].crds, known[b].crds
        shared = sorted(set(first.groups) & set(second.groups)) if first and second else []
        problems.extend(f"{a} and {b} both bring the CRDs of {group}: CRDs have one owner" for group in shared)
    return problems
