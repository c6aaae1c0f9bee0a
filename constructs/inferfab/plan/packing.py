"""Several models on the same GPUs: which instance stands where, so that the most instances are served.

MIG: a GPU is cut into profiles, each with fixed places where it may start. A model takes the smallest profile
that holds it. All GPUs are alike, so the exact best is found by going through GPUs one by one with the
demand that is still open as the only memory (dynamic programme over clipped demand).

Sleep: every GPU of a node may hold any of the models, one awake, the others in the node's CPU memory. The
most instances are served by taking the smallest models first once each model has what was asked.
"""

import heapq
import math
from collections import Counter
from functools import cache

from pydantic import NonNegativeInt, PositiveInt

from inferfab.catalog.gpus import Gpu, MigProfile
from inferfab.record import Record

MOST_STATES = 50_000
"""Open demands that the search may visit; beyond it a pool must be split."""


class Asked(Record):
    """What one model needs."""

    model: str
    bytes_needed: PositiveInt
    """Weights, overhead and the asked KV cache, before utilization."""
    instances: PositiveInt
    """Fewest instances to serve."""


class PackedSlice(Record):
    """One instance of a model on one GPU."""

    model: str
    profile: str
    """MIG profile; ``gpu`` for a whole GPU in sleep mode."""
    start: NonNegativeInt
    """First memory slice; 0 in sleep mode."""


class PackingPlan(Record):
    """Where the instances of a shared pool stand at its desired size."""

    gpus: tuple[tuple[PackedSlice, ...], ...]
    """Instances by GPU."""
    instances: dict[str, int]
    """Served instances by model."""
    unserved: dict[str, int]
    """Asked instances that found no place, by model; empty if everything stands."""
    note: str = ""

    @property
    def total(self) -> int:
        return sum(self.instances.values())


class TooLarge(Exception):
    """The pool has more open demand than the exact search visits."""


def smallest_profile(gpu: Gpu, bytes_needed: int) -> MigProfile | None:
    """The profile with the least memory that holds ``bytes_needed``; among equals the one with less compute."""
    fitting = [p for p in gpu.mig_profiles if p.memory_mib * 1024 * 1024 >= bytes_needed]
    return min(fitting, key=lambda p: (p.memory_mib, p.compute_slices, p.memory_slices), default=None)


Placement = tuple[tuple[str, int], ...]
"""Profiles with their starts on one GPU."""


def placements(profiles: tuple[MigProfile, ...], compute_slices: int = 7) -> dict[tuple[str, ...], Placement]:
    """Every way to cut one GPU: by sorted profile names, one placement each.

    Slices must not overlap, and together stay within the GPU's compute slices.
    """
    found: dict[tuple[str, ...], Placement] = {(): ()}
    order = sorted(profiles, key=lambda p: (-p.memory_slices, p.name))

    def extend(placed: tuple[tuple[MigProfile, int], ...], used: frozenset[int], compute: int) -> None:
        for profile in order:
            if compute + profile.compute_slices > compute_slices:
                continue
            for start in profile.starts:
                span = frozenset(range(start, start + profile.memory_slices))
                if span & used:
                    continue
                more = (*placed, (profile, start))
                key = tuple(sorted(p.name for p, _ in more))
                if key in found:
                    # The same profiles at other starts leave other room, so it is still extended below.
                    if (key, used | span) in seen:
                        continue
                else:
                    found[key] = tuple((p.name, s) for p, s in more)
                seen.add((key, used | span))
                extend(more, used | span, compute + profile.compute_slices)

    seen: set[tuple[tuple[str, ...], frozenset[int]]] = set()
    extend((), frozenset(), 0)
    return found


def pack_mig(gpu: Gpu, gpu_count: int, asked: tuple[Asked, ...]) -> PackingPlan:
    """Serve the most instances on ``gpu_count`` GPUs, each model at least as often as asked where that is possible.

    Models that no profile holds are unserved. If not everything asked can stand, as much as possible of it does.

    :raises TooLarge: if the exact search would visit more than :data:`MOST_STATES` states.
    """
    profile_of = _profiles_of(gpu, asked)
    profiles = tuple({p.name: p for p in profile_of.values()}.values())
    if not profiles:
        unserved = {a.model: a.instances for a in asked}
        return PackingPlan(gpus=tuple(() for _ in range(gpu_count)), instances={}, unserved=unserved)
    return _assign(_best_cuts(profiles, gpu_count, _demand(profile_of, asked)), asked, profile_of)


NodeCut = tuple[dict[str, int], ...]
"""Instances by profile of each GPU of a node."""


def pack_mig_nodes(gpu: Gpu, nodes: int, gpus_per_node: int, asked: tuple[Asked, ...]) -> PackingPlan:
    """As :func:`pack_mig`, with all nodes cut alike where that, too, serves all that is asked: then one layout does
    for the whole node group, and for nodes that it grows by.

    :raises TooLarge: as :func:`pack_mig`.
    """
    best = pack_mig(gpu, nodes * gpus_per_node, asked)
    if best.unserved or nodes < 2 or node_cut(best, gpus_per_node) is not None:
        return best
    profile_of = _profiles_of(gpu, asked)
    profiles = tuple({p.name: p for p in profile_of.values()}.values())
    share = {name: math.ceil(count / nodes) for name, count in _demand(profile_of, asked).items()}
    alike = _assign(_best_cuts(profiles, gpus_per_node, share) * nodes, asked, profile_of)
    return best if alike.unserved else alike


def node_cut(packing: PackingPlan, gpus_per_node: int) -> NodeCut | None:
    """How each node is cut; None where nodes differ, or there are none. Which GPU of a node has which cut is free."""
    cuts = [dict(sorted(Counter(s.profile for s in slices).items())) for slices in packing.gpus]
    nodes = [
        tuple(sorted(cuts[first : first + gpus_per_node], key=lambda cut: sorted(cut.items()), reverse=True))
        for first in range(0, len(cuts), gpus_per_node)
    ]
    return nodes[0] if nodes and all(node == nodes[0] for node in nodes) else None


def on_nodes(packing: PackingPlan, gpu: Gpu, gpus_per_node: int, nodes: int, asked: tuple[Asked, ...]) -> PackingPlan:
    """What stands on ``nodes`` nodes that are cut like the first of ``packing``."""
    cuts: list[Placement] = [tuple((s.profile, s.start) for s in one) for one in packing.gpus[:gpus_per_node]]
    return _assign(cuts * nodes, asked, _profiles_of(gpu, asked))


def _profiles_of(gpu: Gpu, asked: tuple[Asked, ...]) -> dict[str, MigProfile]:
    """The profile of each model that one holds."""
    found = {each.model: smallest_profile(gpu, each.bytes_needed) for each in asked}
    return {model: profile for model, profile in found.items() if profile is not None}


def _demand(profile_of: dict[str, MigProfile], asked: tuple[Asked, ...]) -> dict[str, int]:
    """Asked instances by profile."""
    demand: dict[str, int] = {}
    for each in asked:
        if each.model in profile_of:
            name = profile_of[each.model].name
            demand[name] = demand.get(name, 0) + each.instances
    return demand


def _best_cuts(profiles: tuple[MigProfile, ...], gpu_count: int, demand: dict[str, int]) -> list[Placement]:
    names = tuple(sorted(p.name for p in profiles))
    ways = placements(profiles)
    counts = {key: tuple(key.count(name) for name in names) for key in ways}
    # A cut that another one contains is never better.
    keep = [
        key
        for key, count in counts.items()
        if not any(o != count and all(a <= b for a, b in zip(count, o, strict=True)) for o in counts.values())
    ]
    keep.sort()
    start = tuple(demand[name] for name in names)
    states = 1
    for asked in start:
        states *= min(asked, gpu_count * 7) + 1
    if states * max(1, min(gpu_count, sum(start) + 1)) > MOST_STATES:
        raise TooLarge(f"{states} open demands on {gpu_count} GPUs")
    most = max(sum(counts[key]) for key in keep)
    fullest = max(keep, key=lambda key: (sum(counts[key]), key))

    @cache
    def best(gpus_left: int, open_: tuple[int, ...]) -> tuple[int, int, tuple[str, ...] | None]:
        """(asked instances served, further instances, first cut) for the GPUs left."""
        if gpus_left == 0:
            return 0, 0, None
        if not any(open_):
            return 0, most * gpus_left, fullest
        options = []
        for key in keep:
            count = counts[key]
            served = sum(min(a, b) for a, b in zip(count, open_, strict=True))
            if not served:
                continue  # GPUs are alike, so those that serve what is asked come first; this bounds the depth
            rest = tuple(max(0, b - a) for a, b in zip(count, open_, strict=True))
            more_served, more_extra, _ = best(gpus_left - 1, rest)
            options.append((served + more_served, sum(count) - served + more_extra, key))
        return max(options, key=lambda o: (o[0], o[0] + o[1], o[2]))

    cuts: list[Placement] = []
    open_ = start
    for left in range(gpu_count, 0, -1):
        _, _, key = best(left, open_)
        assert key is not None
        cuts.append(ways[key])
        open_ = tuple(max(0, b - a) for a, b in zip(counts[key], open_, strict=True))
    return cuts


def _assign(cuts: list[Placement], wanted: tuple[Asked, ...], profile_of: dict[str, MigProfile]) -> PackingPlan:
    """Give every slice to the model of its profile that has least of what it asked."""
    served = {a.model: 0 for a in wanted if a.model in profile_of}
    asked = {a.model: a.instances for a in wanted if a.model in profile_of}
    unserved = {a.model: a.instances for a in wanted if a.model not in profile_of}
    gpus = []
    for cut in cuts:
        slices = []
        for profile, start in cut:
            candidates = [m for m in served if profile_of[m].name == profile]
            model = min(candidates, key=lambda m: (served[m] / asked[m], m))
            served[model] += 1
            slices.append(PackedSlice(model=model, profile=profile, start=start))
        gpus.append(tuple(sorted(slices, key=lambda s: s.start)))
    short = {m: asked[m] - n for m, n in served.items() if n < asked[m]}
    return PackingPlan(gpus=tuple(gpus), instances=served, unserved={**unserved, **short})


def pack_sleep(
    *,
    nodes: int,
    gpus_per_node: int,
    gpu_bytes: int,
    host_bytes_per_node: int,
    asked: tuple[Asked, ...],
    weights: dict[str, int],
    most_on_gpu: int,
) -> PackingPlan:
    """Serve the most (model, GPU) pairs on whole GPUs with vLLM sleep mode.

    :param gpu_bytes: what vLLM may use on one GPU.
    :param host_bytes_per_node: CPU memory that may hold sleeping weights.
    :param weights: weights in bytes by model; every resident instance may be asleep, so all of them must fit.
    :param most_on_gpu: engines of one GPU: each that sleeps keeps a little of it.
    """
    fits = [a for a in asked if a.bytes_needed <= gpu_bytes]
    unserved = {a.model: a.instances for a in asked if a.bytes_needed > gpu_bytes}
    if not nodes or not fits:
        unserved.update({a.model: a.instances for a in fits})
        return PackingPlan(gpus=tuple(() for _ in range(nodes * gpus_per_node)), instances={}, unserved=unserved)
    # Neither spreading nor filling up finds a place for all that is asked in every case; the better of both does more.
    resident, short = min(
        (
            _resident_sets(nodes, gpus_per_node, host_bytes_per_node, fits, weights, most_on_gpu, spread=s)
            for s in (True, False)
        ),
        key=lambda found: (sum(found[1].values()), -sum(sum(node.values()) for node in found[0])),
    )
    gpus: list[tuple[PackedSlice, ...]] = []
    for node in resident:
        lanes: list[list[str]] = [[] for _ in range(gpus_per_node)]
        for model in sorted(node, key=lambda m: (-node[m], m)):
            order = sorted(range(gpus_per_node), key=lambda i: (len(lanes[i]), i))
            for lane in order[: node[model]]:
                lanes[lane].append(model)
        gpus += [tuple(PackedSlice(model=m, profile="gpu", start=0) for m in sorted(lane)) for lane in lanes]
    instances: dict[str, int] = {a.model: sum(node.get(a.model, 0) for node in resident) for a in fits}
    return PackingPlan(gpus=tuple(gpus), instances=instances, unserved={**unserved, **short})


def _resident_sets(
    nodes: int,
    gpus_per_node: int,
    host_bytes: int,
    fits: list[Asked],
    weights: dict[str, int],
    most_on_gpu: int,
    *,
    spread: bool,
) -> tuple[list[dict[str, int]], dict[str, int]]:
    """Instances by model and node: first what is asked, largest first, then smallest models into what is left.

    :param spread: put each onto the emptiest node; otherwise onto the fullest that holds it.
    """
    left = [host_bytes] * nodes
    # Instances go to the GPU with the fewest, so that a node's are spread evenly.
    free = [most_on_gpu * gpus_per_node] * nodes
    sets: list[dict[str, int]] = [{} for _ in range(nodes)]
    short: dict[str, int] = {}

    def add(node: int, model: str, count: int) -> None:
        if count:
            sets[node][model] = sets[node].get(model, 0) + count
            left[node] -= count * weights[model]
            free[node] -= count

    for each in sorted(fits, key=lambda a: (-weights[a.model], a.model)):
        model, weight = each.model, weights[each.model]
        # While one model is placed only the node that took it changes, so a heap always knows the next one.
        room = [(-left[n] if spread else left[n], n) for n in range(nodes) if left[n] >= weight and free[n]]
        heapq.heapify(room)
        for missing in range(each.instances, 0, -1):
            if not room:
                short[model] = missing
                break
            _, node = heapq.heappop(room)
            add(node, model, 1)
            if left[node] >= weight and free[node] and sets[node][model] < gpus_per_node:
                heapq.heappush(room, (-left[node] if spread else left[node], node))
    for each in sorted(fits, key=lambda a: (weights[a.model], a.model)):
        weight = weights[each.model]
        for node in range(nodes):
            room_left = min(left[node] // weight, free[node])
            add(node, each.model, min(gpus_per_node - sets[node].get(each.model, 0), room_left))
    return sets, short
