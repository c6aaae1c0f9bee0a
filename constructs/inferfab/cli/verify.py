"""``inferfab verify``"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferfab.cli.arguments import Env, Out
from inferfab.cli.report import CheckFormat, Report, deliver_report

if TYPE_CHECKING:
    from inferfab.plan.fleet import CellPlan, FleetPlan
    from inferfab.verify.cluster import Cluster, NotSeen


def verify_command(
    env: Env,
    cell: Annotated[
        list[str] | None, typer.Option("--cell", "-c", help="Only this cell; may be repeated.", show_default=False)
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(
            "--context",
            help="kubectl's context of the cell's cluster. Default: the one that has the cluster's name.",
            show_default=False,
        ),
    ] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", help="Default: kubectl's own.", show_default=False)
    ] = None,
    requests: Annotated[
        bool, typer.Option("--requests/--no-requests", help="Ask each model of each tier for one token.")
    ] = True,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait for Prometheus to see what the requests moved.")
    ] = 60.0,
    format: Annotated[
        CheckFormat, typer.Option("--format", "-f", help="For people, machines, or a code host.")
    ] = CheckFormat.text,
    out: Out = None,
) -> None:
    """Ask the running clusters whether they are what was planned: nodes, NICs, graphs, models, tiers, RDMA, gateway,
    alarms.

    It reads through kubectl and changes nothing. What could not be seen is said. Exit code 1 if anything is an error.

    Examples: `inferfab verify prod`, `inferfab verify prod --cell use1-a --context my-context --format json`
    """
    from inferfab.checks.check import check
    from inferfab.checks.facts import Facts
    from inferfab.checks.rule_changes import changed
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.locate import locate
    from inferfab.environment.loading import load
    from inferfab.findings import has_errors, ranked
    from inferfab.verify.verify import verify

    loaded = load(locate(env))
    checked = check(loaded)
    fleet = checked.plan if checked.ok else sound_plan(env)
    assert fleet is not None
    cells = _chosen(fleet, cell or [])
    if context is not None and len(cells) != 1:
        raise typer.BadParameter(f"one context is one cell: name it (--cell {', --cell '.join(c.name for c in cells)})")
    found = verify(
        fleet,
        cells,
        {one.name: _cluster(one, context, kubeconfig) for one in cells},
        loaded.source,
        requests=requests,
        wait_seconds=wait,
    )
    assert loaded.environment is not None
    findings, off = changed(found.findings, Facts(loaded, loaded.environment), whole=False)
    file = loaded.source.file
    report = Report(
        subject=f"{fleet.ownership.name}, {len(cells)} cell(s)",
        findings=ranked(findings),
        switched_off=ranked(off),
        lines={file: loaded.source.lines},
        ok=not has_errors(findings),
        facts={
            "file": file,
            "cells": [one.name for one in cells],
            "seen": list(found.seen),
            "unknown": list(found.unknown),
        },
        seen=[f"seen     {line}" for line in found.seen] + [f"unknown  {line}" for line in found.unknown],
    )
    deliver_report(report, format, out)
    if not report.ok:
        raise typer.Exit(1)


def _chosen(fleet: "FleetPlan", names: list[str]) -> list["CellPlan"]:
    known = {cell.name: cell for cell in fleet.cells}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"{fleet.ownership.name} has no cell {', '.join(unknown)}, only {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)] or list(known.values())


def _cluster(cell: "CellPlan", context: str | None, kubeconfig: Path | None) -> "Cluster | NotSeen":
    from inferfab.verify.cluster import Kubectl, NotSeen, contexts, fitting

    file = str(kubeconfig) if kubeconfig else None
    if file is not None and not Path(file).is_file():
        return NotSeen("unreachable", f"there is no kubeconfig {file}")
    if context is None:
        try:
            known = contexts(file)
        except NotSeen as error:
            return error
        mine = fitting(cell.cluster, known)
        if len(mine) != 1:
            of = f"the {len(known)} contexts of {file or 'kubectl'}"
            more = f"{len(mine)} of {of} have its name ({', '.join(mine)}): name one by --context"
            return NotSeen("unreachable", more if mine else f"none of {of} has its name ({_update(cell)})")
        context = mine[0]
    return Kubectl(context=context, kubeconfig=file)


def _update(cell: "CellPlan") -> str:
    if cell.cloud == "gcp":
        return f"gcloud container clusters get-credentials {cell.cluster} --zone {cell.zone}"
    return f"aws eks update-kubeconfig --name {cell.cluster} --region {cell.region}"


def register(app: typer.Typer) -> None:
    app.command("verify")(verify_command)
