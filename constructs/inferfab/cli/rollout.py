"""``inferfab rollout``"""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferfab.cli.arguments import Env, Out

if TYPE_CHECKING:
    from inferfab.plan.fleet import FleetPlan
    from inferfab.plan.rollout.plan import RolloutPlan

app = typer.Typer(no_args_is_help=True, help="Changes of what serves: cell by cell, judged, backed out.")

EXIT_CODES = {"advance": 0, "hold": 10, "back out": 20}


class RolloutFormat(StrEnum):
    text = "text"
    json = "json"


Format = Annotated[RolloutFormat, typer.Option("--format", "-f", help="For people or machines.")]
CellName = Annotated[str, typer.Option("--cell", "-c", help="The cell that changed.", show_default=False)]


@app.command("plan")
def plan_command(env: Env, format: Format = RolloutFormat.text, out: Out = None) -> None:
    """Show the cells in order, the shares of traffic by step, and the rules of judgement.

    Example: `inferfab rollout plan prod`
    """
    from inferfab.cli.output import deliver, rendered
    from inferfab.render.text.rollout import print_rollout

    fleet, rollout = _planned(env)
    if format is RolloutFormat.json:
        deliver(rollout.model_dump_json(indent=1), out)
    else:
        deliver(rendered(lambda c: print_rollout(c, fleet.ownership.name, rollout), colour=out is None), out)


@app.command("write")
def write_command(
    env: Env,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder that GitHub reads workflows from.", file_okay=False)
    ] = Path(".github"),
    runner: Annotated[
        str, typer.Option("--runner", help="Label of runners that reach the clusters' endpoints.")
    ] = "self-hosted",
) -> None:
    """Write the GitHub workflow that carries a change from cell to cell, judges each step, and backs out.

    It becomes `workflows/rollout-<environment>.yml` and a script beside it. Run it at the top of the repository.

    Example: `inferfab rollout write prod`
    """
    from inferfab.cli.locate import locate
    from inferfab.cli.output import Refused, refuse_foreign, write_whole
    from inferfab.render.rollout import NotAWorkflow, rollout_files
    from inferfab.render.text.rollout import raised_words

    # GitHub's labels are one line of text.
    if not runner.strip() or runner != runner.strip() or not runner.isprintable():
        raise typer.BadParameter(f"{runner!r} is no label of a runner", param_hint="--runner")
    fleet, rollout = _planned(env)
    try:
        files = rollout_files(fleet, rollout, file=locate(env).as_posix(), runner=runner)
    except NotAWorkflow as error:
        raise Refused(str(error)) from error
    for part in rollout.cells:
        if part.raised:
            typer.echo(f"note: {raised_words(part)}", err=True)
    for path in files:
        refuse_foreign(out / path, _ours)
    for path, text in files.items():
        write_whole(out / path, text, ours=_ours)
        typer.echo(f"wrote {out / path}", err=True)


def _ours(text: str) -> bool:
    return any("Written by `inferfab rollout write" in line for line in text.splitlines()[:3])


@app.command("shares")
def shares_command(
    env: Env,
    cell: CellName,
    percent: Annotated[int, typer.Option("--percent", help="A step of the cell.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Environment file to write.", dir_okay=False,
                                      show_default=False)],
) -> None:  # fmt: skip
    """Write the environment with the traffic shares of one step, to synthesize the names in DNS from.

    Paths in the file stay as they are: write it into the folder of the environment. It is for the moment; the
    environment itself is not changed.

    Example: `inferfab rollout shares prod --cell use1-b --percent 38 --out environments/prod.step.yaml`
    """
    import yaml

    from inferfab.cli.locate import locate
    from inferfab.cli.output import write_whole
    from inferfab.environment.loading import load

    _, rollout = _planned(env)
    part = next((c for c in rollout.cells if c.cell == cell), None)
    if part is None:
        raise typer.BadParameter(
            f"no cell `{cell}`; one of: {', '.join(c.cell for c in rollout.cells)}", param_hint="--cell"
        )
    step = next((s for s in part.steps if s.share_percent == percent), None)
    if step is None:
        known = ", ".join(str(s.share_percent) for s in part.steps)
        why = f" ({part.raised})" if part.raised else ""
        raise typer.BadParameter(f"{cell} has no step of {percent} %; one of: {known}{why}", param_hint="--percent")
    tree = load(locate(env)).source.tree
    cells = {name: {**body, "traffic_share": step.traffic_shares[name]} for name, body in tree["cells"].items()}
    head = f"# Written by `inferfab rollout shares`: {cell} at {percent} % of its share.\n"
    write_whole(out, head + yaml.safe_dump({**tree, "cells": cells}, sort_keys=False, allow_unicode=True))
    typer.echo(f"wrote {out}", err=True)


@app.command("judge")
def judge_command(
    env: Env,
    cell: CellName,
    prometheus: Annotated[str, typer.Option("--prometheus", "-p", help="URL of its Prometheus.", show_default=False)],
    baseline: Annotated[
        list[str] | None,
        typer.Option("--baseline", "-b", metavar="CELL=URL", help="Prometheus of a cell that did not change; may be "
                     "repeated. Default: the cell as it was before.", show_default=False),
    ] = None,
    since_minutes: Annotated[
        int | None, typer.Option("--since-minutes", help="How long the step has served. Default: as long as is judged.",
                                 min=1, show_default=False)
    ] = None,
    format: Format = RolloutFormat.text,
    out: Out = None,
) -> None:  # fmt: skip
    """Judge a step: first token, gaps between tokens and errors, against the other cells and against the promises.

    Exit code 0: go on. 10: wait, there is too little to judge by. 20: back out.

    Example: `inferfab rollout judge prod --cell use1-b --prometheus http://127.0.0.1:9090
    --baseline use1-a=http://127.0.0.1:9091`
    """
    from inferfab.cli.output import deliver, rendered
    from inferfab.render.text.rollout import print_verdict
    from inferfab.rollout.judging import judge_step
    from inferfab.rollout.prometheus import Prometheus

    fleet, rollout = _planned(env)
    cells = {c.name: c for c in fleet.cells}
    others = dict(_named(each, cells) for each in baseline or ())
    if cell not in cells:
        raise typer.BadParameter(f"no cell `{cell}`; one of: {', '.join(cells)}", param_hint="--cell")
    if cell in others:
        raise typer.BadParameter(f"`{cell}` is the cell that changed", param_hint="--baseline")
    _is_url(prometheus, "--prometheus")
    verdict = judge_step(
        fleet,
        cells[cell],
        Prometheus(prometheus),
        {name: Prometheus(url) for name, url in others.items()},
        rollout.judge,
        since_minutes=since_minutes or rollout.judge.judge_minutes,
    )
    if format is RolloutFormat.json:
        deliver(json.dumps({"outcome": verdict.outcome, **verdict.model_dump(mode="json")}, indent=1), out)
    else:
        deliver(rendered(lambda c: print_verdict(c, verdict), colour=out is None), out)
    raise typer.Exit(EXIT_CODES[verdict.outcome])


def _planned(env: str) -> "tuple[FleetPlan, RolloutPlan]":
    """:raises Refused: if the environment has no rollout."""
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.output import Refused

    fleet = sound_plan(env)
    if fleet.rollout is None:
        raise Refused(f"{fleet.ownership.name} has no `rollout`; `rollout: {{}}` in its file takes the defaults")
    return fleet, fleet.rollout


def _named(text: str, cells: object) -> tuple[str, str]:
    name, _, url = text.partition("=")
    if not isinstance(cells, dict) or name not in cells or not url:
        # What was given may be an address with a password.
        known = ", ".join(cells) if isinstance(cells, dict) else ""
        raise typer.BadParameter(f"one is no CELL=URL; cells: {known}", param_hint="--baseline")
    _is_url(url, "--baseline")
    return name, url


def _is_url(url: str, where: str) -> None:
    from inferfab.prometheus_http import BadAddress, address_of

    try:
        address_of(url)
    except BadAddress as error:
        raise typer.BadParameter(f"no URL like http://HOST:PORT: {error}", param_hint=where) from None


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="rollout")
