"""Words of a command line that reach no flag: IF-ENG-001 beside the flags themselves."""

from collections.abc import Iterator

from inferfab.checks.registry import Problem
from inferfab.checks.serving.manifest_views import spot
from inferfab.manifests.images import image_of
from inferfab.manifests.model import Process, Workload
from inferfab.manifests.processes import version_known
from inferfab.manifests.workloads import FILLED_IN

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
"""What text processors make of ``--``."""
_PROGRAMS = ("vllm", "python", "python3", "bash", "sh", "serve", "env", "exec", "tini", "numactl")
_OPENAI = "vllm-openai"


def stray_words(process: Process) -> Iterator[Problem]:
    """What argparse refuses as unrecognized: ``vllm serve`` takes one word that is no flag, the model."""
    for word in process.broken:
        if word.text.strip():
            yield spot(word.ref).problem(
                f"`{word.text}` begins a command of its own: the line before does not go on",
                "end the line before with a backslash, and put no comment between them",
            )
        else:
            yield spot(word.ref).problem(
                "a blank behind the backslash: the command ends here, and the next line is another",
                "remove the blank behind the backslash",
            )
    dashed = [w for w in process.options.positional if w.known and w.text and w.text[0] in _DASHES]
    for word in dashed:
        plain = f"--{word.text.lstrip(_DASHES)}"
        yield spot(word.ref).problem(f"`{word.text}` begins with a dash that is no hyphen", f"write `{plain}`")
    if dashed or process.program != "vllm" or not version_known(process) or process.options.hidden:
        return
    named, first = process.value("--model"), next(iter(process.options.positional), None)
    if named and first is not None and first.known and first.text != named:
        yield spot(first.ref).problem(
            f"`{first.text}` belongs to no flag, so that vLLM takes it for the model instead of `{named}`",
            "remove it, or give the model once",
            severity=None if "/" not in first.text else "warning",
        )
    for word in process.options.positional[1:]:
        if word.known:
            shown = f"`{word.text}`" if word.text.strip() else "an empty word"
            yield spot(word.ref).problem(f"{shown} belongs to no flag, and vLLM refuses it", "remove it")


def entrypoint_twice(workload: Workload) -> Iterator[Problem]:
    """``args`` without ``command`` go to the image's entrypoint, which is ``vllm serve``.

    Source: vLLM 0.31.0 docker/Dockerfile, ENTRYPOINT ["vllm", "serve"].
    """
    for container in workload.pod.containers:
        image = image_of(container.image)
        first = next(container.args.items(), None)
        if workload.kind in FILLED_IN or container.command.exists or first is None or image.name != _OPENAI:
            continue
        name = (first.text or "").rsplit("/", 1)[-1]
        if name in _PROGRAMS:
            yield spot(first.ref).problem(
                f"`args` of `{workload.name}` begin with `{first.text}`, and the image's entrypoint is `vllm serve` "
                "already, which would take it for the model",
                "move the program into `command`, or begin with the model",
                value=first.text or "",
                # A copy elsewhere may have been built with another entrypoint.
                severity=None if image.repository.endswith("vllm/vllm-openai") else "warning",
            )
