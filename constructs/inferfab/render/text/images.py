"""Images and charts of a fleet as tables."""

from typing import TYPE_CHECKING

from inferfab.mirror.inventory import ImageUse, Inventory
from inferfab.plan.images import ImageSource
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = 3


def print_images(console: "Console", found: Inventory, source: ImageSource) -> None:
    """One row an image, one a chart, then what is missing for a mirror."""
    table = table_of("Images", "image", "pinned by", "cells", "for")
    for one in found.images:
        table.add_row(
            plain(f"{one.public}:{one.tag}" if one.tag else one.public),
            _pin(one),
            plain(", ".join(one.cells)),
            plain(_some(one.why)),
        )
    console.print(table)
    table = table_of("Charts", "chart", "version", "repository", "cells", "namespace")
    for use in found.charts:
        table.add_row(
            plain(use.chart), plain(use.version), plain(use.public), plain(", ".join(use.cells)),
            plain(", ".join(use.namespaces)),
        )  # fmt: skip
    console.print()
    console.print(table)
    console.print()
    if found.on_nodes:
        console.print(f"On the nodes already, never pulled: {plain(', '.join(found.on_nodes))}")
    console.print("EKS's own add-ons come from EKS's registry, through the cell's endpoints: they need no mirror.")
    if source.mirror:
        console.print(
            f"All of them are pulled from {plain(source.mirror)}/…: `inferfab images {plain(found.environment)} "
            "--mirror-script mirror.sh` writes what fills it."
        )
    else:
        console.print("Each comes from its own registry. `images: {mirror: HOST/PATH}` takes all of them from yours.")
    if source.pull_secret:
        _pull_secret(console, found, source.pull_secret)


def _pull_secret(console: "Console", found: Inventory, secret: str) -> None:
    """In the order in which it has to be done: releases wait for their pods, and roll back without images."""
    console.print()
    console.print(f"The Secret {plain(secret)} has to stand in: {plain(', '.join(found.namespaces))}")
    console.print("In each cluster, after its foundation and before its platform:")
    for line in (
        f"inferfab images {found.environment} --namespaces namespaces.yaml",
        "kubectl apply -f namespaces.yaml",
        *(
            f"kubectl create secret generic {secret} --namespace {name} --type kubernetes.io/dockerconfigjson "
            "--from-file .dockerconfigjson=config.json"
            for name in found.namespaces
        ),
    ):
        console.print(plain(f"  {line}"), soft_wrap=True)


def _pin(one: ImageUse) -> str:
    return "digest" if one.digest else "tag" if one.tag else "the chart"


def _some(users: tuple[str, ...]) -> str:
    more = len(users) - _SHOWN
    return ", ".join(users[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
