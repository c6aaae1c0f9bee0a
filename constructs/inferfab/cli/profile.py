"""``inferfab profile``"""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from inferfab.performance.profile import Worker

app = typer.Typer(no_args_is_help=True, help="Performance profiles: how fast one worker is, and who says so.")
Model = Annotated[str, typer.Option("--model", help="Catalog id, `inferfab catalog models`.", show_default=False)]
GpuName = Annotated[str, typer.Option("--gpu", help="Catalog id, `inferfab catalog gpus`.", show_default=False)]
Tensor = Annotated[int, typer.Option("--tp", help="GPUs of one worker.", min=1)]
Quant = Annotated[str, typer.Option("--quantization", help="Of the weights: bf16, fp8, mxfp4, …")]
Kv = Annotated[str, typer.Option("--kv", help="Of the KV cache: bf16 or fp8.")]
Day = Annotated[
    datetime | None,
    typer.Option("--as-of", formats=["%Y-%m-%d"], help="Day of the measurement. Default: today.", show_default=False),
]
Folder = Annotated[
    Path, typer.Option("--out", "-o", help="Folder `performance` beside the environment file.", file_okay=False)
]


def _worker(model: str, gpu: str, tp: int, quantization: str, kv: str) -> "Worker":
    from inferfab.catalog.gpus import gpus
    from inferfab.catalog.models import models
    from inferfab.environment.problems import meant
    from inferfab.performance.profile import Worker

    for value, known, name in ((model, list(models()), "--model"), (gpu, list(gpus()), "--gpu")):
        if value not in known:
            raise typer.BadParameter(f"the catalog has no `{value}`; {meant(value, known)}", param_hint=name)
    return Worker(model=model, quantization=quantization, kv_precision=kv, gpu=gpu, tensor=tp)


@app.command("list")
def list_command() -> None:
    """List the shipped profiles: of what, from where, how old, and how many points are measured."""
    from inferfab.cli.output import deliver, rendered
    from inferfab.performance.find import shipped
    from inferfab.render.text.performance import print_profiles

    deliver(rendered(lambda c: print_profiles(c, shipped())), None)


@app.command("import")
def import_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Results of one tool.", show_default=False)],
    model: Model,
    gpu: GpuName,
    engine: Annotated[str, typer.Option("--engine", help="Name and version: `vllm 0.31.0`.", show_default=False)],
    tp: Tensor = 1,
    quantization: Quant = "fp8",
    kv: Kv = "fp8",
    as_of: Day = None,
    out: Folder = Path("environments/performance"),
) -> None:
    """Make a profile of your own measurements: AIPerf, guidellm (JSON) or Dynamo's profiler (npz).

    Example: `inferfab profile import c1.json c32.json --model qwen3-8b --gpu l40s --engine "vllm 0.31.0"`
    """
    from inferfab.cli.output import Refused, deliver
    from inferfab.performance.importing import Unimportable, import_profile
    from inferfab.performance.make import file_name
    from inferfab.performance.profile import NotAGrid, surface

    worker = _worker(model, gpu, tp, quantization, kv)
    day = (as_of or datetime.now(UTC)).date()
    try:
        found = import_profile(files, worker, engine=engine, as_of=day)
        surface(found)
    except (Unimportable, NotAGrid) as error:
        raise Refused(str(error)) from error
    deliver(found.model_dump_json(indent=1), out / file_name(worker), over_input=True)


@app.command("make")
def make_command(
    model: Model,
    gpu: GpuName,
    tp: Tensor = 1,
    quantization: Quant = "fp8",
    kv: Kv = "fp8",
    as_of: Day = None,
    out: Folder = Path("environments/performance"),
) -> None:
    """Ask aiconfigurator for a profile (`make aiconfigurator` sets it up); a minute or less.

    Example: `inferfab profile make --model llama-3.1-70b-instruct --gpu h100 --tp 8`
    """
    from inferfab.cli.output import Refused, deliver
    from inferfab.extras import ExtraMissing
    from inferfab.performance.make import CannotMake, file_name, make_profile

    worker = _worker(model, gpu, tp, quantization, kv)
    try:
        found = make_profile(worker, (as_of or datetime.now(UTC)).date())
    except (ExtraMissing, CannotMake) as error:
        raise Refused(str(error)) from error
    deliver(found.model_dump_json(indent=1), out / file_name(worker), over_input=True)


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="profile")
