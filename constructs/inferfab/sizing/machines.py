"""Machines that a pool may stand on, and how many of them there are."""

from collections.abc import Callable, Sequence

from inferfab.catalog.instances import InstanceType, instances
from inferfab.environment.capacity import OnDemand
from inferfab.environment.environment import Environment
from inferfab.environment.pools import Pool
from inferfab.plan.cost import HourlyPrice, hourly_price
from inferfab.plan.fleet import CellPlan


def machine_of(environment: Environment, cell: CellPlan, name: str) -> InstanceType:
    return instances(environment.cells[cell.name].machines)[name]


def machines_for(
    environment: Environment, cell: CellPlan, asked: Pool, *, gpus: Sequence[str] = (),
    able: Callable[[InstanceType], bool] = lambda _: True,
) -> list[str]:  # fmt: skip
    """The pool's own machine, and the cheapest with each number of each GPU; on owned racks theirs, and no other.

    :param gpus: to look at; empty: all.
    """
    racks = environment.cells[cell.name].racks
    if racks is not None:
        return [racks.machine] if not gpus or instances("racks")[racks.machine].gpu in gpus else []
    best: dict[tuple[str, int], tuple[float, str]] = {}
    for name, machine in instances(cell.cloud).items():
        if (gpus and machine.gpu not in gpus) or not able(machine):
            continue
        price = hourly_price(cell.cloud, cell.region, name, OnDemand(), environment.prices.overlay).usd.high
        if price is None:
            continue
        key = machine.gpu, machine.gpu_count
        best[key] = min(best.get(key, (price, name)), (price, name))
    own = [asked.instance] if asked.instance and not gpus else []
    return list(dict.fromkeys([*own, *(name for _, name in sorted(best.values()))]))


def nodes_there(cell: CellPlan, pool: str) -> int | None:
    """Servers of owned racks that no other pool has at its desired size; None where nodes can be bought."""
    if cell.racks is None:
        return None
    return len(cell.racks.servers) - sum(g.nodes.desired for g in cell.node_groups if g.pool != pool)


def no_more(there: int) -> str:
    """Why the next larger size is not tried."""
    return f"the racks have {there} servers for it, and not one more"


def priced_in_words(price: HourlyPrice) -> str:
    """Where it comes from, and what decides without one."""
    words = f"{price.kind}: {price.how}"
    return f"{words}; without a price the fewest nodes are the best" if price.unknown else words


def why_no_machine(environment: Environment, cell: CellPlan, pool: str, gpus: Sequence[str], spare: int) -> str:
    """One sentence where a pool on owned racks cannot be sized at all; empty if it can."""
    racks, there = environment.cells[cell.name].racks, nodes_there(cell, pool)
    if racks is None or there is None:
        return ""
    gpu = instances("racks")[racks.machine].gpu
    if gpus and gpu not in gpus:
        return f"the racks of {cell.name} are {racks.machine} with {gpu}, and --gpu names others"
    if there < 1 + spare:
        return (
            f"the other pools of {cell.name} leave {there} of its servers, and with {spare} that may be away it takes "
            f"{1 + spare}"
        )
    return ""
