"""What a synthesis wrote, and what to do with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inferfab.plan.fleet import FleetPlan
from inferfab.render.text.numbers import bounds, usd_range
from inferfab.render.text.plan_tables import without_price
from inferfab.render.text.tables import plain, table_of
from inferfab.synthesis import StackFile

if TYPE_CHECKING:
    from rich.console import Console


def print_stacks(
    console: "Console", fleet: FleetPlan, out: Path, files: Sequence[StackFile], before: str | None
) -> None:
    """The plan in two lines, one row a stack, and the next commands.

    :param before: the environment whose stacks were in the folder.
    """
    cost = fleet.cost.total
    console.print(
        f"[bold]{plain(fleet.ownership.name)}[/]: {bounds(fleet.gpus)} GPUs in {len(fleet.cells)} cell(s), "
        f"{usd_range(cost.desired.usd_per_month)} a month at the desired size (GPU nodes{without_price(fleet)}); "
        "`inferfab plan` has it all\n"
    )
    table = table_of(
        "Stacks, in the order in which they are applied", "stack", "resources", "Terraform JSON", right=("resources",)
    )
    for file in files:
        table.add_row(plain(file.name), str(file.resources), plain(str(out / file.path)))
    console.print(table)
    if before is not None and before != fleet.ownership.name:
        console.print(
            f"\nThis replaced the stacks of {plain(before)} that were in {plain(str(out))} "
            f"(to keep both: --out build/{plain(fleet.ownership.name)})"
        )
    folder = plain(str((out / files[0].path).parent))
    console.print(f"\nNext: terraform -chdir={folder} init && terraform -chdir={folder} plan")
    console.print(
        "Platform stacks and the global stack can be planned only after the foundations are applied: they look up "
        "clusters and load balancers (docs/deploy.md)."
    )
