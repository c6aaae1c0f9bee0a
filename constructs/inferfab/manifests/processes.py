"""Which programs a container starts."""

import re
from collections.abc import Iterator, Mapping, Sequence

from inferfab.catalog.engines import Flag, dynamo_flags, engine_pairs, vllm_flags, vllm_versions, worker_flags
from inferfab.manifests.images import image_of
from inferfab.manifests.model import Process, Program
from inferfab.manifests.options import Options, parse_options
from inferfab.manifests.pods import Container, EnvVar
from inferfab.manifests.words import CommandLine, Word, command_lines

_PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.[0-9]+)?)?")
_PROGRAMS: dict[str, Program] = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
    "vllm.entrypoints.cli.main": "vllm",
    "dynamo.vllm": "dynamo.vllm",
    "dynamo.frontend": "dynamo.frontend",
    "dynamo.planner": "dynamo.planner",
    "dynamo.planner.planner_sla": "dynamo.planner",
    "dynamo.router": "dynamo.router",
    "dynamo.mocker": "dynamo.mocker",
}
_OTHER = re.compile(r"dynamo\.|sglang|tensorrt_llm|vllm\.|lmcache|ray\.")


def processes_of(
    container: Container, *, default: Program | None = None, entrypoint: bool = True
) -> tuple[Process, ...]:
    """Programs that we know, in order.

    :param default: what the image starts where the container names no command.
    :param entrypoint: False where a controller fills in the command, so that the image's own says nothing.
    """
    found = list(_started(container))
    if not found and not container.command.value and (entrypoint or default is not None):
        program = default or _entrypoint(container)
        if program is not None:
            words = [w for line in command_lines(container) for w in line.words]
            found.append(_process(program, program, words, container, CommandLine((), container.env)))
    return tuple(found)


def _entrypoint(container: Container) -> Program | None:
    """``vllm/vllm-openai`` starts ``vllm serve``; images built on it do too. Source: vLLM's docker/Dockerfile."""
    name = image_of(container.image).name
    return "vllm" if name.startswith("vllm-openai") or name == "vllm" else None


def _started(container: Container) -> Iterator[Process]:
    for whole in command_lines(container):
        line = whole.words
        for position, word in enumerate(line):
            bare = word.text.rsplit("/", 1)[-1]
            if bare == "vllm" and position + 1 < len(line) and line[position + 1].text == "serve":
                yield _process("vllm", "vllm serve", line[position + 2 :], container, whole, word)
                break
            if _PYTHON.fullmatch(word.text) and (module := _module(line, position)) is not None:
                name, rest = module
                if name in _PROGRAMS or _OTHER.match(name):
                    if name == "vllm.entrypoints.cli.main" and rest and rest[0].text == "serve":
                        rest = rest[1:]
                    yield _process(_PROGRAMS.get(name, "other"), name, rest, container, whole, word)
                break


def _module(line: tuple[Word, ...], python: int) -> tuple[str, tuple[Word, ...]] | None:
    """(module, words behind it) of ``python -u -m MODULE …``."""
    for position in range(python + 1, len(line) - 1):
        if line[position].text == "-m":
            return line[position + 1].text, line[position + 2 :]
        if not line[position].text.startswith("-"):
            return None
    return None


def _process(
    program: Program,
    module: str,
    words: Sequence[Word],
    container: Container,
    line: CommandLine,
    word: Word | None = None,
) -> Process:
    options = parse_options(words, flags_of(program, container)) if program != "other" else Options((), (), False)
    ref = word.ref if word is not None else words[0].ref if words else container.ref
    before = line.words[: line.words.index(word)] if word is not None else ()
    own = {m[1]: EnvVar(m[1], m[2] if w.known else None, None, w.ref) for w in before
           if (m := re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", w.text, re.DOTALL))}  # fmt: skip
    return Process(program, module, options, container, ref, {**line.env, **own}, line.step, line.broken)


def flags_of(program: Program, container: Container) -> Mapping[str, Flag]:
    """Flags by which a command line is parsed: those of the image's version, or of the newest that is known."""
    image = image_of(container.image)
    versions = vllm_versions()
    vllm = image.vllm if image.vllm in versions else versions[-1]
    dynamo = image.dynamo if image.dynamo in engine_pairs() else next(iter(engine_pairs()))
    if program == "vllm":
        return vllm_flags(vllm)
    if program == "dynamo.vllm":
        return worker_flags(vllm, dynamo)
    if program == "dynamo.frontend":
        return dynamo_flags(dynamo, "dynamo.frontend")
    return {}


def version_known(process: Process) -> bool:
    """The image names a version whose flag list is in the catalog."""
    image = process.image
    return image.dynamo in engine_pairs() if process.program.startswith("dynamo") else image.vllm in vllm_versions()
