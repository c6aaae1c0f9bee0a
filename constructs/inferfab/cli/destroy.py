"""``inferfab destroy``"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferfab.cli.arguments import Env

if TYPE_CHECKING:
    from inferfab.plan.fleet import CellPlan, FleetPlan
    from inferfab.teardown.order import Command


def destroy_command(
    env: Env,
    cell: Annotated[
        list[str] | None, typer.Option("--cell", "-c", help="Only this cell; may be repeated.", show_default=False)
    ] = None,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="NAME", help="The environment's name, typed out.", show_default=False),
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Run the commands, one after the other. Terraform itself asks each time.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder that `inferfab synth` wrote.", file_okay=False)
    ] = Path("cdktf.out"),
) -> None:
    """List what destroying an environment loses; with its name typed out, say in which order it goes.

    Nothing is destroyed unless `--execute` asks for it. A protected environment is refused: `protected: false` in the
    file, applied, comes before.

    Examples: `inferfab destroy dev`, `inferfab destroy dev --confirm dev`
    """
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.output import Refused, deliver
    from inferfab.teardown.losses import losses
    from inferfab.teardown.order import commands

    if execute and confirm is None:
        raise typer.BadParameter("--execute needs the environment's name typed out: --confirm NAME")
    fleet = sound_plan(env)
    own = fleet.ownership
    cells = _chosen(fleet, cell or [])
    lines = [f"Destroying {own.name}{_of(cells, fleet)} loses"]
    lines += [f"  {loss.kind:<9} {loss.what}" for loss in losses(fleet, cells)]
    low, high = fleet.cost.total.desired.usd_per_month.low, fleet.cost.total.desired.usd_per_month.high
    if high is not None and len(cells) == len(fleet.cells):
        lines.append(f"  It costs ${low:,.0f} to ${high:,.0f} a month in GPU nodes at the desired size today.")
    if own.protected:
        deliver("\n".join(lines), None)
        raise Refused(
            f"{own.name} is protected: write `protected: false`, then `inferfab synth` and an apply of each stack turn "
            "deletion protection off; this command has nothing to say before"
        )
    if confirm is None:
        lines += ["", f"Nothing was done. `inferfab destroy {env} --confirm {own.name}` says how it goes."]
        deliver("\n".join(lines), None)
        return
    if confirm != own.name:
        raise typer.BadParameter(f"{confirm} is not the environment's name; its file says what it is")
    order = commands(fleet, cells, str(out), _contexts(cells))
    lines += ["", "In this order, each whole before the next:"]
    lines += [f"  {command}\n      {command.why}" for command in order]
    if len(cells) == len(fleet.cells) and own.state and own.state.made_by_bootstrap:
        lines += ["", "The state's bucket last: docs/deploy.md, And back."]
    deliver("\n".join(lines), None)
    if execute:
        _execute(fleet, order, out)


def _of(cells: "list[CellPlan]", fleet: "FleetPlan") -> str:
    return "" if len(cells) == len(fleet.cells) else f"'s {', '.join(cell.name for cell in cells)}"


def _chosen(fleet: "FleetPlan", names: list[str]) -> "list[CellPlan]":
    known = {cell.name: cell for cell in fleet.cells}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"{fleet.ownership.name} has no cell {', '.join(unknown)}, only {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)] or list(known.values())


def _contexts(cells: "list[CellPlan]") -> dict[str, str]:
    """As `inferfab verify` finds them, where kubectl knows any."""
    from inferfab.verify.cluster import NotSeen, context_of, contexts

    try:
        known = contexts()
    except NotSeen:
        return {}  # the commands name the clusters then, for whoever runs them
    return {cell.name: found for cell in cells if (found := context_of(cell.cluster, known)) is not None}


def _execute(fleet: "FleetPlan", order: "tuple[Command, ...]", out: Path) -> None:
    """Stops at the first that fails; what went is gone, what did not is still in its state."""
    import shutil
    import subprocess

    from inferfab.adopt.stacks import UnreadableStacks, refuse_others, stacks_in
    from inferfab.cli.output import Refused

    for program in sorted({command.words[0] for command in order}):
        if shutil.which(program) is None:
            raise Refused(f"there is no {program} on this machine, so nothing was run")
    for command in order:
        folder = next((word.removeprefix("-chdir=") for word in command.words if word.startswith("-chdir=")), None)
        if folder is not None and not Path(folder).is_dir():
            raise Refused(f"{folder} is not there: `inferfab synth` writes it; nothing of it was destroyed")
    try:
        refuse_others(stacks_in(out, fleet.ownership.name), fleet, out)
    except UnreadableStacks as error:
        raise Refused(f"{error}; nothing was run") from error
    for command in order:
        typer.echo(f"+ {command}", err=True)
        code = subprocess.run(command.words, check=False).returncode
        if code:
            raise Refused(f"`{command}` ended with {code}; nothing after it was run")


def register(app: typer.Typer) -> None:
    app.command("destroy")(destroy_command)
