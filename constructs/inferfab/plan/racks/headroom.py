"""Buffer of a lossless priority group: what arrives between the decision to pause and the pause.

A vendor's table where the catalog has one for the switch's SKU; else Mellanox's formula, as a lower bound: the tables
of SN5600 hold 3 to 14 % more than it gives, and another vendor's pipeline is another one.
"""

import math
from typing import Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from inferfab.catalog.switches import Asic, platforms, switch_file, table_row
from inferfab.record import Record

_METRES_PER_SECOND = 198_000_000
"""Of a signal in a cable (sonic-swss cfgmgr/buffer_headroom_mellanox.lua)."""
_PORT_MTU = 9100
"""The script's own default for ports that state none."""


class LosslessBuffer(Record):
    """BUFFER_PROFILE of one kind of port, bytes."""

    gbps: PositiveInt
    length_m: PositiveFloat
    """The longest cable of such a port."""
    table_metres: PositiveInt
    """Length that SONiC is told: the table's, or the cable's rounded up."""
    size: NonNegativeInt
    xon: NonNegativeInt
    xoff: PositiveInt
    dynamic_th: int
    xon_offset: NonNegativeInt | None = None
    basis: Literal["vendor table", "formula"]
    formula_xoff: NonNegativeInt | None
    """The formula's lower bound; None where its constants for the ASIC are not known."""


def formula(
    asic: Asic, gbps: int, metres: float, *, lossless_mtu: int, port_mtu: int = _PORT_MTU, lanes: int = 4
) -> tuple[int, int, int]:
    """(size, xon, xoff) of buffer_headroom_mellanox.lua with small packets only and without a shared pool."""
    kib = 1024
    pipeline = asic.pipeline_kib * kib
    speed_overhead = 0
    if lanes == 8:
        pipeline, speed_overhead = pipeline * 2 - kib, port_mtu
    cell = asic.cell_bytes
    occupancy = cell / 64 if cell > 128 else 2 * cell / (1 + cell)
    peer = switch_file().pause_quanta[gbps] * 512 / 8
    cable = 2 * metres * gbps * 1000 * 1_000_000_000 / _METRES_PER_SECOND / (8 * kib)
    propagation = port_mtu + cable + asic.mac_phy_kib * kib + peer
    xoff = math.ceil((lossless_mtu + propagation * occupancy) / kib) * kib
    xon = math.ceil(pipeline / kib) * kib
    return math.ceil((xoff + xon + speed_overhead) / kib) * kib, xon, xoff


def plan_buffer(platform: str, hwsku: str, gbps: int, metres: float, *, lossless_mtu: int) -> LosslessBuffer | None:
    """None where neither a table nor a formula is known for the switch; the checks say so."""
    model = platforms().get(platform)
    asic = switch_file().asics[model.asic] if model is not None and model.asic is not None else None
    bound = None
    if asic is not None and model is not None and gbps in switch_file().pause_quanta:
        lanes = max(1, model.lanes * gbps // model.port_gbps)
        bound = formula(asic, gbps, metres, lossless_mtu=lossless_mtu, lanes=lanes)
    row = table_row(hwsku, gbps, metres)
    if row is not None:
        return LosslessBuffer(
            gbps=gbps, length_m=metres, table_metres=row.metres, size=row.size, xon=row.xon, xoff=row.xoff,
            dynamic_th=row.dynamic_th, xon_offset=row.xon_offset, basis="vendor table",
            formula_xoff=bound[2] if bound else None,
        )  # fmt: skip
    if bound is None:
        return None
    size, xon, xoff = bound
    return LosslessBuffer(
        gbps=gbps, length_m=metres, table_metres=math.ceil(metres), size=size, xon=xon, xoff=xoff, dynamic_th=0,
        basis="formula", formula_xoff=xoff,
    )  # fmt: skip
