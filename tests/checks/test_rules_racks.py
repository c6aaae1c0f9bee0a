"""Rules of owned racks, of the marking plan, and of Google's RDMA NICs: one that fails and one that passes each."""

from collections.abc import Iterator
from pathlib import Path

import yaml
from rule_examples import Example, Fails, Passes, examples

from environments import Env, base

RACKS = Env(
    yaml.safe_load((Path(__file__).parents[2] / "environments" / "prod-hybrid.yaml").read_text(encoding="utf-8"))
)
GOOGLE = base("gcp")
AT = "cells.dc1.racks"
FABRIC = "cells.dc1.fabric"
SERVER = f"{AT}.racks.rack-2.servers.r2-gpu-4"
FIRST = f"{SERVER}.cables[0]"


@examples("IF-RCK-001")
def test_racks_join_eks() -> Iterator[Example]:
    """Hybrid nodes are EKS's, and an inventory of rails is for RoCE."""
    google = RACKS.set("accounts.gcp", {"project": "example-inference"}).set("cells.dc1.cloud", "gcp")
    google = google.set("cells.dc1.region", "us-central1").set("cells.dc1.zone", "us-central1-c")
    yield Fails(google, AT, ("gcp",), fix_says=("cloud: aws",))
    yield Fails(RACKS.set(FABRIC, {"kind": "tcp"}), f"{FABRIC}.kind", ("TCP",))
    yield Passes(RACKS)
    yield Passes(RACKS.delete(FABRIC))


@examples("IF-RCK-002")
def test_server_models() -> Iterator[Example]:
    """A misspelled model is told the one that was meant."""
    yield Fails(RACKS.set(f"{AT}.machine", "dgx-h20"), f"{AT}.machine", ("dgx-h20",), fix_says=("dgx-h200",))
    yield Passes(RACKS)


@examples("IF-RCK-003")
def test_cables_lead_to_leaves() -> Iterator[Example]:
    """Every cable ends on a declared leaf."""
    yield Fails(RACKS.set(f"{FIRST}.leaf", "leaf-c"), f"{FIRST}.leaf", ("leaf-c",), fix_says=("leaf-b",))
    yield Passes(RACKS)


@examples("IF-RCK-004")
def test_nothing_stands_twice() -> Iterator[Example]:
    """A port of two servers, a port twice in one cable, a server port among the uplinks, one host name in two racks."""
    yield Fails(RACKS.set(f"{FIRST}.ports[1]", "Ethernet0"), f"{FIRST}.ports[1]", ("leaf-a", "r1-gpu-1"))
    yield Fails(RACKS.set(f"{FIRST}.ports[1]", "Ethernet112"), f"{FIRST}.ports[1]", ("Ethernet112", "r2-gpu-4"))
    yield Fails(RACKS.set(f"{FIRST}.ports[1]", "Ethernet256"), f"{FIRST}.ports[1]", ("an uplink",))
    twice = RACKS.set(f"{AT}.racks.rack-2.servers.r1-gpu-1", RACKS.get(SERVER)).delete(SERVER)
    yield Fails(twice, f"{AT}.racks.rack-2.servers.r1-gpu-1", ("another rack",))
    yield Passes(RACKS)


@examples("IF-RCK-005")
def test_as_many_cables_as_rails() -> Iterator[Example]:
    """A dgx-h200 has eight NICs beside its GPUs."""
    yield Fails(RACKS.delete(f"{FIRST}.ports[3]"), f"{SERVER}.cables", ("7 ports", "8 rails"))
    yield Fails(RACKS.set(f"{AT}.devices", ["mlx5_0", "mlx5_1"]), f"{AT}.devices", ("2 different", "8 rails"))
    yield Passes(RACKS.set(f"{AT}.devices", [f"mlx5_{n}" for n in range(2, 10)]))


@examples("IF-RCK-006")
def test_leaves_are_in_the_catalog() -> Iterator[Example]:
    """The platform decides by which formula and tables a leaf buffers."""
    at = f"{AT}.leaves.leaf-a.platform"
    yield Fails(RACKS.set(at, "x86_64-nvidia_sn5601-r0"), at, ("sn5601",), fix_says=("sn5600",))
    yield Passes(RACKS)


@examples("IF-RCK-007")
def test_two_leaves_are_joined() -> Iterator[Example]:
    """Two leaves without uplinks are two fabrics."""
    yield Fails(RACKS.delete(f"{AT}.leaves.leaf-b.uplinks"), f"{AT}.leaves.leaf-b", ("no uplinks", "2 leaves"))
    yield Passes(RACKS)


@examples("IF-RCK-008")
def test_pools_of_the_racks_gpu() -> Iterator[Example]:
    """A pool may name the GPU, or the server model itself."""
    yield Fails(RACKS.set("pools.chat.gpu", "h100"), "pools.chat.gpu", ("dc1", "dgx-h200"), fix_says=("h200",))
    yield Passes(RACKS.delete("pools.chat.gpu").set("pools.chat.instance", "dgx-h200"))


@examples("IF-RCK-009")
def test_no_more_servers_than_there_are() -> Iterator[Example]:
    """Ten workers of 4 GPUs take five servers, beside four: nine, and there are eight."""
    more = RACKS.set("pools.chat.decode.replicas", {"desired": 8, "max": 10})
    yield Fails(more, "cells.dc1.pools", ("9 servers", "have 8"))
    yield Passes(RACKS)


@examples("IF-RCK-010")
def test_buffers_of_a_table() -> Iterator[Example]:
    """Another SKU of the platform has the formula; of Arista's ASIC no formula is known; no row is for 1500 m."""
    sku = f"{AT}.leaves.leaf-a.hwsku"
    yield Fails(RACKS.set(sku, "Mellanox-SN5600-V256"), sku, ("formula",), severity="warning")
    arista = RACKS.set(f"{AT}.leaves.leaf-a.platform", "x86_64-arista_7060x6_64pe_b")
    yield Fails(arista.set(sku, "Arista-7060X6-64PE-B-P64"), sku, ("neither",))
    yield Fails(RACKS.set(f"{AT}.leaves.leaf-a.uplinks.length_m", 1500), sku, ("1500 m",), severity="warning")
    yield Passes(arista.set(sku, "Arista-7060X6-64PE-B-O128"))


@examples("IF-RCK-011")
def test_a_rail_has_one_leaf() -> Iterator[Example]:
    """A server with its leaves the other way round puts rail 0 on both."""
    cables = RACKS.get(f"{SERVER}.cables")
    crossed = RACKS.set(f"{SERVER}.cables", [cables[1], cables[0]])
    yield Fails(crossed, f"{AT}.racks", ("rail 0", "leaf-a and leaf-b"), severity="warning")
    yield Passes(RACKS)


@examples("IF-RCK-012")
def test_nics_are_told_apart() -> Iterator[Example]:
    """Without PCI addresses the storage NICs of the same model get the settings too."""
    yield Fails(RACKS.delete(f"{AT}.pci_addresses"), AT, ("ConnectX-7",), severity="info")
    yield Passes(RACKS)


@examples("IF-RCK-013")
def test_ranges_of_racks() -> Iterator[Example]:
    """Servers' and pods' ranges are apart from the VPC's, and are ranges."""
    yield Fails(RACKS.set(f"{AT}.node_cidr", "10.64.8.0/24"), f"{AT}.node_cidr", ("cells.dc1.network.cidr",))
    yield Fails(RACKS.set(f"{AT}.pod_cidr", "10.80.0.0/16"), f"{AT}.pod_cidr", (f"{AT}.node_cidr",))
    yield Fails(RACKS.set(f"{AT}.pod_cidr", "10.81.0.1/16"), f"{AT}.pod_cidr", ("not an IPv4 range",))
    yield Passes(RACKS)


@examples("IF-RCK-014")
def test_addresses_of_a_rail() -> Iterator[Example]:
    """/24 in eight parts is /27: 30 addresses, one block of 16, for eight servers."""
    yield Fails(RACKS.set(f"{FABRIC}.rdma_cidr", "10.200.0.0/24"), FABRIC, ("1 blocks of 16", "8 servers"))
    yield Passes(RACKS.set(f"{FABRIC}.rdma_cidr", "10.200.0.0/20"))


@examples("IF-RCK-015")
def test_required_where_it_holds() -> Iterator[Example]:
    """One prefill server stands in one rack of two."""
    asked = RACKS.set("pools.chat.locality", "required")
    lacks = asked.set("pools.chat.prefill.replicas", {"desired": 2})
    yield Fails(lacks, "pools.chat.locality", ("2 racks", "preferred"), severity="warning")
    yield Passes(asked)


@examples("IF-RCK-016")
def test_nothing_is_bought() -> Iterator[Example]:
    """Capacity of a pool in a cell of racks is read by nothing."""
    bought = RACKS.set("cells.dc1.pools.chat", {"capacity": {"kind": "spot"}})
    yield Fails(bought, "cells.dc1.pools.chat.capacity", ("spot",), severity="warning")
    yield Passes(RACKS)


@examples("IF-RCK-017")
def test_racks_and_clusters() -> Iterator[Example]:
    """Somebody else's cluster does not know our ranges."""
    theirs = RACKS.set("cells.dc1.cluster.existing", "theirs")
    yield Fails(theirs, "cells.dc1.cluster.existing", ("theirs",))
    yield Passes(RACKS)


@examples("IF-RCK-018")
def test_servers_come_with_a_certificate() -> Iterator[Example]:
    """Without the ARNs a node's configuration has a place to fill in."""
    yield Fails(RACKS.delete(f"{AT}.roles_anywhere"), AT, ("8 servers", "dc1"), severity="info")
    yield Passes(RACKS)


@examples("IF-FAB-050")
def test_data_and_notifications() -> Iterator[Example]:
    """One DSCP, or one priority, for both."""
    yield Fails(RACKS.set(f"{FABRIC}.dscp", 48), f"{FABRIC}.dscp", ("48",))
    yield Fails(RACKS.set(f"{FABRIC}.cnp_priority", 3), f"{FABRIC}.cnp_priority", ("priority 3",))
    yield Passes(RACKS.set(f"{FABRIC}.dscp", 24))


@examples("IF-FAB-051")
def test_what_leaves_let_through() -> Iterator[Example]:
    """245.76 MB in 40 ms are 49.2 Gbit/s. A rank has 4 x 400 at half: 800. 32 NICs at 400 on each leaf over one
    uplink of 400 are 32 : 1, which leaves 25.
    """
    thin = RACKS
    for leaf in ("leaf-a", "leaf-b"):
        thin = thin.set(f"{AT}.leaves.{leaf}.uplinks.ports", ["Ethernet256"])
    says = ("246 MB", "49 Gbit/s", "32 : 1", "of 800 Gbit/s", "25 are left", "20 ms", "2.0 times")
    yield Fails(thin, AT, says, fix_says=("uplinks",))
    yield Passes(RACKS)
    yield Passes(RACKS.set(f"{AT}.storage_on_rails", True))


@examples("IF-FAB-052")
def test_mtus() -> Iterator[Example]:
    """9000 into 1500 does not go; 4200 carries 4096, 1500 carries 1024."""
    yield Fails(RACKS.set(f"{FABRIC}.switch_mtu", 1500), f"{FABRIC}.switch_mtu", ("9000", "1500"))
    yield Fails(RACKS.set(f"{FABRIC}.host_mtu", 1500), f"{FABRIC}.host_mtu", ("1024",), severity="warning")
    yield Passes(RACKS.set(f"{FABRIC}.host_mtu", 4200))


@examples("IF-FAB-053")
def test_what_google_sets() -> Iterator[Example]:
    """PFC, marks and MTU of Google's RoCE network are Google's."""
    at = "cells.central-c.fabric"
    asked = GOOGLE.set(at, {"kind": "roce", "priority": 4})
    yield Fails(asked, f"{at}.priority", ("no effect",), severity="warning")
    yield Fails(RACKS.set(f"{FABRIC}.attach", "dranet"), f"{FABRIC}.attach", ("racks.attach",), severity="warning")
    yield Passes(GOOGLE.set(at, {"kind": "roce", "attach": "dranet"}))


@examples("IF-FAB-054")
def test_pauses_alone() -> Iterator[Example]:
    """Two leaves hand pauses on."""
    at = f"{FABRIC}.congestion_control"
    yield Fails(RACKS.set(at, "pfc_only"), at, ("2 leaves",), severity="warning")
    yield Passes(RACKS.set(at, "dcqcn"))


@examples("IF-GCP-001")
def test_networks_by_annotation() -> Iterator[Example]:
    """Two workers of 4 GPUs on a node of 8 NICs would both ask for all of them."""
    by_networks = GOOGLE.set("cells.central-c.fabric", {"kind": "roce", "attach": "networks"})
    at = "cells.central-c.fabric.attach"
    yield Fails(by_networks, at, ("far prefill", "2 workers"), count=2)
    whole = by_networks.set("pools.far.prefill.tensor_parallel", 8).set("pools.far.decode.tensor_parallel", 8)
    yield Passes(whole)


@examples("IF-GCP-002")
def test_dranet_needs_a_version() -> Iterator[Example]:
    """1.33 has none."""
    old = GOOGLE.set("cells.central-c.cluster", {"kubernetes": "1.33"})
    yield Fails(old, "cells.central-c.cluster.kubernetes", ("1.33",))
    yield Passes(old.set("cells.central-c.fabric", {"kind": "roce", "attach": "networks"}))


@examples("IF-GCP-003")
def test_existing_things_of_google() -> Iterator[Example]:
    """Networks and clusters that are there are for AWS only."""
    yield Fails(
        GOOGLE.set("cells.central-c.cluster", {"existing": "theirs"}), "cells.central-c.cluster.existing", ("theirs",)
    )
    there = {
        "kind": "existing", "vpc_id": "main", "cidr": "10.48.0.0/16", "node_subnet_ids": ["nodes"],
        "inference_subnet_id": "gpus",
    }  # fmt: skip
    yield Fails(GOOGLE.set("cells.central-c.network", there), "cells.central-c.network", ("already",))
    yield Passes(GOOGLE)


@examples("IF-GCP-004")
def test_names_need_route_53() -> Iterator[Example]:
    """A zone is looked up in an AWS account."""
    named = GOOGLE.set("routing", {"domain": "llm.example.com"})
    yield Fails(named, "routing.domain", ("llm.example.com",), severity="info")
    yield Passes(GOOGLE)


@examples("IF-GCP-005")
def test_tokens_on_google() -> Iterator[Example]:
    """A token stays unread where the weights come from a bucket."""
    gated = GOOGLE.set("models.llama-70b.token_secret", "hub-token")
    yield Fails(gated, "models.llama-70b.token_secret", ("llama-70b", "central-c"), fix_says=("gs://",))
    yield Passes(gated.set("models.llama-70b.source", "gs://weights/llama-70b"))
    yield Passes(GOOGLE)
