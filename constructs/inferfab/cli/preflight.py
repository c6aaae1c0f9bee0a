"""``inferfab preflight``"""

from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferfab.cli.locate import complete_environment

if TYPE_CHECKING:
    from inferfab.plan.fleet import FleetPlan
    from inferfab.preflight.preflight import Progress
    from inferfab.preflight.reader import Reader


class PreflightFormat(StrEnum):
    text = "text"
    json = "json"


OptionalEnv = Annotated[
    str | None,
    typer.Argument(
        metavar="ENV",
        help="Name in `environments/`, or a path to a YAML file or plan JSON.",
        autocompletion=complete_environment,
        show_default=False,
    ),
]


def preflight_command(
    env: OptionalEnv = None,
    format: Annotated[PreflightFormat, typer.Option("--format", "-f", help="For people or machines.")] = (
        PreflightFormat.text
    ),
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write what was seen here too, for `plan` and `check --observed`.",
            show_default=False,
            dir_okay=False,
        ),
    ] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            "--as-of",
            formats=["%Y-%m-%d"],
            help="The day on which the fleet is to run. Default: today.",
            show_default=False,
        ),
    ] = None,
    hub: Annotated[
        bool, typer.Option("--hub", help="Ask the model hub about licences too, with the token in HF_TOKEN.")
    ] = False,
    policy: Annotated[
        bool, typer.Option("--policy", help="Print the IAM policy that this command needs, and ask nothing.")
    ] = False,
) -> None:
    """Look whether the account has what the fleet needs: quotas, capacity, roles, names, secrets, images.

    Nothing is ever changed. Needs AWS credentials of the environment's account. Exit code 1 if something is missing, or
    nothing could be looked at; what could not be looked at is unknown, and says which permission was refused.

    Examples: `inferfab preflight prod`, `inferfab preflight prod --out observed.json`,
    `inferfab preflight --policy`
    """
    from inferfab.cli.output import deliver, rendered, write_whole

    if policy:
        from inferfab.preflight.reads import policy as policy_json

        deliver(policy_json(), out)
        return
    if env is None:
        raise typer.BadParameter("name an environment, or ask for --policy", param_hint="ENV")
    from inferfab.cli.fleet import plan_or_environment
    from inferfab.preflight.hub import PublicHub
    from inferfab.preflight.preflight import preflight
    from inferfab.preflight.resolver import SystemResolver

    fleet = plan_or_environment(env)
    with refusing():
        report = preflight(
            fleet,
            reader_of(fleet),
            as_of=as_of.date() if as_of else today(),
            resolver=SystemResolver(),
            hub=PublicHub() if hub else None,
            progress=progress_line(),
        )
    if out is not None:
        write_whole(out, report.observed.model_dump_json(indent=1) + "\n")
    if format is PreflightFormat.json:
        deliver(report.model_dump_json(indent=1), None)
    else:
        from inferfab.render.text.preflight import print_preflight

        deliver(rendered(lambda c: print_preflight(c, report, out)), None)
    if report.blind:
        typer.echo("inferfab: nothing could be looked at, so this says nothing about the account", err=True)
    if not report.ok:
        raise typer.Exit(1)


def today() -> date:
    """In UTC, as AWS counts."""
    return datetime.now(UTC).date()


def reader_of(fleet: "FleetPlan") -> "Reader | None":
    """boto3, where the fleet has an AWS account and a cell in it."""
    if fleet.ownership.accounts.aws is None or not fleet.aws_regions:
        return None
    from inferfab.preflight.aws import AwsReader

    return AwsReader(fleet.aws_regions[0].region)


class refusing:  # noqa: N801 - reads as a word at its place
    """What AWS refuses altogether, as one message."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from inferfab.cli.output import Refused
        from inferfab.preflight.preflight import WrongAccount
        from inferfab.preflight.reader import NoCredentials, ReadFailed

        if isinstance(error, NoCredentials | WrongAccount | ReadFailed):
            raise Refused(str(error)) from error


def progress_line() -> "Progress":
    """One line on a terminal's stderr, which is overwritten and gone at the end; nothing elsewhere."""
    import sys

    if not sys.stderr.isatty():
        return lambda *_: None

    def show(done: int, whole: int, about: str) -> None:
        end = "\r\x1b[K" if done == whole else ""
        sys.stderr.write(f"\r\x1b[K{done} of {whole} questions answered: {about[:60]}{end}")
        sys.stderr.flush()

    return show


def register(app: typer.Typer) -> None:
    app.command("preflight")(preflight_command)
