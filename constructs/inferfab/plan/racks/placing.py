"""Which server serves what: each role is spread over the racks, so that every rack holds every role if it can."""

from collections.abc import Mapping, Sequence


def deal(racks: Mapping[str, Sequence[str]], wanted: Sequence[tuple[str, int]]) -> dict[str, str]:
    """Node group by server.

    Groups are dealt in turns, a server each, the largest need first left to last: a small role gets its place in every
    rack before a large one fills it. A server goes to the rack that has fewest of the group, then to the one with most
    room, then to the first.

    :param wanted: (node group, servers); what does not fit is left out, and the checks say so.
    """
    free = {rack: list(servers) for rack, servers in racks.items()}
    has = {group: dict.fromkeys(racks, 0) for group, _ in wanted}
    dealt: dict[str, str] = {}
    left = dict(sorted(wanted, key=lambda each: each[1]))
    order = list(racks)
    while any(left.values()):
        moved = False
        for group, count in left.items():
            open_racks = [rack for rack in order if free[rack]]
            if not count or not open_racks:
                continue
            rack = min(open_racks, key=lambda r: (has[group][r], -len(free[r]), order.index(r)))
            dealt[free[rack].pop(0)] = group
            has[group][rack] += 1
            left[group] = count - 1
            moved = True
        if not moved:
            break
    return dealt
