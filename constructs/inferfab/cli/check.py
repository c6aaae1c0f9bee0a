"""``inferfab check``"""

from datetime import date, datetime
from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Out
from inferfab.cli.locate import complete_environment
from inferfab.cli.observed import ObservedFile
from inferfab.cli.report import CheckFormat, Report, deliver_report

Targets = Annotated[
    list[str],
    typer.Argument(
        metavar="ENV",
        help="Name in `environments/`, or a path to a YAML file; with `--manifests` files, folders, or `-` for stdin.",
        autocompletion=complete_environment,
        show_default=False,
    ),
]


def check_command(
    targets: Targets,
    manifests: Annotated[
        bool, typer.Option("--manifests", "-m", help="Check Kubernetes manifests of any origin instead.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="OLD",
            help="What runs now (plan JSON or environment; with `--manifests` a file or folder): say what the change "
            "recreates.",
            show_default=False,
        ),
    ] = None,
    observed: ObservedFile = None,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            "--as-of",
            formats=["%Y-%m-%d"],
            metavar="DAY",
            help="Hold dates against this day: capacity that ends or has ended.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        CheckFormat, typer.Option("--format", "-f", help="For people, machines, or a code host.")
    ] = CheckFormat.text,
    out: Out = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors and warnings only.")] = False,
) -> None:
    """Check an environment, or Kubernetes manifests that inferfab did not write.

    All findings at once, worst first, each with its place in the file, the reason and the fix.
    Exit code 1 if any is an error.

    Examples: `inferfab check prod`, `inferfab check prod --format sarif --out findings.sarif`,
    `helm template chat ./chart | inferfab check --manifests -`
    """
    if manifests and observed is not None:
        raise typer.BadParameter("is of an environment's account, and manifests have none", param_hint="--observed")
    if manifests:
        report = _manifests(targets, against)
    elif len(targets) > 1:
        raise typer.BadParameter("one environment at a time; with --manifests as many paths as you like")
    else:
        report = _environment(targets[0], against, observed, as_of.date() if as_of else None)
    if quiet:
        report = Report(**{**vars(report), "findings": [f for f in report.findings if f.severity != "info"]})
    deliver_report(report, format, out)
    if not report.ok:
        raise typer.Exit(1)


def _environment(env: str, against: str | None, observed: Path | None, as_of: date | None) -> Report:
    from inferfab.checks.check import check
    from inferfab.cli.locate import locate
    from inferfab.cli.observed import observed_in
    from inferfab.environment.loading import load
    from inferfab.findings import has_errors, ranked

    loaded = load(locate(env))
    checked = check(loaded, observed_in(observed, loaded), as_of=as_of)
    findings, off = checked.findings, checked.switched_off
    if against is not None and checked.plan is not None:
        from inferfab.checks.changes import check_change
        from inferfab.cli.fleet import plan_or_environment

        more, more_off = check_change(plan_or_environment(against), loaded, checked.plan)
        findings, off = ranked([*findings, *more]), ranked([*off, *more_off])
    file = loaded.source.file
    return Report(
        subject=file,
        findings=findings,
        switched_off=off,
        lines={file: loaded.source.lines},
        ok=not has_errors(findings),
        facts={"file": file},
    )


def _manifests(paths: list[str], against: str | None) -> Report:
    from inferfab.checks.manifests import check_manifests
    from inferfab.manifests.read import read_manifests

    read = read_manifests([Path(p) if p != "-" else None for p in paths])
    before = read_manifests([Path(against)]) if against is not None else None
    checked = check_manifests(read, before)
    return Report(
        subject=f"{len(read.files)} file(s)",
        findings=checked.findings,
        switched_off=checked.switched_off,
        lines={file.name: file.lines for file in read.files},
        ok=checked.ok,
        facts={"files": [f.name for f in read.files], "judged": checked.judged, "not_judged": checked.not_judged},
        seen=checked.summary,
    )


def register(app: typer.Typer) -> None:
    app.command("check")(check_command)
