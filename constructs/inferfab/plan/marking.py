"""The one marking plan of a RoCE fabric: switches, NICs, pods and checks read it, and nothing else says a DSCP.

Along a path the defaults disagree: NVIDIA's NIC operator answers congestion with DSCP 4, SONiC's own map takes DSCP 26
into a lossy class, Cumulus sends notifications with priority 6 and Broadcom's guides with 7. Each half works alone.
"""

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from inferfab.catalog.roce import roce
from inferfab.environment.cells import Cell, RoceFabric
from inferfab.record import Record

CongestionControl = Literal["dcqcn", "pfc_only", "provider"]
_IB_MTUS = (4096, 2048, 1024, 512, 256)


class Ecn(Record):
    """Where a leaf marks packets of the lossless queue."""

    min_bytes: PositiveInt
    max_bytes: PositiveInt
    mark_percent: PositiveInt


class SwitchMarking(Record):
    """What only fabrics have that we may set: classes and queues of the leaves. One number from priority to queue."""

    priority: PositiveInt
    """Of RoCE frames: also their traffic class, queue and priority group, and the one that PFC pauses."""
    cnp_dscp: NonNegativeInt
    cnp_priority: PositiveInt
    """Of congestion notifications: also their traffic class and queue, served first and not lossless."""
    ecn: Ecn | None
    """None: pauses alone slow senders."""
    mtu: PositiveInt
    """Of a leaf's ports."""
    lossless_packet_bytes: PositiveInt
    """Largest packet of the lossless class: InfiniBand's MTU with all headers."""


class Marking(Record):
    """How RoCE data is marked, at every hop the same."""

    dscp: NonNegativeInt
    traffic_class: NonNegativeInt
    """ToS byte: DSCP in the upper six bits, ECN-capable transport in the lower two."""
    mtu: PositiveInt
    """Of NICs and of pods' interfaces."""
    settable: bool
    """False where the fabric's owner marks and queues (Google)."""
    ib_mtu: PositiveInt = 4096
    """What one RDMA packet carries: the next power of two below the MTU without headers."""
    congestion_control: CongestionControl = "provider"
    switch: SwitchMarking | None = None
    """None where the fabric's owner queues."""

    @property
    def pods_traffic_class(self) -> int | None:
        """What UCX and NCCL are told; None where the fabric's owner marks by itself."""
        return self.traffic_class if self.settable else None


def ib_mtu(mtu: int) -> int:
    """InfiniBand's MTU on an Ethernet interface of that MTU."""
    return next((size for size in _IB_MTUS if size + roce("header_bytes") <= mtu), _IB_MTUS[-1])


def plan_marking(cell: Cell) -> Marking:
    """Of a cell whose fabric is RoCE."""
    asked = cell.fabric if isinstance(cell.fabric, RoceFabric) else RoceFabric(kind="roce")
    traffic_class = asked.dscp << 2 | 0b10
    if cell.racks is None:
        # Google's RoCE VPC takes one MTU and queues by itself (cluster-toolkit modules/network/gpu-rdma-vpc).
        mtu = roce("google_mtu")
        return Marking(dscp=asked.dscp, traffic_class=traffic_class, mtu=mtu, settable=False, ib_mtu=ib_mtu(mtu))
    mtu = asked.host_mtu or roce("host_mtu")
    stated = asked.ecn
    ecn = Ecn(
        min_bytes=stated.min_bytes if stated else roce("ecn_min_bytes"),
        max_bytes=stated.max_bytes if stated else roce("ecn_max_bytes"),
        mark_percent=stated.mark_percent if stated else roce("ecn_mark_percent"),
    )
    return Marking(
        dscp=asked.dscp,
        traffic_class=traffic_class,
        mtu=mtu,
        settable=True,
        ib_mtu=ib_mtu(mtu),
        congestion_control=asked.congestion_control,
        switch=SwitchMarking(
            priority=asked.priority,
            cnp_dscp=asked.cnp_dscp,
            cnp_priority=asked.cnp_priority,
            ecn=ecn if asked.congestion_control == "dcqcn" else None,
            mtu=asked.switch_mtu or roce("switch_mtu"),
            lossless_packet_bytes=ib_mtu(mtu) + roce("header_bytes"),
        ),
    )
