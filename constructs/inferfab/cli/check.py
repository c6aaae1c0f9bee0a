"""``inferfab check``"""

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer

from inferfab.cli.arguments import Env, Out


class CheckFormat(StrEnum):
    text = "text"
    json = "json"
    sarif = "sarif"


def check_command(
    env: Env,
    format: Annotated[
        CheckFormat, typer.Option("--format", "-f", help="For people, machines, or a code host.")
    ] = CheckFormat.text,
    out: Out = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors and warnings only.")] = False,
) -> None:
    """Check an environment: syntax, references, memory, fabric, promises, names, cost.

    All findings at once, worst first, each with its place in the file, the reason and the fix.
    Exit code 1 if any is an error.

    Examples: `inferfab check prod`, `inferfab check prod --format sarif --out findings.sarif`
    """
    from inferfab.checks.check import check
    from inferfab.cli.locate import locate
    from inferfab.cli.output import deliver, for_encoding
    from inferfab.environment.loading import load

    loaded = load(locate(env))
    checked = check(loaded)
    findings = [f for f in checked.findings if not quiet or f.severity != "info"]
    if format is CheckFormat.json:
        body = {
            "file": loaded.source.file,
            "ok": checked.ok,
            "findings": [{**f.model_dump(mode="json"), "dotted_path": f.dotted_path} for f in findings],
        }
        deliver(json.dumps(body, indent=1, ensure_ascii=False), out)
    elif format is CheckFormat.sarif:
        from importlib.metadata import version

        from inferfab.render.sarif import sarif

        deliver(json.dumps(sarif(findings, version=version("inferfab")), indent=1, ensure_ascii=False), out)
    else:
        from inferfab.render.text.findings import counted, findings_text, one_line

        text = findings_text(findings, loaded.source.lines, colour=out is None)
        text += f"{one_line(loaded.source.file)}: {counted(findings)}"
        deliver(text if out is not None else for_encoding(text, sys.stdout.encoding), out)
    if not checked.ok:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command("check")(check_command)
