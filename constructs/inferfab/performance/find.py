"""Which profile speaks for a worker: the team's own, a shipped one, or the roofline."""

import json
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from inferfab.catalog.facts import DATA, read_facts
from inferfab.catalog.gpus import gpus
from inferfab.input_files import read_text
from inferfab.performance.profile import NotAGrid, PerformanceProfile, Worker, surface
from inferfab.performance.roofline import roofline_profile
from inferfab.plan.memory import MemoryPlan, Parallelism
from inferfab.plan.roles import RolePlan
from inferfab.plan.served import ModelPlan

FOLDER = DATA / "performance"
OWN = "performance"
"""Folder beside the environment file with a team's own profiles."""


class UnreadablePerformance(Exception):
    """A team's profile cannot be read; the message says why."""


@cache
def shipped() -> tuple[PerformanceProfile, ...]:
    """Profiles of this release."""
    return tuple(read_facts(path, PerformanceProfile) for path in sorted(FOLDER.glob("*.json")))


def own_profiles(folder: Path) -> tuple[PerformanceProfile, ...]:
    """A team's own, from ``performance/`` beside its environment file.

    :raises UnreadablePerformance: if one is broken.
    """
    return tuple(read_performance(path) for path in sorted((folder / OWN).glob("*.json")))


def read_performance(path: Path) -> PerformanceProfile:
    """:raises UnreadablePerformance: if it is missing, no profile, or no grid."""
    try:
        found = PerformanceProfile.model_validate(json.loads(read_text(path)))
        surface(found)
    except (OSError, ValueError, NotAGrid) as error:
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            words = f"{'.'.join(str(p) for p in first['loc'])}: {first['msg']}"
        else:
            words = str(getattr(error, "strerror", None) or error)
        raise UnreadablePerformance(f"{path} is no performance profile: {words}") from error
    return found


def profile_for(
    model: ModelPlan, role: RolePlan, gpu: str, own: tuple[PerformanceProfile, ...] = ()
) -> PerformanceProfile | None:
    """The first that fits: a measured one of the team, a shipped one, the roofline. None where a GPU cannot do it.

    Only tensor parallelism is profiled: with pipeline or data parallelism the roofline speaks.
    """
    return profile_of_gpu(model, gpu, role.parallelism, role.memory, own)


def profile_of_gpu(
    model: ModelPlan, gpu: str, parallel: Parallelism, memory: MemoryPlan, own: tuple[PerformanceProfile, ...] = ()
) -> PerformanceProfile | None:
    """The same of a model on so many GPUs, whatever its role."""
    wanted = Worker(
        model=model.catalog, quantization=model.quantization, kv_precision=model.kv_precision, gpu=gpu,
        tensor=parallel.tensor,
    )  # fmt: skip
    if parallel.pipeline == 1 and parallel.data == 1:
        for each in (*own, *shipped()):
            if each.worker == wanted:
                return each
    return roofline_profile(model, gpu, gpus()[gpu], parallel, memory)
