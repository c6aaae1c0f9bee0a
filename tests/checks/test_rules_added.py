"""Rules about values that look right one by one: contexts, shares, ranges, blocks, stages, versions."""

import sys
from collections.abc import Iterator

import pytest
from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, DISAGGREGATED, GCP, SHARED, base, cell
from inferfab.catalog.regions import region_file
from inferfab.checks.facts import Facts
from inferfab.checks.registry import run_stage
from inferfab.environment.loading import load_text

AGG, DIS, SMALL, GOOGLE = base(AGGREGATED), base(DISAGGREGATED), base(SHARED), base(GCP)
WORKER = "pools.docs.worker"
THERE = {
    "kind": "existing", "vpc_id": "vpc-0a1b2c3d4e5f60718", "cidr": "10.16.0.0/16",
    "node_subnet_ids": ["subnet-0a1b2c3d4e5f60701", "subnet-0a1b2c3d4e5f60702"],
    "inference_subnet_id": "subnet-0a1b2c3d4e5f60703",
}  # fmt: skip
WIDE = AGG.set("pools.docs.instance", "p5en.48xlarge").set(f"{WORKER}.replicas.desired", 1)


@examples("IF-MEM-009")
def test_requests_fit_the_context() -> Iterator[Example]:
    """Prompt and answer of the workload, 1,500 + 300 tokens, fit the promised context."""
    at = "models.qwen-8b.context_tokens"
    yield Fails(AGG.set(at, 1799), at, ("1,500 prompt", "300 answer", "1,799", "`docs`"), fix_says=("at least 1800",))
    yield Passes(AGG.set(at, 1800))
    # Beyond the model's own 40,960 tokens no context is suggested.
    long = AGG.set("tiers.fast.workload.prompt_tokens", 50_000)
    yield Fails(long, at, ("50,000 prompt",), fix_says=("takes no more",))
    # Shared pools too: 4,000 + 500 tokens where a tier says nothing.
    shared = "models.llama-8b.context_tokens"
    yield Fails(SMALL.set(shared, 4499), shared, ("4,000 prompt", "`small`"), fix_says=("at least 4500",))
    yield Passes(SMALL.set(shared, 4500))


@examples("IF-MEM-010")
def test_memory_beside_the_engine() -> Iterator[Example]:
    """vLLM takes at most 97 % of a GPU's memory."""
    at = f"{WORKER}.gpu_memory_utilization"
    yield Fails(AGG.set(at, 1.0), at, ("100 % of the GPU",), "warning", fix_says=("at most 0.97",))
    yield Fails(AGG.set(at, 0.98), at, ("98 %", "2 %"), "warning")
    yield Passes(AGG.set(at, 0.97))
    shared = "pools.small.gpu_memory_utilization"
    yield Fails(SMALL.set(shared, 0.99), shared, ("99 %",), "warning")


@examples("IF-PRM-007")
def test_promises_of_shared_pools() -> Iterator[Example]:
    """A shared pool's speed is not planned, so a tier that promises times makes that known."""
    promise = {"metric": "ttft", "percentile": 95, "at_most_ms": 5000}
    yield Fails(
        SMALL.set("tiers.slow.promises", [promise]), "pools.small.tier", ("`slow`", "TTFT p95", "`small`"), "warning"
    )
    yield Passes(SMALL)
    yield Passes(AGG)


@examples("IF-PRM-008")
def test_headroom() -> Iterator[Example]:
    """More than 95 % busy leaves no room for a queue."""
    at = "tiers.fast.workload.utilization"
    yield Fails(AGG.set(at, 1.0), at, ("100 % busy",), "warning", fix_says=("at most 0.95",))
    yield Passes(AGG.set(at, 0.95))
    own = AGG.set("pools.docs.workload", {"prompt_tokens": 10, "output_tokens": 10, "utilization": 0.96})
    yield Fails(own, "pools.docs.workload.utilization", ("96 % busy",), "warning")


@examples("IF-PRM-009")
def test_promises_go_together() -> Iterator[Example]:
    """One promise a metric and percentile, and a higher percentile has no lower bound."""
    at = "tiers.fast.promises[1]"

    def beside(percentile: float, bound: float, metric: str = "ttft") -> dict[str, object]:
        return {"metric": metric, "percentile": percentile, "at_most_ms": bound}

    yield Fails(AGG.add("tiers.fast.promises", beside(95, 400)), at, ("p95 of 400 ms", "p95 of 500 ms"))
    yield Fails(AGG.add("tiers.fast.promises", beside(95, 500)), at, ("p95 of 500 ms",), "warning")
    yield Fails(
        AGG.add("tiers.fast.promises", beside(50, 501)), f"{at}.at_most_ms",
        ("p95 of 500 ms is stricter than ttft p50",), "warning", fix_says=("at most 500 for p50",),
    )  # fmt: skip
    yield Passes(AGG.add("tiers.fast.promises", beside(50, 500)))
    yield Passes(AGG.add("tiers.fast.promises", beside(95, 400, "itl")))


@examples("IF-NET-006")
def test_ranges_of_a_cell() -> Iterator[Example]:
    """Loopback, link-local and multicast cannot be a network; public addresses belong to somebody."""
    at = "cells.east-a.network.cidr"
    for cidr, says in (
        ("127.0.0.0/16", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("224.0.0.0/16", "multicast"),
        ("0.0.0.0/16", "this network"),
        ("240.0.0.0/16", "reserved"),
    ):
        yield Fails(AGG.set(at, cidr), at, (cidr, says), fix_says=("private range",))
    yield Fails(AGG.set(at, "11.0.0.0/16"), at, ("public",), "warning")
    yield Fails(AGG.set(at, "172.32.0.0/16"), at, ("public",), "warning")
    for cidr in ("10.16.0.0/16", "172.31.0.0/16", "192.168.0.0/16", "100.127.0.0/16"):
        yield Passes(AGG.set(at, cidr))


@examples("IF-NET-007")
def test_addresses() -> Iterator[Example]:
    """A node takes its own address and prefixes of 16: one at least, usually two and one kept warm.

    A quarter of a /20 has 1,024 addresses: 5 + n x 17 fit for n = 59 and not for 60; 5 + n x 49 for 20 and not 21.
    """
    at, most = "cells.east-a.network.cidr", f"{WORKER}.replicas.max"
    narrow = AGG.set(at, "10.16.0.0/20")
    assert (5 + 59 * 17, 5 + 60 * 17) == (1008, 1025)
    assert (5 + 20 * 49, 5 + 21 * 49) == (985, 1034)
    yield Passes(narrow.set(most, 80))
    yield Fails(narrow.set(most, 84), at, ("21 nodes", "1,034", "1,024"), "warning", fix_says=("use /19",))
    yield Fails(narrow.set(most, 236), at, ("59 nodes",), "warning")
    yield Fails(narrow.set(most, 240), at, ("60 nodes", "1,025"), fix_says=("use /18",))
    yield Passes(AGG.set(most, 240))


@examples("IF-NET-010")
def test_second_zones() -> Iterator[Example]:
    """Another zone of the region; one that the catalog lacks may be there in an account."""
    at = "cells.east-a.network.second_zone"
    yield Fails(AGG.set(at, "us-east-1a"), at, ("the cell's own",), fix_says=("us-east-1b or us-east-1c",))
    yield Fails(AGG.set(at, "us-west-2a"), at, ("`us-west-2a`", "us-east-1"), fix_says=("us-east-1b",))
    yield Fails(AGG.set(at, "us-east-1g"), at, ("`us-east-1g`",), "warning", fix_says=("keep it",))
    yield Passes(AGG.set(at, "us-east-1d"))
    yield Passes(AGG)
    far = "cells.central-c.network.second_zone"
    yield Fails(GOOGLE.set(far, "us-central1-a"), far, ("only EKS",), "warning", fix_says=("remove",))


def test_a_region_with_one_known_zone_asks_for_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one the stack would be refused while it is written; with one stated it is there."""
    east = region_file().regions["aws:us-east-1"].model_copy(update={"zones": ("us-east-1a",)})
    for module in ("inferfab.checks.network_sizes", "inferfab.plan.network"):
        # By name, because inferfab.plan is a function too.
        monkeypatch.setattr(sys.modules[module], "regions", lambda: {"aws:us-east-1": east})
    for env, errors in ((AGG, ["error"]), (AGG.set("cells.east-a.network.second_zone", "us-east-1b"), ["warning"])):
        loaded = load_text(env.text)
        assert loaded.environment is not None
        facts = Facts(loaded, loaded.environment)
        found = [f for f in run_stage("reference", facts) if f.rule == "IF-NET-010"]
        assert [f.severity for f in found] == errors


def test_the_stated_second_zone_is_planned() -> None:
    """The control plane's second subnet stands there, nothing else."""
    plan = AGG.set("cells.east-a.network.second_zone", "us-east-1d").check().plan
    assert plan is not None
    assert [s.name for s in plan.cells[0].network.subnets if s.zone == "us-east-1d"] == ["control-plane-1"]


@examples("IF-NET-011")
def test_without_a_way_out() -> Iterator[Example]:
    """The foundation stands, the platform's charts are out of reach."""
    at = "cells.east-a.network.egress"
    yield Fails(AGG.set(at, "none"), at, ("platform stack", "foundation can"), "warning", fix_says=("`egress: nat`",))
    yield Passes(AGG.set(at, "nat"))
    yield Passes(AGG.set(at, "none").set("images", {"mirror": "registry.example.com/mirror"}))


@examples("IF-NET-012")
def test_what_is_outside_of_a_closed_cell() -> Iterator[Example]:
    """By AWS's list of services with an endpoint Route 53 has none in a cell's region; Slack and PagerDuty have none
    anywhere. What may be within the network, or is of the cluster, is no more than a warning, or nothing."""
    closed = AGG.set("cells.east-a.network.egress", "none").set("images", {"mirror": "registry.example.com/mirror"})
    closed = closed.set("routing", {"domain": "llm.example.com"})
    acme = {"tls": {"kind": "acme", "email": "ml@example.com"}}
    yield Fails(
        closed.set("gateway", acme), "gateway.tls.kind", ("`east-a`", "acme-v02.api.letsencrypt.org", "Route 53"),
        fix_says=("secret", "egress: nat"),
    )  # fmt: skip
    oidc = {"kind": "oidc", "issuer": "https://login.example.com", "jwks_uri": "https://login.example.com/certs",
            "audiences": ["llm"]}  # fmt: skip
    tokens = closed.set("gateway", {"authentication": oidc})
    yield Fails(tokens, "gateway.authentication.jwks_uri", ("login.example.com",), "warning")
    yield Passes(tokens.set("gateway.authentication.jwks_uri", "https://keys.login.svc.cluster.local/certs"))
    slack = {"kind": "slack", "channel": "#gpu", "secret": "slack"}
    told = closed.set("observability", {"receivers": {"chat": slack}, "route": {"ticket": "chat"}})
    yield Fails(told, "observability.receivers.chat", ("Slack",), fix_says=("webhook",))
    yield Fails(
        told.set("observability.receivers.chat", {"kind": "pagerduty", "secret": "pd"}),
        "observability.receivers.chat", ("PagerDuty",),
    )  # fmt: skip
    hook = told.set("observability.receivers.chat", {"kind": "webhook", "secret": "hook"})
    yield Fails(hook, "observability.receivers.chat", ("unless",), "warning")
    yield Passes(told.delete("observability.route"))
    kept = closed.set("observability", {"remote_write": {"url": "https://metrics.example.com/write"}})
    yield Fails(kept, "observability.remote_write.url", ("metrics.example.com",), "warning")
    yield Passes(kept.set("observability.remote_write.url", "http://10.9.8.7:9090/write"))
    everything = {"tls": acme["tls"], "authentication": oidc}
    yield Passes(told.set("gateway", everything).set("cells.east-a.network.egress", "nat"))
    yield Passes(closed)


@examples("IF-NET-013")
def test_the_load_balancer_is_where_the_gateways_are() -> Iterator[Example]:
    """ELB: targets in a zone that is not enabled get no traffic. Two gateways over two zones, one enabled: one is lost.
    Over three zones both may be."""
    there = AGG.set("cells.east-a.network", THERE)
    at = "cells.east-a.network.public_subnet_ids"
    one = there.set(at, ["subnet-0a1b2c3d4e5f60704"])
    assert len(THERE["node_subnet_ids"]) == 2
    yield Fails(one, at, ("1 of 2 zones",), "warning", fix_says=("1 more public subnet,",))
    three = [*THERE["node_subnet_ids"], "subnet-0a1b2c3d4e5f60709"]
    yield Fails(
        one.set("cells.east-a.network.node_subnet_ids", three), at, ("1 of 3 zones", "all 2"),
        fix_says=("2 more public subnets",),
    )  # fmt: skip
    yield Passes(there.set(at, ["subnet-0a1b2c3d4e5f60704", "subnet-0a1b2c3d4e5f60705"]))
    yield Passes(one.set("cells.east-a.gateways", {"public": False}))
    yield Passes(there)


@examples("IF-FAB-007")
def test_dranet_from_zero() -> Iterator[Example]:
    """A minimum of none, or a Capacity Block, whose group begins empty."""
    at = "cells.east-b.fabric.plugin"
    dranet = DIS.set("cells.east-b.fabric", {"kind": "efa", "plugin": "dranet"})
    none = {"min": 0, "desired": 2}
    yield Passes(dranet)
    yield Fails(
        dranet.set("pools.chat.decode.replicas", none), at, ("chat-decode may",), "warning",
        fix_says=("`plugin: device-plugin`", "`min: 1`"),
    )  # fmt: skip
    yield Passes(DIS.set("pools.chat.decode.replicas", none))
    block = {"kind": "capacity_block", "id": "cr-0a1b2c3d4e5f60718"}
    block |= {"ends_at": "2027-01-31T11:30:00Z"}
    yield Fails(dranet.set("pools.chat.capacity", block), at, ("chat-prefill, chat-decode",), "warning")
    # Without EFA interfaces there is nothing that DRANET would hand out.
    plain = AGG.set("cells.east-a.fabric", {"kind": "efa", "plugin": "dranet"}).set("pools.docs.instance", "g6e.xlarge")
    yield Passes(plain.set(f"{WORKER}.replicas", none))


@examples("IF-PLC-010")
def test_gateways() -> Iterator[Example]:
    """A cell to which names lead has a gateway."""
    at = "cells.east-a.gateways"
    none = AGG.set(at, {"replicas": 0})
    yield Fails(none, f"{at}.replicas", ("`east-a`",), "warning")
    yield Fails(none.set("routing", {"domain": "llm.example.com"}), f"{at}.replicas", ("public names",))
    yield Passes(AGG.set(at, {"replicas": 1}).set("routing", {"domain": "llm.example.com"}))


@examples("IF-REF-011")
def test_kubernetes_versions() -> Iterator[Example]:
    """Versions of the catalog: 1.34 to 1.36. Google may have others."""
    at = "cells.east-a.cluster"
    yield Fails(
        AGG.set(at, {"kubernetes": "1.22"}), f"{at}.kubernetes", ("1.22",), fix_says=('"1.34", "1.35", "1.36"',)
    )
    yield Passes(AGG.set(at, {"kubernetes": "1.34"}))
    google = "cells.central-c.cluster"
    yield Fails(GOOGLE.set(google, {"kubernetes": "1.33"}), f"{google}.kubernetes", ("EKS",), "warning")


@examples("IF-REF-012")
def test_image_releases() -> Iterator[Example]:
    """A release is of the cluster's minor version; 1.3 is no beginning of 1.36."""
    at = "cells.east-a.cluster"
    yield Fails(
        AGG.set(at, {"kubernetes": "1.36", "ami_release": "1.35.4-20261014"}), f"{at}.ami_release",
        ("1.35.4-20261014", "Kubernetes 1.35", "has 1.36"), fix_says=("begins with 1.36", '`kubernetes: "1.35"`'),
    )  # fmt: skip
    yield Fails(AGG.set(at, {"ami_release": "1.34.2-20261014"}), f"{at}.ami_release", ("1.34",))
    yield Passes(AGG.set(at, {"kubernetes": "1.35", "ami_release": "1.35.4-20261014"}))
    yield Passes(AGG.set(at, {"ami_release": "1.36.1-20261014"}))


@examples("IF-PLC-011")
def test_pinned_images() -> Iterator[Example]:
    """Once a cell, where machines are reserved, or several have RDMA and a promise."""
    at, there = "cells.east-a.cluster.ami_release", "cells.east-b.cluster.ami_release"
    both = DIS.set("pools.chat.prefill.replicas.desired", 4).set("pools.chat.decode.replicas.desired", 4)
    yield Fails(both, there, ("chat-prefill and 1 more",), "info", fix_says=("`releaseVersion`",))
    yield Passes(both.set("cells.east-b.cluster", {"ami_release": "1.36.1-20261014"}))
    yield Passes(AGG)
    yield Passes(SMALL)
    reserved = SMALL.set("pools.small.capacity", {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60718"})
    yield Fails(reserved, at, ("small",), "info")
    yield Passes(GOOGLE)


@examples("IF-ENG-008")
def test_stages() -> Iterator[Example]:
    """No more pipeline stages than layers: Qwen3 8B has 36."""
    at = f"{WORKER}.pipeline_parallel"
    yield Fails(WIDE.set(at, 40), at, ("36 layers", "40 stages"), fix_says=("at most 36",))
    yield Passes(WIDE.set(at, 32))


@examples("IF-ENG-009")
def test_experts() -> Iterator[Example]:
    """Experts divide evenly over tensor x data GPUs: 256 of DeepSeek V3 over 24 leave 11 on some, 10 on others."""
    deepseek = WIDE.set("models.qwen-8b.catalog", "deepseek-v3").set(f"{WORKER}.tensor_parallel", 8)
    deepseek = deepseek.set(f"{WORKER}.expert_parallel", True)
    at = f"{WORKER}.data_parallel"
    yield Fails(
        deepseek.set(at, 3), at, ("256 experts", "24 GPUs", "11", "10"), "warning",
        fix_says=("`data_parallel: 2`", "`data_parallel: 4`"),
    )  # fmt: skip
    yield Passes(deepseek.set(at, 4))
    yield Passes(deepseek.set(at, 3).set(f"{WORKER}.expert_parallel", False))


@examples("IF-ENG-010")
def test_blocks() -> Iterator[Example]:
    """KV blocks are multiples of 16 tokens; for latent attention 64 (32 at least)."""
    at = "pools.docs.block_tokens"
    yield Fails(AGG.set(at, 17), at, ("17",), fix_says=("write 16",))
    yield Fails(AGG.set(at, 8), at, ("8",), fix_says=("write 16",))
    yield Passes(AGG.set(at, 48))
    latent = WIDE.set("models.qwen-8b.catalog", "deepseek-v3").set(f"{WORKER}.tensor_parallel", 8)
    yield Fails(latent.set(at, 16), at, ("latent", "16"), "warning", fix_says=("write 64",))
    yield Passes(latent.set(at, 64))
    shared = "pools.small.block_tokens"
    yield Fails(SMALL.set(shared, 20), shared, ("20",))


@examples("IF-ENG-011")
def test_prediction() -> Iterator[Example]:
    """Multi-token prediction needs its modules in the checkpoint: Qwen3 has none, DeepSeek V3 has."""
    env = WIDE.set(f"{WORKER}.tensor_parallel", 8).set("models.qwen-8b.speculative", {"method": "mtp", "tokens": 1})
    at = "models.qwen-8b.speculative.method"
    yield Fails(env, at, ("Qwen3 8B", "deepseek"), "warning", fix_says=("`ngram`",))
    yield Passes(env.set("models.qwen-8b.catalog", "deepseek-v3"))


@examples("IF-FAB-006")
def test_spread_workers() -> Iterator[Example]:
    """A worker of 8 GPUs on two g6.12xlarge talks over EFA, unless TCP was asked for."""
    spread = AGG.set("pools.docs.instance", "g6.12xlarge").set(f"{WORKER}.tensor_parallel", 4)
    at = f"{WORKER}.pipeline_parallel"
    spread = spread.set(f"{WORKER}.replicas.desired", 1).set(at, 2)
    yield Passes(spread)
    tcp = spread.set("cells.east-a.fabric", {"kind": "tcp"})
    yield Fails(
        tcp, at, ("2 nodes", "g6.12xlarge", "TCP"), "warning", fix_says=("`fabric: tcp`", "at most 4 GPUs")
    )  # fmt: skip
    yield Passes(tcp.set(at, 1))


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_two_cells_of_public_names(share: float) -> None:
    """A cell that gets no traffic may have no gateway; the finding is then a warning."""
    west = AGG.set("cells.west", cell("aws", "us-west-2", "us-west-2a", "10.18.0.0/16", "docs"))
    west = west.set("routing", {"domain": "llm.example.com"}).set("cells.west.gateways", {"replicas": 0})
    west = west.set("cells.east-a.traffic_share", 1).set("cells.west.traffic_share", 0)
    [found] = [f for f in west.check().findings if f.rule == "IF-PLC-010"]
    assert found.severity == "warning", share


@examples("IF-NET-008")
def test_a_cluster_and_its_network() -> Iterator[Example]:
    """A cluster that is there stands in a network that is there; a new cluster may stand in either."""
    lodger = AGG.set("cells.east-a.cluster", {"existing": "shared"})
    yield Fails(lodger, "cells.east-a.network.kind", ("`shared`",), fix_says=("`kind: existing`", "`cluster.existing`"))
    yield Passes(lodger.set("cells.east-a.network", THERE))
    yield Passes(AGG.set("cells.east-a.network", THERE))
    yield Passes(AGG)


@examples("IF-NET-009")
def test_private_entrances_have_no_public_names() -> Iterator[Example]:
    """An internal load balancer's addresses do not belong into a public zone."""
    named = AGG.set("routing", {"domain": "llm.example.com"})
    at = "cells.east-a.gateways"
    yield Fails(
        named.set(at, {"public": False}), f"{at}.public", ("internal",), fix_says=("`public: true`", "`routing`")
    )  # fmt: skip
    yield Passes(AGG.set(at, {"public": False}))
    yield Passes(named)
    there = named.set("cells.east-a.network", THERE)
    yield Fails(there, "cells.east-a.network", ("`public_subnet_ids`",), fix_says=("`public_subnet_ids`",))
    yield Passes(there.set("cells.east-a.network.public_subnet_ids", ["subnet-0a1b2c3d4e5f60704"]))


@examples("IF-MEM-011")
def test_nodes_are_cut_alike() -> Iterator[Example]:
    """Two nodes of one H100: a model that takes a whole GPU and one that takes a slice cannot have one layout."""
    long = SMALL.set("models.llama-8b.context_tokens", 131_072).set("pools.small.nodes", {"desired": 2})
    long = long.set("pools.small.models[0].instances", 1)
    yield Fails(long, "pools.small.models", ("7g.80gb", "one layout"), fix_says=("split the pool",))
    yield Passes(SMALL)
    yield Passes(SMALL.set("pools.small.nodes", {"desired": 2}))


@examples("IF-CLD-004")
def test_ids_of_aws() -> Iterator[Example]:
    """8 or 17 hexadecimal digits after `vpc-` and `subnet-`; Google's networks have names."""
    there = AGG.set("cells.east-a.network", THERE)
    at = "cells.east-a.network"
    yield Passes(there)
    yield Passes(there.set(f"{at}.vpc_id", "vpc-0a1b2c3d"))
    yield Fails(there.set(f"{at}.vpc_id", "main"), f"{at}.vpc_id", ("`main`", "VPC"), fix_says=("`vpc-`",))
    yield Fails(there.set(f"{at}.node_subnet_ids[1]", "subnet-xyz"), f"{at}.node_subnet_ids[1]", ("`subnet-xyz`",))
    yield Fails(there.set(f"{at}.inference_subnet_id", "subnet-0a1b2c3d4"), f"{at}.inference_subnet_id", ("subnet",))
    yield Fails(there.set(f"{at}.public_subnet_ids", ["vpc-0a1b2c3d"]), f"{at}.public_subnet_ids[0]", ("subnet",))


@examples("IF-NAM-001")
def test_beginnings_of_names() -> Iterator[Example]:
    """`<environment>-<cell>` begins every name of a cell in AWS: 50 characters, of which `test-` is 5."""
    fits = "c" * 40
    yield Passes(AGG.rename("cells.east-a", fits))
    long = AGG.set("name", "n" * 20).rename("cells.east-a", "c" * 30)
    yield Fails(long, f"cells.{'c' * 30}", ("51 characters", "50 are"), fix_says=("by 1",))
    yield Passes(AGG.set("name", "n" * 20).rename("cells.east-a", "c" * 29))


@pytest.mark.parametrize("name", ["sg", "sg-prod", "internal", "internal-llm", "xn--a"])
def test_names_that_aws_keeps(name: str) -> None:
    """The names of groups, load balancers and buckets begin with the environment's."""
    [found] = [f for f in AGG.set("name", name).check().findings if f.severity == "error"]
    assert (found.rule, found.dotted_path) == ("IF-ENV-013", "name")
    assert "refuses" in found.what


@pytest.mark.parametrize("name", ["sgp", "international", "prod-sg"])
def test_names_that_only_look_like_them(name: str) -> None:
    """What AWS refuses is the beginning with its dash."""
    assert AGG.set("name", name).check().ok


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("aws:owner", "x", "AWS's own"),
        ("AWS:owner", "x", "AWS's own"),
        ("inferfab-owner", "x", "written by inferfab"),
        ("a" * 129, "x", "128"),
        ("cost?", "x", "letters, digits, spaces"),
        ("cost", "x" * 257, "256"),
        ("cost", "a;b", "letters, digits, spaces"),
    ],
)
def test_tags_that_aws_refuses(key: str, value: str, says: str) -> None:
    """Tag keys have 1 to 128 characters, values up to 256, of a set; `aws:` is reserved, and ours are written."""
    errors = [f for f in AGG.set("tags", {key: value}).check().findings if f.severity == "error"]
    assert [f.rule for f in errors] == ["IF-ENV-013"], errors
    assert says in f"{errors[0].what} {errors[0].fix}", errors


def test_tags_that_aws_takes() -> None:
    """Letters of any language, and an empty value."""
    assert AGG.set("tags", {"a" * 128: "x" * 256, "Kostenstelle: München/1+2=3": "", "a.b_c@d": "e f"}).check().ok


@examples("IF-CLD-005")
def test_the_owner_is_a_tag() -> Iterator[Example]:
    """Tag values are letters, digits, spaces and + - = . _ : / @."""
    yield Fails(AGG.set("owner", "research & serving"), "owner", ("&",), fix_says=("letters, digits",))
    yield Passes(AGG.set("owner", "Modèles: ml/serving+eval_1 @ team"))
    yield Passes(GOOGLE.set("owner", "research & serving"))
