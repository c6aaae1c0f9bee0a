"""All proofs over a folder of rendered files. Each gives the problems that it found, one line each, with the place."""

from collections import Counter

from .admission import admission_problems
from .agreements import agreement_problems
from .api_server import api_server_problems
from .dynamo_tool import Question, ask
from .kinds import schema_problems
from .operator_rules import operator_problems
from .worker_args import class_problems, worker_problems, written_problems
from .workloads import Files, Problems, Program, documents, programs, unreadable

PARSERS = {
    "dynamo.frontend": "frontend",
    "dynamo.router": "router",
    "dynamo.global_router": "global_router",
    "dynamo.planner": "planner",
    "dynamo.vllm": "vllm",
}
"""The module that a container runs and the parser that reads its arguments."""


def object_problems(files: Files) -> Problems:
    """Each object by the closed schema of its kind, by the API server's rules, by Dynamo's admission and operator."""
    found = []
    for one in documents(files):
        wrong = schema_problems(one.document)
        if not wrong:
            # The rules take the shape as given.
            wrong = api_server_problems(one.document)
            if one.document["kind"] == "DynamoGraphDeployment":
                wrong += admission_problems(one.document) + operator_problems(one.document)
        found += [f"{one}: {line}" for line in wrong]
    return found


def engine_problems(files: Files) -> Problems:
    """Each dynamo.vllm worker's flags, choices and types against the pair's lists, and how every program is written."""
    placed = documents(files)
    found = unreadable(placed)
    for program in programs(placed):
        wrong = worker_problems(program.args) if program.module == "dynamo.vllm" else written_problems(program.args)
        found += [f"{program.where}: {line}" for line in wrong]
    return found


def config_class_problems(files: Files) -> Problems:
    """The keys and values of each worker's JSON flags against vLLM's config classes."""
    return [
        f"{program.where}: {line}"
        for program in programs(documents(files))
        if program.module == "dynamo.vllm"
        for line in class_problems(program.args)
    ]


def parser_problems(files: Files) -> Problems:
    """Every program's arguments and mounted files through Dynamo's own parser; deprecated ones are problems too."""
    asked = [program for program in programs(documents(files)) if program.module in PARSERS]
    unknown = [p for p in programs(documents(files)) if p.module not in PARSERS]
    found = [f"{program.where}: no parser for {program.module}" for program in unknown]
    questions = [Question(PARSERS[p.module], p.args, p.mounted, _dynamo_environment(p)) for p in asked]
    for program, answer in zip(asked, ask(questions), strict=True):
        if answer.error is not None:
            found.append(f"{program.where}: {answer.error}")
        found += [f"{program.where}: {line}" for line in answer.deprecations]
    return found


def _dynamo_environment(program: Program) -> dict[str, str]:
    """What the operator and the container set and Dynamo's parsers read."""
    given = {"DYN_NAMESPACE": program.dynamo_namespace} if program.dynamo_namespace else {}
    return given | {
        name: value for name, value in program.env.items() if name.startswith(("DYN_", "VLLM_", "PROMETHEUS_"))
    }


PROOFS = {
    "objects": object_problems,
    "agreement": agreement_problems,
    "engine": engine_problems,
    "config classes": config_class_problems,
    "parsers": parser_problems,
}
"""By the name that a test shows. "objects" and "config classes" need ../shared, "parsers" needs Dynamo."""


def check_files(files: Files, proofs: tuple[str, ...] = tuple(PROOFS)) -> None:
    """Fails with everything that the proofs find; a proof whose tool is absent skips the test.

    :raises AssertionError: if anything is wrong, and if there is nothing to look at.
    """
    assert documents(files), "no document in any file"
    found = {name: problems for name in proofs if (problems := PROOFS[name](files))}
    assert not found, "\n".join(f"[{name}] {line}" for name, lines in found.items() for line in lines)


def modules(files: Files) -> dict[str, int]:
    """How many containers run which module of Dynamo: a proof over none of them proves nothing."""
    return dict(Counter(program.module for program in programs(documents(files))))
