"""``inferfab import``"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from inferfab.cli.arguments import Env


class ImportFormat(StrEnum):
    text = "text"
    json = "json"


def import_command(
    env: Env,
    stacks: Annotated[
        Path, typer.Option("--stacks", "-s", help="What `inferfab synth` wrote.", file_okay=False)
    ] = Path("cdktf.out"),
    write: Annotated[
        bool, typer.Option("--write", help="Write `imports.tf.json` into the folder of each stack that has some.")
    ] = False,
    format: Annotated[ImportFormat, typer.Option("--format", "-f", help="For people or machines.")] = ImportFormat.text,
) -> None:
    """Find resources that are in the account already under planned names, and write Terraform import blocks for them.

    Looks them up, and changes nothing in the account; without `--write` nothing in the folder either. The next
    `terraform plan` of a stack then shows what it imports and what it would change. `synth` writes the folder anew, and
    takes the blocks away.

    Examples: `inferfab import prod`, `inferfab import prod --write`
    """
    import json

    from inferfab.adopt.imports import FILE, imports_file, is_ours, look
    from inferfab.adopt.stacks import UnreadableStacks, refuse_others, stacks_in
    from inferfab.cli.fleet import sound_plan
    from inferfab.cli.output import Refused, deliver, refuse_foreign, rendered, write_whole
    from inferfab.cli.preflight import reader_of, refusing
    from inferfab.preflight.preflight import refuse_other_account
    from inferfab.render.text.imports import print_imports

    fleet = sound_plan(env)
    try:
        documents = stacks_in(stacks, fleet.ownership.name)
        refuse_others(documents, fleet, stacks)
    except UnreadableStacks as error:
        raise Refused(str(error)) from error
    with refusing():
        reader = reader_of(fleet)
        if reader is None:
            raise Refused(f"{fleet.ownership.name} has no AWS cell, and only AWS is looked at")
        refuse_other_account(fleet, reader)
        looked = look(documents, reader)
    written = []
    for name in documents if write else ():
        refuse_foreign(stacks / "stacks" / name / FILE, is_ours)
    for name in documents:
        found = [one for one in looked if one.stack == name and one.state == "found"]
        path = stacks / "stacks" / name / FILE
        if write and found:
            write_whole(path, imports_file(found), ours=is_ours)
            written.append(path)
        elif write:
            # Of an earlier run: what it names is not there any more.
            path.unlink(missing_ok=True)
    if format is ImportFormat.json:
        body = {"resources": [one.model_dump(mode="json") for one in looked], "written": [str(p) for p in written]}
        deliver(json.dumps(body, indent=1, ensure_ascii=False), None)
    else:
        deliver(rendered(lambda c: print_imports(c, looked, written, write=write)), None)
    told = {one.state for one in looked} - {"not needed", "cannot"}
    if told == {"unknown"}:
        why = next(one.why for one in looked if one.state == "unknown")
        raise Refused(f"nothing could be looked at: {why}")


def register(app: typer.Typer) -> None:
    app.command("import")(import_command)
