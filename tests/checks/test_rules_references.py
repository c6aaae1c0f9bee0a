"""Rules over the references of a file: to itself, to the catalog, to what a cloud offers; address ranges."""

from collections.abc import Iterator

from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, DISAGGREGATED, GCP, SHARED, base, cell

AGG, DIS, GOOGLE, SMALL = base(AGGREGATED), base(DISAGGREGATED), base(GCP), base(SHARED)
TWO = base(AGGREGATED, DISAGGREGATED)
DRAFT = {"source": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "revision": "a" * 40, "weights_gib": 0.8}


@examples("IF-REF-001")
def test_engine_pair() -> Iterator[Example]:
    """The Dynamo version is in the catalog, and a stated vLLM is the one that it pins (1.6.1 pins 0.31.0)."""
    yield Fails(AGG.set("engine.dynamo", "1.6.2"), "engine.dynamo", ("1.6.2",), fix_says=("did you mean `1.6.1`?",))
    yield Fails(
        AGG.set("engine.vllm", "0.33.0"), "engine.vllm", ("1.6.1", "0.31.0", "0.33.0"), fix_says=("write 0.31.0",)
    )
    yield Passes(AGG.set("engine.vllm", "0.31.0"))


@examples("IF-REF-002")
def test_catalog_model() -> Iterator[Example]:
    """A catalog model exists; a draft's too."""
    yield Fails(
        AGG.set("models.qwen-8b.catalog", "qwen3-8bb"),
        "models.qwen-8b.catalog",
        ("`qwen3-8bb`",),
        fix_says=("did you mean `qwen3-8b`?",),
    )
    draft = {**DRAFT, "catalog": "qwen3-32"}
    speculative = AGG.set("models.qwen-8b.speculative", {"method": "draft_model", "draft": draft})
    yield Fails(
        speculative,
        "models.qwen-8b.speculative.draft.catalog",
        ("`qwen3-32`",),
        fix_says=("did you mean `qwen3-32b`?",),
    )
    yield Passes(speculative.set("models.qwen-8b.speculative.draft.catalog", "qwen3-8b"))


@examples("IF-REF-003")
def test_checkpoint() -> Iterator[Example]:
    """The catalog has a checkpoint of that precision (Llama 3.1 70B: fp8 and bf16), or `source` names one."""
    nvfp4 = DIS.set("models.llama-70b.quantization", "nvfp4")
    yield Fails(
        nvfp4, "models.llama-70b.quantization", ("nvfp4", "Llama 3.1 70B", "fp8, bf16"), fix_says=("fp8, bf16",)
    )
    yield Passes(nvfp4.set("models.llama-70b.source", "our/Llama-3.1-70B-FP4"))
    yield Passes(DIS.set("models.llama-70b.quantization", "bf16").set("models.llama-70b.token_secret", "hub-token"))


@examples("IF-REF-004")
def test_draft_size() -> Iterator[Example]:
    """Draft weights have a size: stated, or of a catalog model."""
    unsized = {k: v for k, v in DRAFT.items() if k != "weights_gib"}
    bad = AGG.set("models.qwen-8b.speculative", {"method": "eagle3", "draft": unsized})
    yield Fails(bad, "models.qwen-8b.speculative.draft", ("size of the draft",), fix_says=("weights_gib",))
    yield Passes(bad.set("models.qwen-8b.speculative.draft.weights_gib", 0.8))
    yield Passes(bad.set("models.qwen-8b.speculative.draft.catalog", "qwen3-8b"))


@examples("IF-REF-005")
def test_names_resolve() -> Iterator[Example]:
    """Tier, model and pool that are referred to are declared; a declared but broken one counts as declared."""
    yield Fails(AGG.set("pools.docs.tier", "fats"), "pools.docs.tier", ("tier `fats`",), fix_says=("`fast`",))
    yield Fails(AGG.set("pools.docs.model", "qwen"), "pools.docs.model", ("model `qwen`",), fix_says=("`qwen-8b`",))
    yield Fails(
        SMALL.set("pools.small.models[1].model", "qwen-9b"),
        "pools.small.models[1].model",
        ("model `qwen-9b`",),
        fix_says=("`qwen-8b`",),
    )
    yield Fails(
        AGG.rename("cells.east-a.pools.docs", "dosc"),
        "cells.east-a.pools.dosc",
        ("pool `dosc`",),
        fix_says=("`docs`",),
    )
    yield Passes(AGG)
    yield Passes(AGG.delete("tiers").set("pools.docs.tier", "standard"))
    yield Fails(AGG.delete("tiers"), "pools.docs.tier", ("tier `fast`",), fix_says=("batch, priority, standard",))


@examples("IF-REF-006")
def test_used() -> Iterator[Example]:
    """What is declared is used; a warning, because it costs nothing yet."""
    unused = {"tier": "fast", "topology": "aggregated", "model": "qwen-8b", "gpu": "l40s"}
    worker = {"replicas": {"desired": 1}}
    yield Fails(
        AGG.add("pools.spare", {**unused, "worker": worker}), "pools.spare", ("`spare`",), "warning",
        fix_says=("cell's `pools`",),
    )  # fmt: skip
    yield Fails(AGG.set("tiers.slow", {}), "tiers.slow", ("tier `slow`",), "warning")
    spare = AGG.set("models.spare", AGG.get("models.qwen-8b"))
    yield Fails(spare, "models.spare", ("model `spare`",), "warning")
    yield Passes(spare.set("pools.docs.model", "spare").delete("models.qwen-8b"))


@examples("IF-REF-007")
def test_regions() -> Iterator[Example]:
    """Region, zone and users' regions are in the catalog, each under its own cloud."""
    yield Fails(
        AGG.set("cells.east-a.region", "us-east1"),
        "cells.east-a.region",
        ("aws", "`us-east1`"),
        fix_says=("`us-east-1`",),
    )
    yield Fails(
        AGG.set("cells.east-a.zone", "us-east-1g"), "cells.east-a.zone", ("us-east-1", "`us-east-1g`"),
        fix_says=("us-east-1",),
    )  # fmt: skip
    # A region of the other cloud is not one of this cloud.
    yield Fails(AGG.set("cells.east-a.region", "us-central1"), "cells.east-a.region", ("aws", "`us-central1`"))
    routing = AGG.set("routing", {"domain": "llm.example.com", "users_near": ["aws:us-east-1", "eu-west-1"]})
    yield Fails(routing, "routing.users_near[1]", ("`eu-west-1`",), fix_says=("eu-west-1",))
    yield Passes(routing.set("routing.users_near[1]", "aws:eu-west-1"))
    yield Passes(AGG.set("cells.east-a.zone", "us-east-1f"))


@examples("IF-REF-008")
def test_accounts() -> Iterator[Example]:
    """Each cloud that has a cell has an account."""
    both = base(AGGREGATED, GCP)
    yield Fails(both.delete("accounts.gcp"), "accounts", ("gcp", "accounts.gcp"), fix_says=("gcp: {project: …}",))
    yield Fails(both.delete("accounts.aws"), "accounts", ("accounts.aws",), fix_says=("aws: {account_id: …}",))
    yield Passes(both)


@examples("IF-REF-009")
def test_pinned() -> Iterator[Example]:
    """Weights from the Hub are pinned to a commit (40 hexadecimal digits); gated ones name a token."""
    short = AGG.set("models.qwen-8b.revision", "0e9e39f")
    yield Fails(short, "models.qwen-8b.revision", ("`0e9e39f`", "commit hash"), fix_says=("40",))
    yield Passes(short.set("models.qwen-8b.source", "s3://weights/qwen"))
    # 39 digits, then 40.
    yield Fails(AGG.set("models.qwen-8b.revision", "a" * 39), "models.qwen-8b.revision", ("a" * 39,))
    yield Passes(AGG.set("models.qwen-8b.revision", "a" * 40))
    gated = DIS.set("models.llama-70b.quantization", "bf16")  # meta-llama's own repository asks for the licence
    yield Fails(gated, "models.llama-70b", ("gated", "no token"), fix_says=("token_secret",))
    yield Passes(gated.set("models.llama-70b.token_secret", "hub-token"))
    yield Passes(gated.set("models.llama-70b.gated", False))
    drafted = AGG.set("models.qwen-8b.speculative", {"method": "eagle3", "draft": {**DRAFT, "revision": "version-1"}})
    yield Fails(drafted, "models.qwen-8b.speculative.draft.revision", ("`version-1`",))


@examples("IF-REF-010")
def test_overrides() -> Iterator[Example]:
    """A cell overrides only fields that the pool's topology has."""
    yield Fails(
        AGG.set("cells.east-a.pools.docs", {"decode_replicas": {"desired": 4}}),
        "cells.east-a.pools.docs.decode_replicas",
        ("`docs` is aggregated", "`decode_replicas`"),
        fix_says=("`worker_replicas`",),
    )
    yield Fails(
        DIS.set("cells.east-b.pools.chat", {"nodes": {"desired": 4}}),
        "cells.east-b.pools.chat.nodes",
        ("`chat` is disaggregated", "`nodes`"),
        fix_says=("`prefill_replicas` and `decode_replicas`",),
    )
    yield Passes(AGG.set("cells.east-a.pools.docs", {"worker_replicas": {"desired": 8}}))
    yield Passes(SMALL.set("cells.east-a.pools.small", {"nodes": {"desired": 2}}))


@examples("IF-CLD-001")
def test_machines() -> Iterator[Example]:
    """The cell's cloud has the machine type, or a machine with the GPU that holds the pool's largest worker."""
    yield Fails(
        AGG.set("pools.docs.instance", "g6e.12xlage"), "pools.docs.instance", ("aws", "`g6e.12xlage`"),
        fix_says=("did you mean `g6e.12xlarge`?",),
    )  # fmt: skip
    other = GOOGLE.set("pools.far.instance", "p5en.48xlarge").delete("pools.far.gpu")
    yield Fails(other, "pools.far.instance", ("`p5en.48xlarge`", "of aws", "`central-c`"), fix_says=("`gpu: h200`",))
    gpu = AGG.delete("pools.docs.instance")
    yield Fails(
        gpu.set("pools.docs.gpu", "l40"),
        "pools.docs.gpu",
        ("no GPU `l40`",),
        fix_says=("did you mean `l40s`?",),
    )
    # Google sells no L40S.
    on_google = GOOGLE.set("pools.far.gpu", "l40s")
    yield Fails(on_google, "pools.far.gpu", ("gcp sells no l40s", "`central-c`"), fix_says=("h200",))
    # Google's H100 machines (A3 High and Mega) have no RoCE, which a disaggregated pool needs.
    yield Fails(
        GOOGLE.set("pools.far.gpu", "h100"),
        "pools.far.gpu",
        ("h100", "a worker of 4 GPUs", "RDMA", "a3-megagpu-8g"),
        fix_says=("`topology: aggregated`",),
    )
    yield Passes(gpu.set("pools.docs.gpu", "l40s"))
    yield Passes(GOOGLE)
    # L4 on Google: at most 8 in a machine, and no RDMA between machines.
    l4 = base(GCP, AGGREGATED).delete("cells.east-a").delete("pools.docs.instance").set("pools.docs.gpu", "l4")
    l4 = l4.set("cells.central-c.pools.docs", {})
    yield Fails(l4.set("pools.docs.worker.pipeline_parallel", 9), "pools.docs.gpu", ("l4", "a worker of 9 GPUs"))
    yield Passes(l4.set("pools.docs.worker.pipeline_parallel", 8))


@examples("IF-FAB-001")
def test_fabrics() -> Iterator[Example]:
    """AWS sells EFA and no RoCE, Google the other way round; and the machine has the fabric that is asked for."""
    yield Fails(
        DIS.set("cells.east-b.fabric", {"kind": "roce"}), "cells.east-b.fabric.kind", ("aws", "roce", "EFA"),
        fix_says=("leave `fabric` out",),
    )  # fmt: skip
    yield Fails(GOOGLE.set("cells.central-c.fabric", {"kind": "efa"}), "cells.central-c.fabric.kind", ("gcp", "efa"))
    yield Fails(
        GOOGLE.set("pools.far.fabric", "efa"), "pools.far.fabric", ("gcp", "efa", "`central-c`"),
        fix_says=("`fabric: auto`",),
    )  # fmt: skip
    # EFA starts at g6e.8xlarge among the machines with one L40S.
    small = AGG.set("pools.docs.instance", "g6e.4xlarge").set("pools.docs.fabric", "efa")
    yield Fails(small, "pools.docs.fabric", ("g6e.4xlarge has no EFA",), fix_says=("g6e.8xlarge",))
    yield Passes(small.set("pools.docs.instance", "g6e.8xlarge"))
    yield Passes(DIS.set("cells.east-b.fabric", {"kind": "efa"}))
    yield Passes(GOOGLE.set("cells.central-c.fabric", {"kind": "roce"}))


@examples("IF-CLD-002")
def test_capacity() -> Iterator[Example]:
    """Capacity Blocks are AWS's, reservation blocks Google's; EC2 reservations are called `cr-…`; p6e-gb200 is
    sold through Capacity Blocks only.
    """
    block = {"kind": "capacity_block", "id": "cr-0a1b2c3d4e5f60010", "ends_at": "2027-01-31T11:30:00Z"}
    here = "cells.central-c.pools.far.capacity"
    yield Fails(GOOGLE.set(here, block), here, ("AWS's", "`central-c`", "gcp"), fix_says=("`kind: reservation`",))
    yield Fails(GOOGLE.set("pools.far.capacity", block), "pools.far.capacity", ("Capacity Blocks",))
    yield Passes(DIS.set("cells.east-b.pools.chat.capacity", block))
    reservation = {"kind": "reservation", "id": "h200-chat"}
    yield Fails(
        DIS.set("pools.chat.capacity", reservation), "pools.chat.capacity.id", ("`h200-chat`",), fix_says=("cr-",)
    )
    yield Passes(GOOGLE.set("pools.far.capacity", {**reservation, "block": "block-1"}))
    yield Fails(
        DIS.set("pools.chat.capacity", {"kind": "reservation", "id": "cr-1", "block": "b"}),
        "pools.chat.capacity.block",
        ("Google's",),
        fix_says=("remove `block`",),
    )
    gb200 = AGG.set("pools.docs.instance", "p6e-gb200.36xlarge")
    yield Fails(gb200, "pools.docs.capacity", ("p6e-gb200.36xlarge", "on demand"), fix_says=("capacity_block",))
    yield Passes(gb200.set("pools.docs.capacity", block))


@examples("IF-CLD-003")
def test_reservation_once() -> Iterator[Example]:
    """One reservation, one pool in one cell: a reservation lies in one zone. Prefill and decode of a pool share."""
    one = {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60001"}
    shared = TWO.set("cells.east-a.pools.docs.capacity", one).set("cells.east-b.pools.chat.capacity", one)
    yield Fails(
        shared, "cells.east-b.pools.chat", ("cr-0a1b2c3d4e5f60001", "east-a/docs"), "warning", fix_says=("another",)
    )
    yield Passes(shared.set("cells.east-b.pools.chat.capacity.id", "cr-0a1b2c3d4e5f60002"))
    yield Passes(DIS.set("cells.east-b.pools.chat.capacity", one))


@examples("IF-NET-001")
def test_ranges() -> Iterator[Example]:
    """Ranges are IPv4 networks with zero host bits."""
    at = "cells.east-a.network.cidr"
    yield Fails(AGG.set(at, "10.16.0.1/16"), at, ("`10.16.0.1/16`",), fix_says=("did you mean 10.16.0.0/16?",))
    yield Fails(AGG.set(at, "10.256.0.0/16"), at, ("`10.256.0.0/16`",), fix_says=("255",))
    yield Fails(AGG.set(at, "10.16.0.0/33"), at, ("/33",), fix_says=("32",))
    access = {"kind": "private", "runner_cidrs": ["10.0.0.0/16", "10.0.1.0/16"]}
    yield Fails(AGG.set("access", access), "access.runner_cidrs[1]", ("`10.0.1.0/16`",), fix_says=("10.0.0.0/16",))
    yield Fails(AGG.set("kept_apart", {"storage": ["10.1.1.1/8"]}), "kept_apart.storage[0]", ("`10.1.1.1/8`",))
    yield Passes(AGG.set(at, "10.240.0.0/16"))


@examples("IF-NET-002")
def test_range_sizes() -> Iterator[Example]:
    """A new network is /16 to /20; an RDMA range holds 8 subnets (/26 or wider). An existing one is as it is."""
    at = "cells.east-a.network.cidr"
    yield Fails(AGG.set(at, "10.16.0.0/21"), at, ("/21", "/16", "/20"), fix_says=("use /16",))
    yield Passes(AGG.set(at, "10.16.0.0/20"))
    yield Fails(AGG.set(at, "10.16.0.0/15"), at, ("/15", "/16", "/20"))
    yield Passes(AGG.set(at, "10.16.0.0/16"))
    rdma = "cells.central-c.fabric.rdma_cidr"
    roce = GOOGLE.set("cells.central-c.fabric", {"kind": "roce", "rdma_cidr": "10.48.128.0/27"})
    yield Fails(roce, rdma, ("/27", "8 subnets"), fix_says=("/24",))
    yield Passes(roce.set(rdma, "10.48.128.0/26"))
    existing = {
        "kind": "existing", "vpc_id": "vpc-0a1b2c3d", "cidr": "10.16.0.0/22",
        "node_subnet_ids": ["subnet-0a1b2c3d", "subnet-0a1b2c3e"],
        "inference_subnet_id": "subnet-0a1b2c3f",
    }  # fmt: skip
    yield Passes(AGG.set("cells.east-a.network", existing))


@examples("IF-NET-003")
def test_ranges_apart() -> Iterator[Example]:
    """Cells, RDMA ranges and ranges of other traffic do not overlap; RDMA stands in its cell's upper half."""
    at = "cells.east-b.network.cidr"
    yield Fails(
        TWO.set(at, "10.16.240.0/20"), at, ("10.16.240.0/20", "10.16.0.0/16", "cells.east-a.network.cidr"),
        fix_says=("outside 10.16.0.0/16",),
    )  # fmt: skip
    yield Passes(TWO.set(at, "10.17.0.0/20"))
    apart = AGG.set("kept_apart", {"storage": ["10.64.0.0/16"], "training": ["10.16.128.0/20"]})
    yield Fails(apart, "kept_apart.training[0]", ("10.16.128.0/20", "10.16.0.0/16"))
    yield Passes(apart.set("kept_apart.training[0]", "10.64.0.0/12"))  # other traffic may overlap other traffic
    rdma = "cells.central-c.fabric.rdma_cidr"
    roce = GOOGLE.set("cells.central-c.fabric", {"kind": "roce", "rdma_cidr": "10.48.64.0/20"})
    yield Fails(roce, rdma, ("10.48.64.0/20", "10.48.0.0/16"))
    yield Passes(roce.set(rdma, "10.48.128.0/20"))
    yield Passes(roce.set(rdma, "10.200.0.0/20"))
    # A range that holds the whole cell is not the cell's upper half.
    around = roce.set(rdma, "10.48.0.0/15").set("cells.central-c.network.cidr", "10.49.0.0/16")
    yield Fails(around, "cells.central-c.network.cidr", ("10.48.0.0/15", "10.49.0.0/16"))


@examples("IF-NET-004")
def test_shares() -> Iterator[Example]:
    """Traffic shares add up to 1; cells that state none share the rest, which must not be nothing."""
    over = TWO.set("cells.east-a.traffic_share", 0.7).set("cells.east-b.traffic_share", 0.5)
    at = "cells.east-b.traffic_share"
    yield Fails(over, at, ("1.2",), fix_says=("take 0.2 away",))
    yield Passes(over.set(at, 0.3))
    yield Fails(over.set(at, 0.1), at, ("0.8",), fix_says=("add 0.2",))
    yield Passes(over.delete(at))
    many = base(AGGREGATED, DISAGGREGATED, GCP)
    for name, share in (("east-a", 0.7), ("east-b", 0.1), ("central-c", 0.2)):  # 0.7 + 0.1 + 0.2 < 1 in binary
        many = many.set(f"cells.{name}.traffic_share", share)
    yield Passes(many)
    # The whole is given away, so a cell that states nothing gets nothing.
    yield Fails(TWO.set("cells.east-a.traffic_share", 1.0), "cells.east-a.traffic_share", ("`east-b`",), "warning")


@examples("IF-NET-005")
def test_endpoint() -> Iterator[Example]:
    """Public cluster endpoints name ranges of /8 or narrower."""
    opened = AGG.set("access", {"kind": "public", "allowed_cidrs": ["198.51.100.0/24", "0.0.0.0/0"]})
    at = "access.allowed_cidrs[1]"
    yield Fails(opened, at, ("0.0.0.0/0", "internet"), fix_says=("runners",))
    yield Fails(opened.set(at, "128.0.0.0/7"), at, ("128.0.0.0/7",))
    yield Passes(opened.set(at, "12.0.0.0/8"))


def test_same_pool_in_two_cells_of_a_cloud_is_one_mistake() -> None:
    """A machine type that AWS lacks is reported once, not once a cell."""
    env = AGG.set("cells.west", cell("aws", "us-west-2", "us-west-2a", "10.18.0.0/16", "docs"))
    Fails(env.set("pools.docs.instance", "g6e.13xlarge"), "pools.docs.instance", ("g6e.13xlarge",)).prove("IF-CLD-001")
