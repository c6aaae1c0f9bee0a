"""Leaf switches: what is plugged into which port, and how much more comes in than can leave."""

from typing import Literal

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from inferfab.environment.racks import Leaf, Racks
from inferfab.plan.racks.cables import cabling
from inferfab.plan.racks.headroom import LosslessBuffer, plan_buffer
from inferfab.record import Record


class LeafPort(Record):
    """One port that carries RoCE."""

    port: str
    kind: Literal["server", "uplink"]
    to: str
    """``server rail n``, or ``uplink``."""
    gbps: PositiveInt
    length_m: PositiveFloat


class LeafPlan(Record):
    """One leaf."""

    name: str
    platform: str
    hwsku: str
    ports: tuple[LeafPort, ...]
    buffers: tuple[LosslessBuffer, ...]
    """One for each speed of its ports, for the longest cable of that speed."""
    server_gbps: NonNegativeFloat
    uplink_gbps: NonNegativeFloat

    @property
    def oversubscription(self) -> float | None:
        """Line rate of its servers over that of its uplinks; None without uplinks."""
        return self.server_gbps / self.uplink_gbps if self.uplink_gbps else None

    def buffer(self, port: LeafPort) -> LosslessBuffer | None:
        return next((b for b in self.buffers if b.gbps == port.gbps), None)


def plan_leaf(name: str, leaf: Leaf, racks: Racks, nic_gbps: int, *, lossless_mtu: int) -> LeafPlan:
    ports = [
        LeafPort(port=port, kind="server", to=f"{server} rail {rail}", gbps=nic_gbps, length_m=metres)
        for server, rails in cabling(racks).items()
        for rail, (on, port, metres) in enumerate(rails)
        if on == name
    ]
    if leaf.uplinks is not None:
        up = leaf.uplinks
        ports += [
            LeafPort(port=port, kind="uplink", to="uplink", gbps=up.gbps, length_m=up.length_m) for port in up.ports
        ]
    longest: dict[int, float] = {}
    for each in ports:
        longest[each.gbps] = max(longest.get(each.gbps, 0.0), each.length_m)
    made = [
        plan_buffer(leaf.platform, leaf.hwsku, gbps, metres, lossless_mtu=lossless_mtu)
        for gbps, metres in sorted(longest.items())
    ]
    return LeafPlan(
        name=name,
        platform=leaf.platform,
        hwsku=leaf.hwsku,
        ports=tuple(ports),
        buffers=tuple(b for b in made if b is not None),
        server_gbps=sum(p.gbps for p in ports if p.kind == "server"),
        uplink_gbps=sum(p.gbps for p in ports if p.kind == "uplink"),
    )
