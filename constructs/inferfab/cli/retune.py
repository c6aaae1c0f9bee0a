"""``inferfab retune``"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferfab.cli.arguments import Env
from inferfab.cli.simulate import AsOf, ProfileFile, Scale, TraceFile
from inferfab.input_files import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from inferfab.environment.environment import Environment
    from inferfab.environment.loading import Loaded
    from inferfab.findings import YamlPath
    from inferfab.plan.fleet import FleetPlan
    from inferfab.simulate.demand import Source
    from inferfab.sizing.result import Sizing


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

    With --trace, the profile that the pools' traffic names is fitted anew, and its scale becomes --scale. Each pool is
    sized on its own machine type and topology; replicas, nodes, tensor parallelism and batch limits change where they
    stand. What the sizing says goes to stderr, so that `inferfab retune prod --trace month.csv | git apply` is the pull
    request. Needs Dynamo (`make dynamo`).

    Example: `inferfab retune prod --trace month.csv > retune.diff`
    """
    from datetime import UTC, datetime

    from inferfab.cli.locate import locate
    from inferfab.cli.output import Refused
    from inferfab.cli.running import environment_folder, planned_for, refusing, told
    from inferfab.environment.loading import load
    from inferfab.render.text.findings import printable
    from inferfab.retune.edits import CannotEdit, edited
    from inferfab.retune.retune import batches, retuned

    path = locate(env)
    if path.suffix == ".json":
        raise Refused("retune changes an environment file: name one, not a plan")
    fleet = planned_for(env, tcp=False)
    loaded = load(path)
    environment = loaded.environment
    assert environment is not None
    folder = environment_folder(env)
    names = list(dict.fromkeys(p.name for p in fleet.pools))
    for name in pool or ():
        if name not in names:
            raise typer.BadParameter(f"there is no `{name}`; one of: {', '.join(names)}", param_hint="--pool")
    source = told(trace, traffic, scale)
    wanted = tuple(pool or names)
    profiles = _named(environment, wanted)
    if trace is not None and len(profiles) > 1:
        raise Refused(
            f"the file names {len(profiles)} profiles ({', '.join(map(str, profiles))}), and one trace cannot be all "
            "of them; name the pools of one with --pool"
        )
    files: dict[Path, tuple[str, str]] = {}
    with refusing():
        sizing = _sized(environment, fleet, folder, source, wanted, requests)
        if trace is not None:
            files |= _anew(folder, profiles, trace)
        for line in _old(fleet, folder, (as_of or datetime.now(UTC)).date()):
            typer.echo(line, err=True)
    found = retuned(loaded, sizing, fleet)
    changes, added, words = dict(found.changes), dict(found.added), list(found.words)
    if trace is not None:
        for at in _scales(environment, wanted):
            _set_scale(loaded, at, scale, changes, added)
    before = read_text(path)
    try:
        # Once without batch limits: what the changed file would plan for them is known only then.
        after = _planned(edited(loaded.source, changes, added), path)
        limits = batches(loaded, found.chosen, after)
        changes, added = changes | limits.changes, added | limits.added
        text = edited(loaded.source, changes, added)
    except CannotEdit as error:
        raise Refused(f"{path}: {error}; change it by hand") from error
    _planned(text, path)
    for line in (*words, *limits.words):
        typer.echo(printable(line), err=True)
    if changes or added:
        files = {path: (before, text), **files}
    _deliver({file: both for file, both in files.items() if both[0] != both[1]}, write=write)


def _sized(
    environment: "Environment", fleet: "FleetPlan", folder: Path, source: "Source | None", pools: "Sequence[str]",
    requests: int,
) -> "Sizing":  # fmt: skip
    """Each pool on the machine and with the topology that it has: what is bought does not change by pull request."""
    from inferfab.extras import DYNAMO, python_of
    from inferfab.sizing.result import Sizing
    from inferfab.sizing.size import size

    python = python_of(DYNAMO)
    parts = []
    for name in pools:
        planned = next(p for p in fleet.pools if p.name == name)
        machine = next(
            g.instance for c in fleet.cells if c.name == planned.cell for g in c.node_groups if g.pool == name
        )
        parts.append(
            size(
                environment, fleet, python, folder=folder, told=source, pools=(name,), machines=(machine,),
                topologies=(planned.topology,), requests=requests, parts=True,
                progress=lambda line: typer.echo(f"trying {line}", err=True) if sys.stderr.isatty() else None,
            )
        )  # fmt: skip
    return Sizing(
        environment=fleet.ownership.name,
        engine=parts[0].engine,
        utilization=parts[0].utilization,
        pools=tuple(p for part in parts for p in part.pools),
    )


def _planned(text: str, path: Path) -> "FleetPlan":
    """The plan of the changed file.

    :raises Refused: if it would be wrong.
    """
    from inferfab.checks.check import check
    from inferfab.cli.output import Refused
    from inferfab.environment.loading import load_text

    checked = check(load_text(text, shown_as=str(path)))
    wrong = [f for f in checked.findings if f.severity == "error"]
    if wrong or checked.plan is None:
        raise Refused(f"the retuned file would be wrong: {wrong[0].dotted_path}: {wrong[0].what}; {wrong[0].fix}")
    return checked.plan


def _scales(environment: "Environment", pools: "Sequence[str]") -> "list[YamlPath]":
    """Where the traffic of these pools is named."""
    found: dict[YamlPath, None] = {}
    for name in pools:
        one = environment.pools[name]
        tier = (environment.tiers or {}).get(one.tier)
        if one.traffic is not None:
            found["pools", name, "traffic"] = None
        elif tier is not None and tier.traffic is not None:
            found["tiers", one.tier, "traffic"] = None
    return list(found)


def _set_scale(
    loaded: "Loaded", at: "YamlPath", scale: float, changes: "dict[YamlPath, int | float]",
    added: "dict[YamlPath, int | float]",
) -> None:  # fmt: skip
    """The new profile's rate is the trace's own, so the old factor is not its."""
    where = (*at, "scale")
    value: int | float = int(scale) if scale == int(scale) else scale
    if where in loaded.source.places:
        if float(loaded.source.text(where) or "nan") != value:
            changes[where] = value
    elif value != 1:
        added[where] = value


def _deliver(changed: "dict[Path, tuple[str, str]]", *, write: bool) -> None:
    from inferfab.cli.output import deliver, write_whole
    from inferfab.render.text.findings import printable
    from inferfab.retune.edits import diff

    if not changed:
        typer.echo("nothing to change", err=True)
    elif write:
        for file, (_, after) in changed.items():
            write_whole(file, after, over_input=True)
            typer.echo(f"wrote {printable(str(file))}", err=True)
    else:
        deliver("".join(diff(old, after, str(file)) for file, (old, after) in changed.items()), None)


def _anew(folder: Path, profiles: "Sequence[Path]", trace: Path) -> "dict[Path, tuple[str, str]]":
    """Profiles fitted to the trace: before and after. One that is not there yet is written."""
    from inferfab.traffic.fit import fit

    found = {}
    for profile in profiles:
        path = folder / profile
        old = read_text(path) if path.is_file() else ""
        found[path] = (old, fit(trace, profile.stem)[0].to_json())
    return found


def _old(fleet: "FleetPlan", folder: Path, day: "date") -> list[str]:
    """What is to be said of performance profiles that are old on that day."""
    from inferfab.performance.find import own_profiles, shipped
    from inferfab.performance.profile import too_old

    served = {m.catalog for m in fleet.models}
    noted = [(each.worker, too_old(each, day)) for each in (*own_profiles(folder), *shipped())]
    return [f"{w.model} on {w.tensor} x {w.gpu}: {note}" for w, note in noted if note and w.model in served]


def _named(environment: "Environment", pools: "Sequence[str]") -> list[Path]:
    """Profiles that these pools' traffic comes from."""
    found: dict[Path, None] = {}
    for name in pools:
        one = environment.pools[name]
        tier = (environment.tiers or {}).get(one.tier)
        traffic = one.traffic or (tier.traffic if tier is not None else None)
        if traffic is not None:
            found[Path(traffic.profile)] = None
    return list(found)


def register(app: typer.Typer) -> None:
    app.command("retune")(retune_command)
