"""How near prefill, decode and gateway of a request are, and which part of that is certain."""

import math
from typing import Literal

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from inferfab.catalog.limits import limit
from inferfab.environment.cells import Cell
from inferfab.plan.fabric import LOCALITY_LABELS
from inferfab.plan.observed import ReservedLocality
from inferfab.plan.pools import PoolPlan
from inferfab.record import Record

_BYTES_PER_PROMPT_TOKEN = 6
"""Of JSON text in a request. Estimate: 4 letters a token, quotes and escapes."""
_BYTES_PER_ANSWER_TOKEN = 250
"""Of one chunk of a streamed answer. Estimate: an OpenAI chunk with its headers."""
_FEWEST_CONNECTIONS = 2
"""From each gateway to each frontend: one may be closed while another opens."""


Known = Literal["at plan time", "after launch, or before it from a reservation (preflight)", "not at all"]


class FlowPlan(Record):
    """Connections between a gateway and the frontends that it feeds."""

    single_flow_gbps: PositiveFloat | None
    """What one TCP connection carries at most; None where the platform has no limit below the NIC's rate."""
    busiest_gbps: NonNegativeFloat
    """Of all requests and answers of the cell when its workers are fully busy. Estimate."""
    connections: PositiveInt
    """From each gateway to its frontends, together."""


class LocalityPlan(Record):
    """Closeness in one cell."""

    label: str
    """Node label that tells it."""
    known: Known
    guaranteed: tuple[str, ...]
    preferred: tuple[str, ...]
    flows: FlowPlan
    before_launch: tuple[ReservedLocality, ...] = ()
    """Pools whose reservation tells where their nodes will stand. Empty without what `preflight` saw."""


def plan_locality(cell: Cell, pools: tuple[PoolPlan, ...], *, complete: bool, gateways: int) -> LocalityPlan:
    """:param complete: every rack holds every role even at the smallest size; of owned racks only."""
    moving = [pool for pool in pools if pool.kv_transfer is not None]
    if cell.racks is not None:
        stays = "prefill and decode of a request in one rack"
        guaranteed = ["requests stay in the cell", "gateways pinned to each rack"]
        preferred = ["a gateway's frontends in its own rack, then in the nearest that has some"]
        if moving:
            (guaranteed if complete and all(p.locality != "none" for p in moving) else preferred).append(stays)
        known: Known = "at plan time"
    else:
        guaranteed = ["all nodes of the cell in one zone"]
        sees = cell.cloud == "gcp" or any(r.fabric.locality_layers for p in pools for r in p.roles)
        known = "after launch, or before it from a reservation (preflight)" if sees else "not at all"
        preferred = ["decode near its prefill, by the platform's label"] if moving and sees else []
        preferred.append("gateways and frontends on different nodes")
    return LocalityPlan(
        label=LOCALITY_LABELS[cell.machines],
        known=known,
        guaranteed=tuple(guaranteed),
        preferred=tuple(preferred),
        flows=_flows(cell, pools, gateways),
    )


def _flows(cell: Cell, pools: tuple[PoolPlan, ...], gateways: int) -> FlowPlan:
    busiest = 0.0
    for pool in pools:
        each = (
            pool.workload.prompt_tokens * _BYTES_PER_PROMPT_TOKEN
            + pool.workload.output_tokens * _BYTES_PER_ANSWER_TOKEN
        )
        busiest += (pool.requests_per_second.high or pool.requests_per_second.low) * each * 8 / 1e9
    flow = float(limit("aws_single_flow_gbps")) if cell.machines == "aws" else None
    needed = math.ceil(busiest / max(1, gateways) / flow) if flow else 1
    return FlowPlan(single_flow_gbps=flow, busiest_gbps=busiest, connections=max(_FEWEST_CONNECTIONS, needed))
