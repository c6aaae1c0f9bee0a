"""The marking plan, and what leaves and other traffic take from a transfer."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.cells import RoceFabric
from inferfab.plan.kv_transfer import JITTER_BUDGET_MS
from inferfab.plan.marking import ib_mtu

_OURS = ("priority", "cnp_dscp", "cnp_priority", "congestion_control", "ecn", "host_mtu", "switch_mtu")


@rule(
    "IF-FAB-050",
    "marks that cannot be told apart",
    stage="reference",
    joins=("environment", "fabric"),
    why="a congestion notification in the class of the data waits behind what it should slow down, and a switch maps a "
    "DSCP once.",
    do="give data and notifications a DSCP and a priority each.",
    source="RoCEv2 congestion management; SONiC DSCP_TO_TC_MAP",
)
def marks_differ(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        fabric = cell.fabric
        if not isinstance(fabric, RoceFabric) or cell.racks is None:
            continue
        if fabric.dscp == fabric.cnp_dscp:
            path = ("cells", name, "fabric", "dscp" if "dscp" in fabric.model_fields_set else "cnp_dscp")
            yield Problem(path, f"data and notifications have DSCP {fabric.dscp}", "write another one")
        if fabric.priority == fabric.cnp_priority:
            field = "priority" if "priority" in fabric.model_fields_set else "cnp_priority"
            yield Problem(
                ("cells", name, "fabric", field),
                f"data and notifications have priority {fabric.priority}",
                "write another one",
            )


@rule(
    "IF-FAB-051",
    "KV cache that leaves or other traffic hold up",
    joins=("fabric", "promise"),
    why="the NICs alone would keep the promise; between them the leaves carry less than they do, or other traffic "
    "takes its part, and the first token waits.",
    do="add uplinks, plug the servers into one leaf, or give other traffic NICs of its own.",
    source="arithmetic of the plan; efficiency: Mooncake, 190 GB/s of 8 x 400 Gbit/s",
)
def path_keeps_budget(facts: Facts) -> Iterator[Problem]:
    for cell in facts.fleet.cells:
        for pool in cell.pools:
            t = pool.kv_transfer
            if t is None or t.keeps_budget or t.needed_gbps is None or cell.racks is None:
                continue
            alone = t.line_gbps * t.efficiency
            if t.needed_gbps > alone:
                continue  # IF-FAB-002
            taken = [
                f"leaves are oversubscribed {t.oversubscription:.2g} : 1" if t.oversubscription > 1 else "",
                f"a burst of other traffic leaves {t.shared_part:.0%}" if t.shared_part < 1 else "",
            ]
            yield Problem(
                ("cells", cell.name, "racks"),
                f"{pool.name}: {t.bytes_per_request / 1e6:,.0f} MB for {t.prompt_tokens:,} tokens in "
                f"{t.budget_ms or 0:,.0f} ms ask for {t.needed_gbps:,.0f} Gbit/s; of {alone:,.0f} Gbit/s "
                f"{t.available_gbps:,.0f} are left ({' and '.join(w for w in taken if w)}); a burst of 1 GB on a rail "
                f"takes {t.burst_ms:,.0f} ms, {t.burst_share_of_jitter_budget:.1f} times the {JITTER_BUDGET_MS:g} ms "
                "of jitter",
                "add uplinks until they carry what the servers send"
                if t.oversubscription > 1
                else "give storage NICs of its own and write `storage_on_rails: false`",
                of_key=True,
            )


@rule(
    "IF-FAB-052",
    "an MTU that shrinks along the path",
    stage="reference",
    joins=("environment", "fabric"),
    why="RDMA does not fragment: packets larger than a port's MTU are dropped there, and a small MTU halves what a "
    "packet carries.",
    do="let the leaves' ports take what the NICs send, and the NICs at least 4192 bytes.",
    source="SONiC PORT mtu; Linux iboe_get_mtu",
)
def mtu_holds(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        fabric = cell.fabric
        if not isinstance(fabric, RoceFabric) or cell.racks is None:
            continue
        host, port = fabric.host_mtu or 9000, fabric.switch_mtu or 9216
        if host > port:
            field = "host_mtu" if fabric.host_mtu else "switch_mtu"
            yield Problem(
                ("cells", name, "fabric", field),
                f"NICs send {host} bytes, the leaves' ports take {port}",
                f"write `switch_mtu: {host}` or more" if host <= 9216 else f"write `host_mtu: {port}`",
            )
        elif ib_mtu(host) < 4096:
            yield Problem(
                ("cells", name, "fabric", "host_mtu"),
                f"an MTU of {host} carries InfiniBand packets of {ib_mtu(host)} bytes only",
                "write 9000, or leave it out",
                severity="warning",
            )


@rule(
    "IF-FAB-053",
    "marks that nobody sets",
    severity="warning",
    stage="reference",
    joins=("environment", "cloud", "fabric"),
    why="Google marks, queues and sizes its RoCE network by itself; the value would be read by nothing.",
    do="remove it.",
    source="Google Cloud: RDMA network profiles",
)
def marks_are_read(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        if not isinstance(cell.fabric, RoceFabric):
            continue
        unread = _OURS if cell.racks is None else ("attach",)
        for field in sorted(cell.fabric.model_fields_set & set(unread)):
            why = "on Google Cloud" if cell.racks is None else "on racks; `racks.attach` says it there"
            yield Problem(("cells", name, "fabric", field), f"`{field}` has no effect {why}", "remove it", of_key=True)


@rule(
    "IF-FAB-054",
    "pauses alone between leaves",
    severity="warning",
    stage="reference",
    joins=("environment", "fabric"),
    why="without marks a slow receiver stops its leaf, the leaf stops the next, and senders that have nothing to do "
    "with it wait too.",
    do="use `congestion_control: dcqcn`, or one leaf.",
    source="SIGCOMM'24, RDMA over Ethernet for training at Meta (as summarised); PFC storms",
)
def pauses_stay_on_a_leaf(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        if cell.racks is None or not isinstance(cell.fabric, RoceFabric):
            continue
        if cell.fabric.congestion_control == "pfc_only" and len(cell.racks.leaves) > 1:
            yield Problem(
                ("cells", name, "fabric", "congestion_control"),
                f"`pfc_only` on {len(cell.racks.leaves)} leaves",
                "write `dcqcn`, or leave it out",
            )
