"""The registry of models as text."""

from typing import TYPE_CHECKING

from inferfab.render.text.numbers import gigabytes
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console

    from inferfab.plan.registry import RegisteredModel


def print_registry(console: "Console", environment: str, found: "tuple[RegisteredModel, ...]") -> None:
    """A row a model, then where each lies and what is on record."""
    table = table_of(
        f"Models of {environment}", "model", "source", "revision", "precision", "licence", "gated", "size", "load s",
        "evaluation", "served by", right=("size", "load s"),
    )  # fmt: skip
    for one in found:
        served: dict[str, list[str]] = {}
        for each in one.served_by:
            served.setdefault(f"{each.pool} ({each.tier})", []).append(each.cell)
        table.add_row(
            plain(one.name), plain(one.source), plain(one.revision[:12]), one.quantization, plain(one.licence),
            _gated(one), gigabytes(one.bytes), f"{one.load_seconds:.0f}", one.standing,
            plain("; ".join(f"{pool}: {', '.join(cells)}" for pool, cells in served.items()) or "nobody"),
        )  # fmt: skip
    console.print(table)
    console.print("load s: from a node's disk into a pod at the stated rate; engine start on top.", style="dim")
    for one in found:
        _details(console, one)


def _details(console: "Console", one: "RegisteredModel") -> None:
    console.print(f"\n{one.name} ({one.title}) at {one.revision}", style="bold", markup=False)
    pinned = f"SHA-256 {one.manifest_sha256}" if one.manifest_sha256 else "not pinned, checked where there is one"
    console.print(f"  manifest: {pinned}", markup=False)
    for each in one.evaluations:
        word = "loss" if each.loss_percent >= 0 else "gain"
        console.print(
            f"  {each.suite}: {each.score:g} for {each.baseline:g} ({word} {abs(each.loss_percent):.2g} %, accepted "
            f"{each.largest_loss_percent:g} %), KV cache {each.kv_cache_dtype}, {each.date}, {each.by}"
            + (f", {each.report}" if each.report else ""),
            markup=False,
        )
    places: dict[tuple[str, ...], list[str]] = {}
    for at in one.stored:
        lines = (
            *((f"store: {at.store_uri}",) if at.store_uri else ()),
            *(("hub: where the store does not have it" if at.store_uri else "hub",) if at.hub else ()),
            *(f"nodes: {path}" for path in at.node_paths),
        )
        places.setdefault(lines, []).append(at.cell)
    for lines, cells in places.items():
        console.print(f"  {', '.join(cells)}", markup=False)
        for line in lines:
            console.print(f"    {line}", markup=False)


def _gated(one: "RegisteredModel") -> str:
    if not one.gated:
        return "no"
    token = "token by reference" if one.token_secret else "NO TOKEN"
    accepted = f"accepted {one.licence_accepted.date}" if one.licence_accepted else "licence NOT ACCEPTED"
    return f"yes: {token}, {accepted}"
