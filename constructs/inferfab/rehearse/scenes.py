"""What a rehearsal looks at: each scene asks, counts who got the request, and says what was seen."""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from inferfab.plan.fleet import CellPlan
from inferfab.plan.serving.global_router import TierTarget
from inferfab.record import Record
from inferfab.rehearse.cast import Actor, Part, Policy, victim_pool
from inferfab.rehearse.stage import Reply, Stage
from inferfab.render.gateway.routes import nvext as tag_of

_EACH = 3
_LOCALITY_REQUESTS = 12
_RECOVERY_SECONDS = 20.0
_SETTLE_SECONDS = 0.05


class Scene(Record):
    """One thing that was looked at."""

    name: str
    ok: bool
    seen: str


def play(stage: Stage, cell: CellPlan, policies: Sequence[Policy]) -> list[Scene]:
    """All scenes of a cell."""
    scenes = []
    for graph in cell.serving.graphs:
        fronts = [a for a in stage.actors if a.graph == graph.name and a.part == "frontend"]
        if not fronts:
            continue
        if graph.global_router is not None:
            for target in graph.global_router.targets:
                scenes += _tier(stage, fronts[0], target)
            scenes += _tagged(stage, fronts[0], graph.global_router.targets)
        else:
            policy = next((p for p in policies if p.route == graph.route), None)
            scenes += _pool(stage, fronts[0], graph.pool or "", policy)
    scenes += _deaths(stage, cell)
    return scenes


def _counted(stage: Stage, actors: Iterable[Actor]) -> dict[str, int]:
    return {a.name: stage.requests_of(a) for a in actors}


def _served(stage: Stage, actors: Sequence[Actor], before: dict[str, int]) -> dict[tuple[str | None, str], int]:
    """Requests since ``before`` by pool and role."""
    time.sleep(_SETTLE_SECONDS)
    found: dict[tuple[str | None, str], int] = {}
    for actor in actors:
        new = stage.requests_of(actor) - before[actor.name]
        if new:
            found[actor.pool, actor.part] = found.get((actor.pool, actor.part), 0) + new
    return found


def _workers(stage: Stage) -> list[Actor]:
    return [a for a in stage.actors if a.part in ("prefill", "decode", "worker")]


def _where(served: dict[tuple[str | None, str], int]) -> str:
    return ", ".join(f"{pool} {role} {count}" for (pool, role), count in sorted(served.items(), key=str)) or "nobody"


def _failures(replies: Sequence[Reply]) -> str:
    wrong = [r for r in replies if not r.ok]
    return f"; {len(wrong)} of {len(replies)} failed: {wrong[0].status} {wrong[0].problem[:160]}" if wrong else ""


def _tier(stage: Stage, front: Actor, target: TierTarget) -> list[Scene]:
    """Requests with the tier's targets, and with its priority alone."""
    scenes = []
    for how, nvext in (
        ("targets", {"router": {"ttft_target": target.ttft_ms, "itl_target": target.itl_ms}}),
        ("priority", {"agent_hints": {"priority": target.min_priority}}),
    ):
        workers = _workers(stage)
        before = _counted(stage, workers)
        replies = [stage.ask(front, text=f"tier {target.tier} by {how}, number {n}", nvext=nvext) for n in range(_EACH)]
        served = _served(stage, workers, before)
        roles = {a.part for a in workers if a.pool == target.pool}
        right = set(served) == {(target.pool, role) for role in roles} and min(served.values(), default=0) >= _EACH
        label = (
            f"{target.ttft_ms:g} ms, {target.itl_ms:g} ms" if how == "targets" else f"priority {target.min_priority}"
        )
        scenes.append(
            Scene(
                name=f"{front.model}: tier {target.tier} by {how} ({label})",
                ok=right and all(r.ok for r in replies),
                seen=f"{_EACH} streamed; served by {_where(served)}{_failures(replies)}",
            )
        )
    return scenes


def _tagged(stage: Stage, front: Actor, targets: Sequence[TierTarget]) -> list[Scene]:
    """What the gateway writes in place of a client's ``nvext``, and a client who sends another beside it."""
    scenes = []
    workers = _workers(stage)
    for target in targets:
        before = _counted(stage, workers)
        tag = json.loads(tag_of(target))
        replies = [stage.ask(front, text=f"tagged {target.tier}, number {n}", nvext=tag) for n in range(_EACH)]
        served = _served(stage, workers, before)
        scenes.append(
            Scene(
                name=f"{front.model}: the gateway's tag of {target.tier}",
                ok={pool for pool, _ in served} == {target.pool} and all(r.ok for r in replies),
                seen=f"{_EACH} streamed; served by {_where(served)}{_failures(replies)}",
            )
        )
    if len(targets) > 1:
        before = _counted(stage, workers)
        tags = json.loads(tag_of(targets[-1])), json.loads(tag_of(targets[0]))
        reply = stage.ask(front, text="a tag smuggled in", nvext=tags[0], smuggled=tags[1])
        served = _served(stage, workers, before)
        scenes.append(
            Scene(
                name=f"{front.model}: a second tag beside that of {targets[-1].tier}",
                ok=400 <= reply.status < 500 and not served,
                seen=f"HTTP {reply.status}; served by {_where(served)}",
            )
        )
    return scenes


def _pool(stage: Stage, front: Actor, pool: str, policy: Policy | None) -> list[Scene]:
    """Requests to a pool's own frontend: each role gets them, and a locality policy holds."""
    workers = [a for a in _workers(stage) if a.graph == front.graph]
    count = _LOCALITY_REQUESTS if policy else _EACH
    pairs: list[tuple[str | None, str | None]] = []
    before = _counted(stage, workers)
    replies = []
    for number in range(count):
        now = _counted(stage, workers)
        replies.append(stage.ask(front, text=f"pool {pool}, {number}: " + f"word{number} " * 40))
        if policy:
            time.sleep(_SETTLE_SECONDS)
            got = [a for a in workers if stage.requests_of(a) > now[a.name]]
            ends = [next((a.locality for a in got if a.part == role), None) for role in ("prefill", "decode")]
            pairs.append((ends[0], ends[1]))
    served = _served(stage, workers, before)
    roles = {a.part for a in workers}
    scenes = [
        Scene(
            name=f"{front.model}: pool {pool}" + (", prefill to decode" if "prefill" in roles else ""),
            ok=set(served) == {(front.pool, r) for r in roles} and all(r.ok for r in replies),
            seen=f"{count} streamed; served by {_where(served)}{_failures(replies)}",
        )
    ]
    if policy:
        near = sum(1 for a, b in pairs if a == b and a is not None)
        ok = near == count if policy.enforcement == "required" else near * 2 > count
        rule = "all of them" if policy.enforcement == "required" else "most of them"
        scenes.append(
            Scene(
                name=f"{front.model}: pool {pool}, locality {policy.enforcement}",
                ok=ok,
                seen=f"{near} of {count} hand-offs stayed in one of two localities; the policy asks for {rule}",
            )
        )
    return scenes


_MORTAL: tuple[tuple[Part, str], ...] = (
    ("decode", "a decode worker"),
    ("worker", "a worker"),
    ("prefill", "a prefill worker"),
    ("frontend", "a frontend"),
    ("router", "a local router"),
    ("global-router", "one of two routers over tiers"),
)
"""Routers last: a dead one stays registered for a while (seconds, with discovery by files) and is asked again."""


def _deaths(stage: Stage, cell: CellPlan) -> list[Scene]:
    """One of each two processes that serve a pool is killed: the other must take over by itself."""
    name = victim_pool(cell)
    pool = next((p for p in cell.pools if p.name == name), None)
    if pool is None:
        return []
    over = next((g for g in cell.serving.graphs if g.global_router and g.model in pool.models), None)
    target = (
        next((t for t in over.global_router.targets if t.pool == pool.name), None)
        if over and over.global_router
        else None
    )
    nvext = {"router": {"ttft_target": target.ttft_ms, "itl_target": target.itl_ms}} if target else None
    mine = [a for a in stage.actors if a.pool == pool.name or (over is not None and a.graph == over.name)]
    scenes = []
    for part, words in _MORTAL:
        alike = [a for a in mine if a.part == part]
        graphs = {a.graph for a in alike}
        # Of a pool that is two graphs, each has routers of its own: those of the first are enough.
        same = [a for a in alike if a.graph == min(graphs)] if graphs else []
        if len(same) < 2:
            continue
        fronts = [a for a in mine if a.part == "frontend" and a is not same[-1]]
        scenes.append(_killed(stage, fronts[0], same[-1], same[:-1], f"{words} of {pool.name}", nvext))
    return scenes


def _killed(
    stage: Stage, front: Actor, victim: Actor, others: Sequence[Actor], words: str, nvext: dict[str, Any] | None
) -> Scene:
    stage.kill(victim)
    start = time.monotonic()
    before = _counted(stage, others)
    lost, row, number = 0, 0, 0
    last: Reply | None = None
    while row < 2 * _EACH and time.monotonic() - start < _RECOVERY_SECONDS:
        reply = stage.ask(front, text=f"after the loss of {victim.part}, number {number}", nvext=nvext)
        number += 1
        row = row + 1 if reply.ok else 0
        if not reply.ok:
            lost, last = lost + 1, reply
            time.sleep(0.2)
    seconds = time.monotonic() - start
    taken = sum(_served(stage, others, before).values())
    # Only workers say that they got a request.
    ok = row >= 2 * _EACH and (victim.part not in ("prefill", "decode", "worker") or taken >= row)
    why = f" (last: {last.status} {last.problem[:120]})" if last else ""
    return Scene(
        name=f"{victim.model}: {words} is killed",
        ok=ok,
        seen=f"{lost} of {number} requests failed{why}, then {row} in a row were answered by what is left, "
        f"{seconds:.1f} s after the loss",
    )
