"""Several models on the same GPUs: NVIDIA's documented MIG combinations, and exhaustive search on
small cases."""

from collections import Counter
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfab.catalog.gpus import Gpu, MigProfile, gpus
from inferfab.plan.packing import (
    Asked,
    PackingPlan,
    TooLarge,
    node_cut,
    on_nodes,
    pack_mig,
    pack_mig_nodes,
    pack_sleep,
    placements,
    smallest_profile,
)
from strategies import cheap, quick

GIB = 2**30
A100, H100, RTX = gpus()["a100-80gb"], gpus()["h100"], gpus()["rtx-pro-6000"]


def profiles(gpu: Gpu, *names: str) -> tuple[MigProfile, ...]:
    found = tuple(p for p in gpu.mig_profiles if p.name in names)
    assert len(found) == len(names)
    return found


def asked(*rows: tuple[str, float, int]) -> tuple[Asked, ...]:
    return tuple(Asked(model=m, bytes_needed=int(gib * GIB), instances=n) for m, gib, n in rows)


def test_combinations_are_nvidias() -> None:
    """MIG user guide, supported profile combinations of A100 and H100 (without 1g.20gb), and every
    part of one."""
    documented = [
        "7",
        "43",
        "421",
        "4111",
        "33",
        "321",
        "3111",
        "322",
        "3211",
        "31111",
        "2221",
        "22111",
        "211111",
        "1111111",
    ]
    expected = {()} | {
        tuple(sorted(f"{c}g" for c in part))
        for whole in documented
        for size in range(1, len(whole) + 1)
        for part in combinations(whole, size)
    }
    names = ("1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")
    for gpu in (A100, H100):
        got = {tuple(sorted(n.split(".")[0] for n in key)) for key in placements(profiles(gpu, *names))}
        assert got == expected


def test_one_gpu_holds() -> None:
    """Seven 1g, four 1g.20gb (two memory slices each of eight), 2g three times and a 1g, 4g and 3g, 3g
    twice."""
    keys = set(placements(H100.mig_profiles))
    for names in (
        ["1g.10gb"] * 7,
        ["1g.20gb"] * 4,
        ["2g.20gb"] * 3 + ["1g.10gb"],
        ["2g.20gb"] * 3 + ["1g.20gb"],
        ["4g.40gb", "3g.40gb"],
        ["3g.40gb"] * 2,
    ):
        assert tuple(sorted(names)) in keys, names
    for names in (["1g.10gb"] * 8, ["1g.20gb"] * 5, ["4g.40gb"] * 2, ["3g.40gb"] * 3, ["7g.80gb", "1g.10gb"]):
        assert tuple(sorted(names)) not in keys, names


def test_rtx_pro_6000_has_four_slices() -> None:
    """MIG guide: 4 x 1g.24gb, 2 x 2g.48gb, 1 x 4g.96gb, and mixtures of one 2g with two 1g."""
    keys = set(placements(RTX.mig_profiles))
    assert {("1g.24gb",) * 4, ("2g.48gb",) * 2, ("4g.96gb",), ("1g.24gb", "1g.24gb", "2g.48gb")} <= keys
    assert ("1g.24gb",) * 5 not in keys


def test_smallest_profile() -> None:
    """H100: 1g.10gb sees 9,984 MiB; one byte more takes the 1g.20gb, which needs less compute than the
    2g.20gb."""
    edge = 9984 * 2**20
    assert smallest_profile(H100, edge) == profiles(H100, "1g.10gb")[0]
    assert smallest_profile(H100, edge + 1) == profiles(H100, "1g.20gb")[0]
    assert smallest_profile(H100, 81 * GIB) is None


def test_room_left_goes_to_further_instances() -> None:
    """Asked 3g once and 1g once on one H100: 3g + four 1g serve five, more than 3g + 3g or seven 1g
    without a 3g."""
    got = pack_mig(H100, 1, asked(("large", 30, 1), ("small", 8, 1)))
    assert got.instances == {"large": 1, "small": 4}
    assert not got.unserved


def test_too_large_for_any_profile_is_unserved() -> None:
    """A model that no slice holds is told as unserved; the others still stand."""
    got = pack_mig(H100, 1, asked(("huge", 200, 2), ("small", 8, 1)))
    assert got.unserved == {"huge": 2}
    assert got.instances["small"] == 7
    alone = pack_mig(H100, 2, asked(("huge", 200, 2)))
    assert (alone.gpus, alone.unserved, alone.total) == (((), ()), {"huge": 2}, 0)


def test_a_gpu_without_mig_serves_nothing() -> None:
    """An L40S cannot be partitioned."""
    assert pack_mig(gpus()["l40s"], 4, asked(("small", 8, 1))).unserved == {"small": 1}


def test_equal_profiles_share_by_what_was_asked() -> None:
    """Two models in 1g slices of two GPUs: 14 slices; asked 2 and 5, both served in about that proportion."""
    got = pack_mig(H100, 2, asked(("a", 8, 2), ("b", 8, 5)))
    assert got.instances == {"a": 4, "b": 10}


def test_too_large_is_raised() -> None:
    """Five profiles with hundreds of instances each are refused at once instead of searched for hours."""
    many = asked(("a", 9, 300), ("b", 15, 300), ("c", 30, 300), ("d", 70, 300))
    with pytest.raises(TooLarge):
        pack_mig(H100, 800, many)


def test_many_gpus_with_little_demand() -> None:
    """Thousands of GPUs for two asked instances are no deeper a search than two GPUs."""
    got = pack_mig(H100, 4000, asked(("large", 30, 1), ("small", 8, 1)))
    assert got.total > 4000 * 6
    assert not got.unserved


# -- independent exhaustive search


@cache
def cuts(names: tuple[str, ...], gpu_id: str) -> frozenset[tuple[int, ...]]:
    """Counts by profile of every way to cut one GPU, found by going through all sets of (profile, start)."""
    slots = [(i, p, s) for i, p in enumerate(profiles(gpus()[gpu_id], *names)) for s in p.starts]
    found = set()

    def go(position: int, mask: int, compute: int, counts: tuple[int, ...]) -> None:
        found.add(counts)
        for next_ in range(position, len(slots)):
            i, profile, start = slots[next_]
            bits = ((1 << profile.memory_slices) - 1) << start
            if not mask & bits and compute + profile.compute_slices <= 7:
                more = tuple(c + (j == i) for j, c in enumerate(counts))
                go(next_ + 1, mask | bits, compute + profile.compute_slices, more)

    go(0, 0, 0, (0,) * len(names))
    return frozenset(found)


def best_by_hand(gpu_id: str, count: int, wanted: tuple[Asked, ...]) -> tuple[int, int]:
    """(asked instances served, all instances) of the best packing."""
    gpu = gpus()[gpu_id]
    demand: Counter[str] = Counter()
    for each in wanted:
        holding = [p for p in gpu.mig_profiles if p.memory_mib * 2**20 >= each.bytes_needed]
        if holding:
            # Least memory, then least compute: it may stand wherever a larger one may.
            demand[min(holding, key=lambda p: (p.memory_mib, p.compute_slices)).name] += each.instances
    names = tuple(p.name for p in gpu.mig_profiles if p.name in demand)
    if not names:
        return 0, 0
    best = (0, 0)
    for combination in combinations_with_replacement(cuts(names, gpu_id), count):
        total = [sum(column) for column in zip(*combination, strict=True)]
        served = sum(min(n, demand[name]) for n, name in zip(total, names, strict=True))
        best = max(best, (served, sum(total)))
    return best


def assert_sound(gpu: Gpu, plan: PackingPlan, wanted: tuple[Asked, ...]) -> None:
    """No slice overlaps another or starts where it may not; seven compute slices; memory holds the model."""
    by_name = {p.name: p for p in gpu.mig_profiles}
    needed = {a.model: a.bytes_needed for a in wanted}
    placed: Counter[str] = Counter()
    for slices in plan.gpus:
        taken: list[int] = []
        for s in slices:
            profile = by_name[s.profile]
            assert s.start in profile.starts
            assert profile.memory_mib * 2**20 >= needed[s.model]
            taken += range(s.start, s.start + profile.memory_slices)
            placed[s.model] += 1
        assert len(taken) == len(set(taken))
        assert all(0 <= t < 8 for t in taken)
        assert sum(by_name[s.profile].compute_slices for s in slices) <= 7
    assert placed == Counter({m: n for m, n in plan.instances.items() if n})
    for each in wanted:
        assert plan.instances.get(each.model, 0) + plan.unserved.get(each.model, 0) >= each.instances


wanted_models = st.lists(
    st.tuples(st.sampled_from((5, 9, 15, 30, 38, 60, 90)), st.integers(1, 6)), min_size=1, max_size=3
).map(lambda rows: asked(*((f"m{i}", gib, n) for i, (gib, n) in enumerate(rows))))


@quick
@given(st.sampled_from(("a100-80gb", "h100", "rtx-pro-6000")), st.integers(1, 2), wanted_models)
def test_pack_mig_is_the_best(gpu_id: str, count: int, wanted: tuple[Asked, ...]) -> None:
    """Everything asked if that is possible, as much of it as possible otherwise, and then the most in
    total."""
    got = pack_mig(gpus()[gpu_id], count, wanted)
    assert_sound(gpus()[gpu_id], got, wanted)
    served = sum(min(got.instances.get(a.model, 0), a.instances) for a in wanted)
    assert (served, got.total) == best_by_hand(gpu_id, count, wanted)


def test_pack_mig_on_three_gpus() -> None:
    """Three GPUs, three profiles, against the exhaustive search."""
    wanted = asked(("a", 38, 2), ("b", 15, 3), ("c", 5, 4))
    got = pack_mig(H100, 3, wanted)
    assert_sound(H100, got, wanted)
    served = sum(min(got.instances[a.model], a.instances) for a in wanted)
    assert (served, got.total) == best_by_hand("h100", 3, wanted)


# -- sleep


def sleep(
    wanted: tuple[Asked, ...],
    weights: dict[str, int],
    *,
    nodes: int = 1,
    gpus_: int = 4,
    host: int = 100,
    gpu: int = 90 * GIB,
    most: int = 32,
) -> PackingPlan:
    return pack_sleep(
        nodes=nodes,
        gpus_per_node=gpus_,
        gpu_bytes=gpu,
        host_bytes_per_node=host,
        asked=wanted,
        weights=weights,
        most_on_gpu=most,
    )


def test_engines_of_a_gpu_are_limited() -> None:
    """Two GPUs of two engines hold what is asked once of three models and one more, the first of equals; with one
    engine each the third model finds no place.
    """
    three = asked(("a", 1, 1), ("b", 1, 1), ("c", 1, 1))
    got = sleep(three, {"a": 1, "b": 1, "c": 1}, gpus_=2, most=2)
    assert got.instances == {"a": 2, "b": 1, "c": 1}
    assert [len(lane) for lane in got.gpus] == [2, 2]
    assert sum(sleep(three, {"a": 1, "b": 1, "c": 1}, gpus_=2, most=1).unserved.values()) == 1


def test_sleep_by_hand() -> None:
    """Host memory 100, models of 30 and 10 asked once each, two GPUs: 30 + 2 x 10 leave 50, so a
    second 30 stands too."""
    got = sleep(asked(("a", 1, 1), ("b", 1, 1)), {"a": 30, "b": 10}, gpus_=2)
    assert got.instances == {"a": 2, "b": 2}
    got = sleep(asked(("a", 1, 1), ("b", 1, 1)), {"a": 30, "b": 10}, gpus_=8)
    assert got.instances == {"a": 1, "b": 7}


def test_sleep_larger_than_a_gpu() -> None:
    """A model that no GPU holds is unserved."""
    got = sleep(asked(("a", 100, 2), ("b", 1, 1)), {"a": 1, "b": 1})
    assert got.unserved == {"a": 2}


def test_sleep_without_nodes() -> None:
    """A pool that starts with no nodes serves nothing yet."""
    assert sleep(asked(("a", 1, 2)), {"a": 1}, nodes=0).unserved == {"a": 2}


sleeping = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 5)), min_size=1, max_size=3)


@cheap
@given(sleeping, st.integers(1, 3), st.integers(1, 4))
def test_sleep_is_sound(rows: list[tuple[int, int]], nodes: int, per_node: int) -> None:
    """Host memory is never exceeded on a node, a model stands at most once on a GPU, nothing gets lost."""
    wanted = asked(*((f"m{i}", 1, n) for i, (_, n) in enumerate(rows)))
    weights = {f"m{i}": w for i, (w, _) in enumerate(rows)}
    got = sleep(wanted, weights, nodes=nodes, gpus_=per_node)
    assert len(got.gpus) == nodes * per_node
    for node in range(nodes):
        lanes = got.gpus[node * per_node : (node + 1) * per_node]
        assert sum(weights[s.model] for lane in lanes for s in lane) <= 100
        assert all(len({s.model for s in lane}) == len(lane) for lane in lanes)
    placed = Counter(s.model for lane in got.gpus for s in lane)
    assert placed == Counter({m: n for m, n in got.instances.items() if n})
    for each in wanted:
        assert got.unserved.get(each.model, 0) == max(0, each.instances - got.instances[each.model])


@cheap
@given(sleeping, st.integers(1, 4))
def test_sleep_on_one_node_is_the_best(rows: list[tuple[int, int]], per_node: int) -> None:
    """Everything asked stands if it can, and then no other choice serves more instances."""
    wanted = asked(*((f"m{i}", 1, n) for i, (_, n) in enumerate(rows)))
    weights = {f"m{i}": w for i, (w, _) in enumerate(rows)}
    got = sleep(wanted, weights, gpus_=per_node)
    least = [a.instances for a in wanted]
    possible = [
        counts
        for counts in product(range(per_node + 1), repeat=len(rows))
        if all(n >= m for n, m in zip(counts, least, strict=True))
        and sum(n * w for n, (w, _) in zip(counts, rows, strict=True)) <= 100
    ]
    if possible:
        assert not got.unserved
        assert got.total == max(map(sum, possible))


def test_sleep_asked_that_fits_two_nodes_stands() -> None:
    """2 x 50, 40 and 2 x 30 fill two nodes of 100 exactly (50 + 50, 40 + 30 + 30)."""
    got = sleep(asked(("a", 1, 2), ("b", 1, 1), ("c", 1, 2)), {"a": 50, "b": 40, "c": 30}, nodes=2)
    assert not got.unserved


def test_nodes_are_cut_alike_where_that_serves_all_that_is_asked() -> None:
    """One label names one layout: 4 instances of 30 GiB and 4 of 8 GiB on two nodes of two GPUs stand in one."""
    wanted = asked(("large", 30, 4), ("small", 8, 4))
    got = pack_mig_nodes(H100, 2, 2, wanted)
    cut = node_cut(got, 2)
    assert not got.unserved and cut is not None
    assert sum(gpu.get("3g.40gb", 0) for gpu in cut) >= 2
    assert node_cut(got, 2) == node_cut(on_nodes(got, H100, 2, 1, wanted), 2)


def test_nodes_stay_unlike_where_only_that_serves_all_that_is_asked() -> None:
    """A whole GPU for one model and slices for another: on one-GPU nodes there is no common cut."""
    wanted = asked(("large", 70, 1), ("small", 8, 5))
    got = pack_mig_nodes(H100, 2, 1, wanted)
    assert not got.unserved
    assert node_cut(got, 1) is None
    # On one node with both GPUs it is a layout like any other.
    assert node_cut(pack_mig_nodes(H100, 1, 2, wanted), 2) is not None


def test_the_fewest_nodes_keep_their_cut() -> None:
    """Scaling in takes nodes away and cuts none again."""
    wanted = asked(("a", 8, 2), ("b", 8, 10))
    two = pack_mig_nodes(H100, 2, 1, wanted)
    one = on_nodes(two, H100, 1, 1, wanted)
    assert [s.profile for s in one.gpus[0]] == [s.profile for s in two.gpus[0]]
    assert one.total == two.total // 2
