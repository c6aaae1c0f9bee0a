"""``inferfab retune``"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferfab.cli.arguments import Env
from inferfab.cli.simulate import AsOf, ProfileFile, Scale, TraceFile

if TYPE_CHECKING:
    from datetime import date

    from inferfab.environment.environment import Environment
    from inferfab.environment.loading import Loaded
    from inferfab.plan.fleet import FleetPlan
    from inferfab.plan.pools import PoolPlan


def retune_command(
    env: Env,
    trace: TraceFile = None,
    traffic: ProfileFile = None,
    scale: Scale = 1.0,
    pool: Annotated[list[str] | None, typer.Option("--pool", "-p", help="Only this pool.", show_default=False)] = None,
    requests: Annotated[int, typer.Option("--requests", help="Of the busiest hour, in each run.", min=500)] = 4000,
    as_of: AsOf = None,
    write: Annotated[bool, typer.Option("--write", help="Change the files instead of printing the diff.")] = False,
) -> None:
    """Re-profile, re-size and re-tune from last month's traffic: prints what to change in the environment as a diff.

    With --trace, profiles that the file names are fitted anew. Then each pool is sized on its own machine type and
    topology, and replicas and tensor parallelism change where they stand. What the sizing says goes to stderr, so that
    `inferfab retune prod --trace month.csv | git apply` is the pull request. Needs Dynamo (`make dynamo`).

    Example: `inferfab retune prod --trace month.csv > retune.diff`
    """
    from datetime import UTC, datetime

    from inferfab.checks.check import check
    from inferfab.cli.locate import locate
    from inferfab.cli.output import Refused
    from inferfab.cli.running import environment_folder, planned_for, refusing, told
    from inferfab.environment.loading import load, load_text
    from inferfab.extras import DYNAMO, python_of
    from inferfab.render.text.findings import printable
    from inferfab.retune.edits import CannotEdit, edited
    from inferfab.retune.retune import retuned
    from inferfab.sizing.result import Sizing
    from inferfab.sizing.size import size

    path = locate(env)
    if path.suffix == ".json":
        raise Refused("retune changes an environment file: name one, not a plan")
    fleet = planned_for(env, tcp=False)
    loaded = load(path)
    environment = loaded.environment
    assert environment is not None
    folder = environment_folder(env)
    names = list(dict.fromkeys(p.name for p in fleet.pools if p.shared is None))
    for name in pool or ():
        if name not in names:
            raise typer.BadParameter(f"there is no `{name}`; one of: {', '.join(names)}", param_hint="--pool")
    files: dict[Path, tuple[str, str]] = {}
    source = told(trace, traffic, scale)
    with refusing():
        python = python_of(DYNAMO)
        parts = []
        for name in pool or names:
            planned = next(p for p in fleet.pools if p.name == name)
            # On the machine that it has: what is bought does not change by pull request.
            machine = next(
                g.instance for c in fleet.cells if c.name == planned.cell for g in c.node_groups if g.pool == name
            )
            parts.append(
                size(
                    environment, fleet, python, folder=folder, told=source, pools=(name,), machines=(machine,),
                    topologies=(planned.topology,), requests=requests, tensors=_tensors(loaded, name, planned),
                    progress=lambda line: typer.echo(f"trying {line}", err=True) if sys.stderr.isatty() else None,
                )
            )  # fmt: skip
        if trace is not None:
            files |= _anew(environment, folder, trace)
        for line in _old(fleet, folder, (as_of or datetime.now(UTC)).date()):
            typer.echo(line, err=True)
    sizing = Sizing(
        environment=fleet.ownership.name,
        engine=parts[0].engine,
        utilization=parts[0].utilization,
        pools=tuple(p for part in parts for p in part.pools),
    )
    found = retuned(loaded, sizing)
    for line in found.words:
        typer.echo(printable(line), err=True)
    try:
        text = edited(loaded.source, found.changes)
    except CannotEdit as error:
        raise Refused(f"{path}: {error}; change it by hand") from error
    before = path.read_text(encoding="utf-8")
    wrong = [f for f in check(load_text(text, shown_as=str(path))).findings if f.severity == "error"]
    if wrong:
        raise Refused(f"the retuned file would be wrong: {wrong[0].dotted_path}: {wrong[0].what}; {wrong[0].fix}")
    files = {path: (before, text), **files} if found.changes else files
    _deliver({file: both for file, both in files.items() if both[0] != both[1]}, write=write)


def _deliver(changed: "dict[Path, tuple[str, str]]", *, write: bool) -> None:
    from inferfab.cli.output import deliver, write_whole
    from inferfab.render.text.findings import printable
    from inferfab.retune.edits import diff

    if not changed:
        typer.echo("nothing to change", err=True)
    elif write:
        for file, (_, after) in changed.items():
            write_whole(file, after)
            typer.echo(f"wrote {printable(str(file))}", err=True)
    else:
        deliver("".join(diff(old, after, str(file)) for file, (old, after) in changed.items()), None)


def _anew(environment: "Environment", folder: Path, trace: Path) -> "dict[Path, tuple[str, str]]":
    """Profiles that the file names, fitted to the trace: before and after."""
    from inferfab.traffic.fit import fit

    return {
        folder / profile: ((folder / profile).read_text(encoding="utf-8"), fit(trace, profile.stem)[0].to_json())
        for profile in _named(environment)
    }


def _old(fleet: "FleetPlan", folder: Path, day: "date") -> list[str]:
    """What is to be said of performance profiles that are old on that day."""
    from inferfab.performance.find import own_profiles, shipped
    from inferfab.performance.profile import too_old

    served = {m.catalog for m in fleet.models}
    noted = [(each.worker, too_old(each, day)) for each in (*own_profiles(folder), *shipped())]
    return [f"{w.model} on {w.tensor} x {w.gpu}: {note}" for w, note in noted if note and w.model in served]


def _tensors(loaded: "Loaded", pool: str, planned: "PoolPlan") -> tuple[int, ...]:
    """All, where the file has a number to change; else the one that is."""
    from inferfab.sizing.shapes import TENSOR

    stated = all(("pools", pool, r.role, "tensor_parallel") in loaded.source.places for r in planned.roles)
    return TENSOR if stated else (planned.roles[0].parallelism.tensor,)


def _named(environment: "Environment") -> list[Path]:
    tiers = [t.traffic for t in (environment.tiers or {}).values()]
    pools = [p.traffic for p in environment.pools.values()]
    return [Path(name) for name in dict.fromkeys(t.profile for t in (*tiers, *pools) if t is not None)]


def register(app: typer.Typer) -> None:
    app.command("retune")(retune_command)
