"""A rehearsal of one cell, from nothing to nothing."""

import shutil
import tempfile
import time
from pathlib import Path

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.record import Record
from inferfab.rehearse.cast import Cast, cast_of
from inferfab.rehearse.processes import ProcessDied, Processes
from inferfab.rehearse.scenes import Scene, play
from inferfab.rehearse.stage import NotReady, Stage


class Rehearsal(Record):
    """What was seen of one cell."""

    cell: str
    engine: str
    processes: int
    ready_seconds: float | None
    """None where it never got ready."""
    seconds: float
    memory_bytes: int
    """Of all processes at the end, shared pages counted once; 0 where the system does not say."""
    scenes: tuple[Scene, ...]
    real: tuple[str, ...]
    mocked: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return bool(self.scenes) and all(s.ok for s in self.scenes)


def rehearse(fleet: FleetPlan, cell: CellPlan, python: str, *, keep: Path | None = None) -> Rehearsal:
    """Run the cell's rendered configuration on loopback, look at it, and end every process.

    :param python: that has Dynamo.
    :param keep: folder for the logs; None throws them away.
    :raises Unrehearsable: if the cell has no graph.
    """
    start = time.monotonic()
    ready: float | None = None
    memory = 0
    with tempfile.TemporaryDirectory(prefix="inferfab-rehearsal-") as scratch:
        work = Path(scratch)
        (work / "logs").mkdir()
        cast = cast_of(fleet, cell, work)
        scenes: list[Scene] = []
        stage: Stage | None = None
        try:
            with Processes(work / "logs") as processes:
                stage = Stage(python, cast.actors, work, processes)
                try:
                    ready = stage.wait()
                    scenes += play(stage, cell, cast.policies)
                    processes.check(stage.dead)
                except (NotReady, ProcessDied) as error:
                    scenes.append(Scene(name="processes", ok=False, seen=str(error)))
                memory = stage.memory_bytes()
        finally:
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                for log in sorted((work / "logs").iterdir()):
                    shutil.copy(log, keep / f"{cell.name}-{log.name}")
        scenes.append(_ended(processes, stage))
    return Rehearsal(
        cell=cell.name,
        engine=f"Dynamo {fleet.engine.dynamo}",
        processes=len(cast.actors),
        ready_seconds=ready,
        seconds=time.monotonic() - start,
        memory_bytes=memory,
        scenes=tuple(scenes),
        real=_real(cast),
        mocked=_mocked(cast),
    )


def _ended(processes: Processes, stage: Stage) -> Scene:
    alive = [one.name for one in processes.running if one.alive]
    ports = stage.ports_in_use()
    seen = f"{len(processes.running)} processes ended, {len(stage.ports)} ports free"
    if alive or ports:
        seen = f"still there: {', '.join(alive)}; ports in use: {ports}"
    return Scene(name="everything is gone", ok=not alive and not ports, seen=seen)


def _real(cast: Cast) -> tuple[str, ...]:
    parts = [a.part for a in cast.actors]
    names = {"frontend": "frontend", "router": "local router", "global-router": "router over tiers"}
    counted = ", ".join(f"{parts.count(p)} {n}(s)" for p, n in names.items() if p in parts)
    return (
        f"{counted}: Dynamo's own processes with the rendered arguments, environment and files",
        "discovery, request plane (TCP), event plane (ZMQ), routing by cache content, hand-over from prefill to decode",
        f"worker flags that the mock engine obeys: {', '.join(cast.flags_obeyed)}",
    )


def _mocked(cast: Cast) -> tuple[str, ...]:
    workers = sum(1 for a in cast.actors if a.part in ("prefill", "decode", "worker"))
    found = [
        f"{workers} worker(s): Dynamo's mock engine for vLLM, ten times as fast; no GPU, no model: made-up words",
        f"worker flags that nothing here reads: {', '.join(cast.flags_left_out)}",
        "RDMA: the transfer is a delay of the planned bandwidth; Kubernetes, operator and gateway are not there",
        f"one process a component (two of each that serves one pool) for {cast.replicas_rendered} rendered replicas; "
        "discovery by files instead of Kubernetes",
    ]
    if cast.planners:
        found.append(f"{cast.planners} planner(s) left out: they need packages that no public registry has")
    if cast.lanes:
        found.append(f"{cast.lanes} lane(s) of models that take turns left out: vLLM's own server has no mock")
    return tuple(found)
