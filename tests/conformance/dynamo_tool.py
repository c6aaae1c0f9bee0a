"""Asks Dynamo's own parsers, which live in a virtual environment of their own (``make dynamo``).

``DYNAMO_PYTHON`` names its python, or it is ``.venv-dynamo/bin/python`` in the repository. Where it is named, a test
fails rather than skips.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from programs import named_or_own

from .worker_args import engine_flag_list

VARIABLE = "DYNAMO_PYTHON"
OWN = Path(__file__).resolve().parents[2] / ".venv-dynamo" / "bin" / "python"
SCRIPT = Path(__file__).parent / "dynamo_parsers.py"


@dataclass(frozen=True)
class Question:
    """One command line for one parser: ``frontend``, ``router``, ``global_router``, ``planner``, ``vllm``."""

    ask: str
    argv: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Mounted files that the arguments name, by their path in the container."""
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What the parser said."""

    error: str | None
    values: Mapping[str, Any]
    warnings: Sequence[str]

    @property
    def deprecations(self) -> list[str]:
        """Warnings that something is on its way out."""
        return [one for one in self.warnings if "deprecated" in one.lower() or "no longer" in one.lower()]


def python() -> str:
    """The python that has Dynamo; skips the test where there is none."""
    return named_or_own(VARIABLE, OWN, "no Dynamo: make dynamo")


def ask(questions: Sequence[Question]) -> list[Answer]:
    """All answers, from one process: starting it is what takes the time."""
    asked = [
        {
            "ask": one.ask, "argv": list(one.argv), "files": dict(one.files), "env": dict(one.env),
            **({"vllm_flags": engine_flag_list()} if one.ask == "vllm" else {}),
        }
        for one in questions
    ]  # fmt: skip
    run = subprocess.run(
        [python(), "-I", str(SCRIPT)],
        input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, f"{SCRIPT.name} failed: {run.stderr[-3000:]}"
    return [Answer(**one) for one in json.loads(run.stdout)]
