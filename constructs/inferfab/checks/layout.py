"""NICs of a node against its machine type, packet sizes along the path, and labels of closeness."""

from collections.abc import Iterator

import inferfab.checks.serving.devices  # noqa: F401 - enters IF-FAB-012, which judges plans too
from inferfab.catalog.instances import EfaNics, instances
from inferfab.catalog.limits import limit
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, on_plan, rule

_ROCE_PAYLOAD_BYTES = 4096
_ROCE_HEADERS_BYTES = 82
"""IPv4, UDP, InfiniBand transport headers and checks of a RoCE v2 packet, from above."""


@on_plan("IF-FAB-012")
def layouts_fit(facts: Facts) -> Iterator[Problem]:
    """What #1, #3 and #4 of the users' complaints have in common: a layout that the machine type refuses."""
    seen: set[str] = set()
    for group in facts.fleet.node_groups:
        machine = instances(group.cloud)[group.instance]
        slots = [(nic.card, nic.device) for nic in group.layout]
        wrong = ""
        if len(slots) != len(set(slots)):
            wrong = "two NICs of one card and device"
        elif group.layout and (group.layout[0].type not in ("interface", "gvnic") or slots[0] != (0, 0)):
            wrong = f"`{group.layout[0].type}` as its first NIC, which must be a plain interface"
        elif isinstance(machine.nics, EfaNics):
            cards = machine.nics.cards
            allowed = set(machine.nics.layout or ((0, 0, "interface"),))
            odd = next((n for n in group.layout if (n.card, n.device, n.type) not in allowed), None)
            if cards is not None and any(card >= cards for card, _ in slots):
                wrong = f"a NIC on card {max(c for c, _ in slots)}, of {cards} cards"
            elif odd is not None:
                wrong = f"`{odd.type}` at card {odd.card}, device {odd.device}, which AWS's layout does not have"
        elif sum(n.type == "mrdma" for n in group.layout) > machine.rdma_nic_count:
            wrong = f"more RDMA NICs than the {machine.rdma_nic_count} that it has"
        if wrong and group.pool not in seen:
            seen.add(group.pool)
            yield Problem(
                ("pools", group.pool), f"{group.instance} of `{group.name}` has {wrong}", "report it", of_key=True
            )


@rule(
    "IF-FAB-013",
    "packets larger than the path takes",
    joins=("cloud", "fabric"),
    why="RoCE drops what is larger than a hop's MTU without a word, and a smaller one halves the payload of each "
    "packet.",
    do="use one MTU from NIC to NIC, that of the network at most and room for 4,096 bytes of payload at least.",
    source="Google Cloud: RoCE VPC networks, MTU 8896 (cluster-toolkit modules/network/gpu-rdma-vpc); InfiniBand "
    "architecture: MTU of 256 to 4,096 bytes",
)
def packets_fit(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        marking = cell.fabric.marking
        if marking is None or marking.settable:
            continue  # in racks of one's own: IF-FAB-052
        most, least = limit("gcp_rdma_network_mtu"), _ROCE_PAYLOAD_BYTES + _ROCE_HEADERS_BYTES
        if marking.mtu > most:
            what = f"an MTU of {marking.mtu} on a network that takes {most}"
            yield Problem(("cells", cell.name, "fabric"), what, f"write at most {most}")
        elif marking.mtu < least:
            what = f"an MTU of {marking.mtu}, which holds no payload of {_ROCE_PAYLOAD_BYTES} bytes"
            yield Problem(("cells", cell.name, "fabric"), what, f"write at least {least}")


@rule(
    "IF-FAB-015",
    "a machine type that does not say where it stands",
    severity="info",
    joins=("cloud", "fabric", "cluster"),
    why="without a label of the network's layers the router cannot keep a transfer near, and prefill and decode may "
    "stand at opposite ends of the zone.",
    do="do not ask for `required` locality there; use a placement group or one reservation instead.",
    source="EC2: instance types that support instance topology; kubernetes/cloud-provider-aws#1103",
)
def locality_is_shown(facts: Facts) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for at in facts.roles():
        silent = at.group.cloud == "aws" and at.role.fabric.locality_layers is None
        if at.pool.kv_transfer is None or not silent or at.role.fabric.kind == "tcp":
            continue
        if (at.pool.name, at.group.instance) not in seen:
            seen.add((at.pool.name, at.group.instance))
            yield Problem(
                ("pools", at.pool.name),
                f"{at.group.instance} ({at.where}) reports no network layers, and `{at.pool.name}` moves KV cache "
                "between nodes",
                "rely on a placement group or one reservation for closeness",
                of_key=True,
            )
