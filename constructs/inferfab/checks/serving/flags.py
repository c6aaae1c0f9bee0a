"""Command lines of manifests against flag lists."""

import json
from collections.abc import Iterable, Iterator

import inferfab.checks.engine  # noqa: F401 - enters IF-ENG-001, which judges manifests too
from inferfab.catalog.json_configs import json_flags
from inferfab.catalog.replaced import replaced_connectors, replaced_flags
from inferfab.checks.flag_values import not_an_object, value_fits
from inferfab.checks.registry import Problem, manifest_rule, on_manifests
from inferfab.checks.serving.command_words import entrypoint_twice, stray_words
from inferfab.checks.serving.kv_transfer import FLAG, NIXL, transfer_of
from inferfab.checks.serving.manifest_views import spot
from inferfab.checks.serving.register import of_manifests
from inferfab.checks.serving.views import Spot
from inferfab.environment.problems import meant
from inferfab.manifests.model import Manifests, Process
from inferfab.manifests.options import Option, near
from inferfab.manifests.processes import flags_of, version_known

_JUDGED = ("vllm", "dynamo.vllm", "dynamo.frontend")
_HELP = ("--help", "-h")
"""Of every parser, and in no flag list."""
_OBJECTS = ("--kv-transfer-config", "--kv-events-config", "--speculative-config", "--compilation-config")


def judged(manifests: Manifests) -> Iterator[Process]:
    """Processes whose flags are known."""
    for workload in manifests.workloads:
        for process in workload.processes:
            if process.program in _JUDGED:
                yield process


@on_manifests("IF-ENG-001")
def flags_known(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        yield from entrypoint_twice(workload)
    for process in judged(manifests):
        sure = version_known(process)
        for option in process.options.given:
            if option.spelled not in _HELP:
                yield from _flag(process, option, sure=sure)
        yield from stray_words(process)


def _flag(process: Process, option: Option, *, sure: bool) -> Iterator[Problem]:
    replaced = replaced_flags().get((process.program, option.flag))
    if replaced is not None and replaced.refused and sure:
        yield spot(option.ref).problem(f"{_runs(process)} refuses `{option.spelled}`", replaced.advice)
    elif option.declared is not None and option.known and (sure or option.flag.partition(".")[0] in _OBJECTS):
        yield from _value(option)
    if option.declared is not None or (replaced is not None and replaced.refused):
        return
    what = f"{_runs(process)} has no flag `{option.spelled}`"
    if replaced is not None and replaced.gone:
        if sure:
            yield spot(option.ref).problem(what, replaced.advice)
        return  # IF-ENG-016 speaks of it where the version is not known
    meant = near(option.flag, flags_of(process.program, process.container))
    if sure:
        yield spot(option.ref).problem(what, f"did you mean `{meant}`?" if meant else "remove it")
    elif meant:
        yield spot(option.ref).problem(
            f"`{option.spelled}` looks like a misspelled `{meant}`; the image's version is not in the catalog",
            f"write `{meant}`, if that is meant",
            severity="warning",
        )


def _runs(process: Process) -> str:
    image = process.image
    if process.program == "dynamo.frontend":
        return f"the frontend of Dynamo {image.dynamo}"
    return f"{'dynamo.vllm with ' if process.program == 'dynamo.vllm' else ''}vLLM {image.vllm}"


def _value(option: Option) -> Iterator[Problem]:
    declared = option.declared
    assert declared is not None
    if option.spelled.startswith("-O"):
        return
    if "." in option.flag:  # a key of a JSON object; its type is the engine's
        flag, _, key = option.flag.partition(".")
        yield from _known_keys(flag, (key.split(".")[0].rstrip("+").replace("-", "_"),), spot(option.ref))
        return
    switch = declared.type == "bool" or declared.action in ("store_true", "store_false")
    if switch or option.negative:
        if option.joined:
            where = spot(option.ref)
            yield where.problem(f"`{option.flag}` is a switch and takes no value", f"write `{option.flag}` alone")
        return
    if option.value is None:
        if declared.nargs not in ("*", "?") and not declared.type.startswith(("list", "set")):
            yield spot(option.ref).problem(f"`{option.flag}` has no value", "write its value behind it")
        return
    for what, fix in value_fits(declared, option.flag, option.value):
        yield spot(option.value_ref).problem(what, fix)
    yield from _keys(option)


def _keys(option: Option) -> Iterator[Problem]:
    """Keys of the JSON that a flag carries: vLLM's classes refuse others."""
    if option.value is not None and not not_an_object(option.value):
        yield from _known_keys(option.flag, json.loads(option.value), spot(option.value_ref))


def _known_keys(flag: str, keys: Iterable[str], where: Spot) -> Iterator[Problem]:
    known = {key for version in json_flags().values() for key in version.get(flag, {})}
    for key in keys if known else ():
        if key not in known:
            yield where.problem(f"`{flag}` has no key `{key}`", meant(key, sorted(known), most=30), value=key)


@manifest_rule(
    "IF-ENG-016",
    "a flag, role or connector that is going away",
    severity="warning",
    joins=("engine",),
    why="the next upgrade does not start, or silently does something else than today.",
    do="use what took its place.",
    source="ai-dynamo 1.6.1 and vLLM 0.31.0 and 0.33.0 sources, per row of the catalog's replaced_flags.yaml; vLLM "
    "0.31.0 nixl/connector.py NixlBaseConnector (kv_both)",
)
def nothing_deprecated(manifests: Manifests) -> Iterator[Problem]:
    for process in judged(manifests):
        for option in process.options.given:
            replaced = replaced_flags().get((process.program, option.flag))
            if replaced is None or ((replaced.gone or replaced.refused) and version_known(process)):
                continue  # the latter are IF-ENG-001's
            when = (
                "is ignored" if replaced.ignored
                else "is gone in newer releases" if replaced.gone or replaced.refused
                else f"is deprecated, and gone in {replaced.removed_in}"
            )  # fmt: skip
            yield spot(option.ref).problem(f"`{option.spelled}` {when}", replaced.advice)
    for serving in of_manifests(manifests):
        for engine in serving.engines:
            transfer = transfer_of(engine)
            for connector in transfer.all() if transfer else ():
                yield from _connector(connector.name, connector.role, engine.role, engine.at(FLAG))


def _connector(name: str, role: str | None, of: str, where: Spot) -> Iterator[Problem]:
    gone = replaced_connectors().get(name)
    if gone is not None:
        when = f", and gone in {gone.removed_in}" if gone.removed_in else ""
        yield where.problem(f"{name} is deprecated{when}", f"use {gone.instead}")
    if name in NIXL and role == "kv_both":
        right = {"prefill": "kv_producer", "decode": "kv_consumer"}.get(of, "kv_producer or kv_consumer")
        yield where.problem(f"`kv_both` of {name} is deprecated", f"write `{right}`")


@manifest_rule(
    "IF-ENG-017",
    "a flag that is given twice",
    severity="warning",
    joins=("engine",),
    why="the last one counts, without a word; who edits the first wonders why nothing changes.",
    do="keep one of the two.",
    source="Python argparse: a later value replaces an earlier one",
)
def flags_given_once(manifests: Manifests) -> Iterator[Problem]:
    for process in judged(manifests):
        first: dict[str, Option] = {}
        for option in process.options.given:
            before = first.setdefault(option.flag, option)
            differs = (before.value, before.negative) != (option.value, option.negative)
            if before is not option and differs and option.declared is not None:
                line = before.ref.at.line
                shown = f"`{before.value}`" if before.value is not None else "another sense"
                yield spot(option.ref).problem(
                    f"`{option.flag}` stands here a second time, and on line {line} with {shown}",
                    "keep one of the two",
                )
