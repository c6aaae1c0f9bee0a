"""What a plan's workers and the processes of a manifest have in common, so that one function judges both."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from inferfab.checks.registry import Problem
from inferfab.findings import Location, Severity, YamlPath
from inferfab.manifests.model import Process, Workload, human_whole

Role = Literal["prefill", "decode", "worker"]
MODE, MODE_ENV = "--disaggregation-mode", "DYN_VLLM_DISAGGREGATION_MODE"


@dataclass(frozen=True)
class Spot:
    """Where something is said: a path, and of a manifest the very place."""

    path: YamlPath
    at: Location | None = None

    def problem(
        self, what: str, fix: str, *, value: str = "", severity: Severity | None = None, of_key: bool = False
    ) -> Problem:
        return Problem(self.path, what, fix, value, severity, of_key, self.at)


@dataclass(frozen=True)
class Given:
    """One flag of an engine."""

    flag: str
    value: str | None
    spot: Spot
    known: bool = True
    off: bool = False
    """``--no-flag``."""


@dataclass(frozen=True)
class Variable:
    """One environment variable; ``field`` where the pod's own status gives it."""

    value: str | None
    field: str | None
    spot: Spot


@dataclass(frozen=True)
class EngineView:
    """One engine: a role of a pool, or a vLLM process of a manifest."""

    name: str
    """What people call it: ``prefill of chat``, ``VllmDecodeWorker``."""
    role: Role
    program: str
    """``vllm`` (its own server) or ``dynamo.vllm``."""
    image_version: str | None
    """As the image's tag says; None where it says nothing."""
    vllm: str | None
    """Version of vLLM inside, where that is known."""
    given: Mapping[str, Given]
    env: Mapping[str, Variable]
    spot: Spot
    resources: Mapping[str, float]
    """Extended resources and huge pages of one pod."""
    privileged: bool
    capabilities: tuple[str, ...]
    networked: bool
    """The pod has the host's network, or further networks or devices by annotation or claim."""
    gpus: int
    """Of one pod; 0 where none are asked for."""
    nodes: int = 1
    hidden: bool = False
    """Flags may be given that are not seen."""
    env_hidden: bool = False
    process: Process | None = None
    workload: Workload | None = None

    def at(self, flag: str) -> Spot:
        """Where a flag is given, or else the engine."""
        found = self.given.get(flag)
        return found.spot if found else self.spot

    def value(self, flag: str) -> str | None:
        found = self.given.get(flag)
        return found.value if found is not None and found.known else None

    def unsure(self, flag: str) -> bool:
        """Nobody can tell here what holds of a flag."""
        found = self.given.get(flag)
        return self.hidden if found is None else not found.known

    def whole(self, flag: str, default: int | None = None) -> int | None:
        """A whole number; None where it cannot be told."""
        if flag not in self.given:
            return None if self.hidden else default
        return human_whole(self.value(flag))

    def on(self, flag: str) -> bool | None:
        """Whether a switch is on; None where nothing is said."""
        found = self.given.get(flag)
        return None if found is None else not found.off

    def json(self, flag: str) -> dict[str, Any] | None:
        """A JSON object, with keys of the dotted form (``--flag.key value``) laid over; None where there is none."""
        return json_of(self.given, flag)

    @cached_property
    def tensor(self) -> int | None:
        return self.whole("--tensor-parallel-size", 1)

    @cached_property
    def pipeline(self) -> int | None:
        return self.whole("--pipeline-parallel-size", 1)

    @cached_property
    def data(self) -> int | None:
        return self.whole("--data-parallel-size", 1)

    @property
    def model(self) -> str | None:
        return self.value("--model")


def json_of(given: Mapping[str, Given], flag: str) -> dict[str, Any] | None:
    """The object that a flag gives as a whole, or key by key, or both."""
    whole = given.get(flag)
    text = whole.value if whole is not None and whole.known else None
    found: dict[str, Any] = {}
    if text is not None:
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(read, dict):
            return None
        found = read
    dotted = {name: g for name, g in given.items() if name.startswith(f"{flag}.")}
    for name, one in dotted.items():
        here = found
        *above, last = name.removeprefix(f"{flag}.").split(".")
        for key in above:
            here = here.setdefault(key.replace("-", "_"), {})
            if not isinstance(here, dict):
                return None
        here[last.rstrip("+").replace("-", "_")] = _plain(one.value)
    return found if text is not None or dotted else None


def _plain(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:
        return text


@dataclass(frozen=True)
class FrontendView:
    """A Dynamo frontend or router: what chooses a worker for each request."""

    name: str
    mode: str | None
    """``kv``, ``round-robin``, …; None where it cannot be told."""
    mode_spot: Spot
    events: bool | None
    """It listens to KV events; otherwise it guesses."""
    block_tokens: int | None
    block_spot: Spot
    spot: Spot


@dataclass(frozen=True)
class Serving:
    """Engines that serve together: a pool of a plan, a graph, the Deployments of one model."""

    name: str
    engines: tuple[EngineView, ...]
    frontends: tuple[FrontendView, ...] = ()
    spot: Spot = field(default_factory=lambda: Spot(()))

    def of_role(self, role: Role) -> tuple[EngineView, ...]:
        return tuple(e for e in self.engines if e.role == role)

    @property
    def disaggregated(self) -> bool:
        return bool(self.of_role("prefill") or self.of_role("decode"))


Judge = Callable[[Serving], Iterable[Problem]]
