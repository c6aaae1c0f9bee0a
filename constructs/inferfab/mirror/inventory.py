"""What a fleet's clusters pull, read from the stacks themselves: so nothing that is installed can be missing."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from inferfab.mirror.references import references_of
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.images import ImageSource
from inferfab.record import Record
from inferfab.render.mirrored_values import images_of
from inferfab.synthesis import synthesize

_IN_CLUSTER = ("platform", "serving")


class ImageUse(Record):
    """One image, and who needs it."""

    public: str
    """Repository as its publisher names it."""
    tag: str | None
    """None: the chart's own, which is read when it is mirrored."""
    digest: str | None
    """None: the tag is all that pins it."""
    pulled_from: str
    """Repository that the clusters pull from."""
    cells: tuple[str, ...]
    why: tuple[str, ...]
    """Objects and charts that need it."""

    @property
    def reference(self) -> str:
        """As its publisher names it."""
        return self.public + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


class ChartUse(Record):
    """One chart, and where it goes."""

    chart: str
    version: str
    public: str
    """Repository of its publisher."""
    installed_from: str
    cells: tuple[str, ...]
    namespaces: tuple[str, ...]
    values: tuple[dict[str, Any], ...]
    """What the cells give it; equal ones once."""


class NamespaceUse(Record):
    """A namespace with pods of ours."""

    name: str
    release: str | None = None
    """Helm release whose chart has the namespace among its objects. None: Helm makes it where there is none."""
    release_namespace: str | None = None
    """Where Helm keeps that release."""


class Inventory(Record):
    """Everything that has to be in a mirror."""

    environment: str
    images: tuple[ImageUse, ...]
    charts: tuple[ChartUse, ...]
    namespaces: tuple[str, ...]
    """Namespaces with pods of ours, where a pull secret has to stand."""
    owners: tuple[NamespaceUse, ...] = ()
    """The same, with the release that brings each: Helm takes over one that is there already only if it says so."""
    on_nodes: tuple[str, ...]
    """Images that nodes bring, which are never pulled."""


class _Found(Record):
    public: str
    tag: str | None
    digest: str | None
    pulled_from: str
    cell: str
    why: str


def inventory(fleet: FleetPlan) -> Inventory:
    """Walk the Terraform of every cell's platform and serving stacks.

    :raises inferfab.synthesis.SynthesisError: if the stacks cannot be built.
    :raises inferfab.render.mirrored_values.UnknownChart: if a chart's images are not in the catalog.
    """
    found: list[_Found] = []
    charts: list[tuple[ChartUse, str]] = []
    on_nodes: set[str] = set()
    namespaces: set[str] = set()
    brought: dict[str, NamespaceUse] = {}
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        synthesize(fleet, out)
        for cell in fleet.cells:
            for part in _IN_CLUSTER:
                folder = out / "stacks" / f"{fleet.ownership.name}-{cell.name}-{part}"
                for release in _releases(folder):
                    if "repository" in release:
                        charts.append((_chart(release, cell), cell.name))
                        found += _of_chart(release, cell)
                        namespaces.add(release["namespace"])
                    else:
                        texts = _texts(folder, release["chart"])
                        found += _of_texts(texts, cell, on_nodes, namespaces)
                        for name in (name for text in texts for name in _brought(text)):
                            brought[name] = NamespaceUse(
                                name=name, release=release["name"], release_namespace=release["namespace"]
                            )
    return Inventory(
        environment=fleet.ownership.name,
        images=_images(found),
        charts=_charts(charts),
        namespaces=tuple(sorted(namespaces)),
        owners=tuple(brought.get(name, NamespaceUse(name=name)) for name in sorted(namespaces)),
        on_nodes=tuple(sorted(on_nodes)),
    )


def _releases(folder: Path) -> Iterator[dict[str, Any]]:
    file = folder / "cdk.tf.json"
    if file.is_file():
        yield from json.loads(file.read_bytes()).get("resource", {}).get("helm_release", {}).values()


def _values(release: dict[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for text in release.get("values", ()):
        merged |= yaml.load(text, Loader=yaml.CSafeLoader) or {}
    return merged


def _chart(release: dict[str, Any], cell: CellPlan) -> ChartUse:
    from inferfab.catalog.charts import charts

    public = {one.chart: one.repository for one in charts().values()}
    return ChartUse(
        chart=release["chart"],
        version=release["version"],
        public=public.get(release["chart"], release["repository"]),
        installed_from=release["repository"],
        cells=(cell.name,),
        namespaces=(release["namespace"],),
        values=(_values(release),),
    )


def _of_chart(release: dict[str, Any], cell: CellPlan) -> Iterator[_Found]:
    for one in images_of(release["chart"], _values(release)):
        yield _Found(
            public=one.image,
            tag=one.tag,
            digest=None,
            pulled_from=cell.images.repository(one.image),
            cell=cell.name,
            why=f"chart {release['chart']}",
        )


def _texts(folder: Path, chart: str) -> list[str]:
    path = folder / chart.removeprefix("${path.module}/")
    return [file.read_text(encoding="utf-8") for file in sorted(path.glob("templates/*.yaml"))]


def _of_texts(texts: list[str], cell: CellPlan, on_nodes: set[str], namespaces: set[str]) -> Iterator[_Found]:
    for text in texts:
        for one in references_of(text):
            if one.never_pulled:
                on_nodes.add(one.reference)
                continue
            public, tag, digest = split(public_of(one.reference, cell.images))
            repository = split(one.reference)[0]
            yield _Found(public=public, tag=tag, digest=digest, pulled_from=repository, cell=cell.name, why=one.user)
        namespaces.update(_pod_namespaces(text))


def _pod_namespaces(text: str) -> Iterator[str]:
    if "image:" in text:
        for line in text.splitlines():
            if line.startswith("  namespace: "):
                yield line.removeprefix("  namespace: ").strip("'\"")


def _brought(text: str) -> Iterator[str]:
    """Namespaces among the objects. Charts are texts with placeholders of Helm's, so lines are read, not YAML."""
    for document in text.split("\n---"):
        if re.search(r"^kind: Namespace$", document, re.MULTILINE):
            yield from re.findall(r"^  name: ['\"]?([a-z0-9-]+)", document, re.MULTILINE)


def public_of(reference: str, source: ImageSource) -> str:
    """The publisher's reference of one that may be the mirror's."""
    return reference.removeprefix(f"{source.mirror}/") if source.mirror else reference


def split(reference: str) -> tuple[str, str | None, str | None]:
    """Repository, tag, digest."""
    rest, _, digest = reference.partition("@")
    head, slash, last = rest.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{head}{slash}{name}", tag or None, digest or None


def _images(found: list[_Found]) -> tuple[ImageUse, ...]:
    grouped: dict[tuple[str, str, str, str], list[_Found]] = {}
    for one in found:
        grouped.setdefault((one.public, one.tag or "", one.digest or "", one.pulled_from), []).append(one)
    return tuple(
        ImageUse(
            public=public,
            tag=tag or None,
            digest=digest or None,
            pulled_from=place,
            cells=tuple(dict.fromkeys(one.cell for one in uses)),
            why=tuple(dict.fromkeys(one.why for one in uses)),
        )
        for (public, tag, digest, place), uses in sorted(grouped.items())
    )


def _charts(found: list[tuple[ChartUse, str]]) -> tuple[ChartUse, ...]:
    grouped: dict[tuple[str, str], list[ChartUse]] = {}
    for use, _ in found:
        grouped.setdefault((use.chart, use.version), []).append(use)
    merged = []
    for uses in grouped.values():
        values: list[dict[str, Any]] = []
        for use in uses:
            values += [one for one in use.values if one not in values]
        merged.append(
            uses[0].model_copy(
                update={
                    "cells": tuple(dict.fromkeys(c for use in uses for c in use.cells)),
                    "namespaces": tuple(dict.fromkeys(n for use in uses for n in use.namespaces)),
                    "values": tuple(values),
                }
            )
        )
    return tuple(sorted(merged, key=lambda use: use.chart))
