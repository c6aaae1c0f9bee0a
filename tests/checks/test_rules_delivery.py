"""Rules about what a cluster runs: tiers that join, places, claims, names, models on their way to the nodes."""

import copy
from collections.abc import Iterator

from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, DISAGGREGATED, GCP, SHARED, Env, base

AGG, DIS, GOOGLE, SMALL = base(AGGREGATED), base(DISAGGREGATED), base(GCP), base(SHARED)


def two_tiers(env: Env, pool: str, cell: str, other: str) -> Env:
    """The pool's model sold in the tier ``other`` too, by an equal pool ``second``."""
    same = copy.deepcopy(env.tree["pools"][pool])
    made = env.set(f"tiers.{other}", {}).add("pools.second", {**same, "tier": other})
    return made.add(f"cells.{cell}.pools.second", copy.deepcopy(env.tree["cells"][cell]["pools"][pool]))


TIERS = two_tiers(DIS, "chat", "east-b", "slow")


@examples("IF-SRV-001")
def test_tiers_hand_over() -> Iterator[Example]:
    """nixl tp_mapping: prefill on more GPUs than decode needs equal blocks; prefill's blocks are never the larger."""
    yield Passes(TIERS)
    smaller = TIERS.set("pools.second.block_tokens", 32)
    at = "pools.second.prefill.tensor_parallel"
    yield Fails(smaller, at, ("`second`", "`chat`", "32", "16"))
    nvfp4 = TIERS.set("models.llama-70b.kv_cache_dtype", "nvfp4").set("pools.second.prefill.tensor_parallel", 8)
    nvfp4 = nvfp4.set("pools.second.decode.tensor_parallel", 8)
    yield Fails(nvfp4, at, ("NVFP4", "8", "4"), count=2)


@examples("IF-SRV-002")
def test_tiers_are_joined() -> Iterator[Example]:
    """pool_selection.py: modes agg and disagg, one of them at a time."""
    yield Passes(TIERS)
    again = TIERS.set("pools.second.tier", TIERS.tree["pools"]["chat"]["tier"])
    yield Passes(again)
    alone = copy.deepcopy(TIERS.tree["pools"]["chat"]["prefill"])
    mixed = TIERS.set(
        "pools.second",
        {"topology": "aggregated", "tier": "slow", "model": "llama-70b", "instance": "p5en.48xlarge", "worker": alone},
    )
    yield Fails(mixed, "models.llama-70b", ("several tiers", "aggregated", "disaggregated"), "warning")


@examples("IF-SRV-003")
def test_locality_can_be_kept() -> Iterator[Example]:
    """On a cloud the place is known after launch; behind a router over tiers it is not looked at."""
    at = "pools.chat.locality"
    yield Passes(DIS)
    yield Passes(DIS.set(at, "none"))
    yield Fails(DIS.set(at, "required"), at, ("after its launch",), "warning", fix_says=("preferred",))
    yield Fails(TIERS.set(at, "required"), at, ("knows no places",))


@examples("IF-SRV-004")
def test_the_disk_class_is_there() -> Iterator[Example]:
    """Named or not, somebody else has to make it."""
    at = "models.qwen-8b.offload.nvme_storage_class"
    memory = AGG.set("models.qwen-8b.offload", {"cpu_gib_per_gpu": 40.0})
    yield Passes(memory)
    disk = memory.set("models.qwen-8b.offload.nvme_gib_per_gpu", 100.0)
    yield Fails(disk, at, ("`local-nvme`",), "warning")
    yield Fails(disk.set(at, "topolvm"), at, ("`topolvm`",), "warning")


@examples("IF-SRV-005")
def test_claims_fit() -> Iterator[Example]:
    """p5.48xlarge: 8 GPUs and 32 EFA interfaces are 40 devices, and a claim takes 32."""
    dranet = DIS.set("cells.east-b.fabric", {"kind": "efa", "plugin": "dranet"})
    yield Passes(dranet)
    wide = dranet.set("pools.chat.instance", "p5.48xlarge")
    for role in ("prefill", "decode"):
        wide = wide.set(f"pools.chat.{role}.tensor_parallel", 8)
    yield Fails(wide, "cells.east-b.fabric.plugin", ("prefill", "40 devices"), count=2, fix_says=("device-plugin",))
    spread = dranet.set("pools.chat.prefill.tensor_parallel", 8).set("pools.chat.prefill.pipeline_parallel", 2)
    yield Fails(spread, "cells.east-b.fabric.plugin", ("2 nodes", "claim"))


@examples("IF-SRV-006")
def test_models_reach_nodes() -> Iterator[Example]:
    """Without a way out only the store is left, on Google too."""
    at = "cells.east-a.network.egress"
    yield Passes(AGG)
    yield Fails(AGG.set(at, "none"), at, ("store only",), "warning", fix_says=("s3://", ".complete", "egress: nat"))
    yield Passes(AGG.set(at, "none").set("models.qwen-8b.source", "s3://weights/qwen-8b"))
    far = "cells.central-c.network.egress"
    yield Fails(GOOGLE.set(far, "none"), far, ("store only",), "warning", fix_says=("gs://", ".complete"))


@examples("IF-SRV-007")
def test_sources_are_readable() -> Iterator[Example]:
    """Each cloud's nodes read that cloud's buckets."""
    at = "models.qwen-8b.source"
    yield Passes(AGG.set(at, "s3://weights/qwen-8b"))
    yield Fails(AGG.set(at, "gs://weights/qwen-8b"), at, ("east-a is on aws", "`gs://`"), fix_says=("s3://",))
    yield Fails(AGG.set(at, "oci://weights/qwen-8b"), at, ("`oci://`",))
    model = GOOGLE.tree["pools"]["far"]["model"]
    yield Passes(GOOGLE.set(f"models.{model}.source", "gs://weights/llama"))
    yield Fails(GOOGLE.set(f"models.{model}.source", "s3://weights/llama"), f"models.{model}.source", ("gcp",))


@examples("IF-SRV-008")
def test_graphs_have_names_of_their_own() -> Iterator[Example]:
    """A disaggregated pool behind a router makes `chat-prefill`, and so may another pool."""
    yield Passes(TIERS)
    small = SMALL.tree["pools"]["small"]["models"]
    assert {m["model"] for m in small} >= {"llama-8b"}
    twin = copy.deepcopy(AGG.tree["pools"]["docs"])
    both = base(AGGREGATED, SHARED).add("pools.small-llama-8b", twin).add("cells.east-a.pools.small-llama-8b", None)
    yield Fails(both, "pools.small-llama-8b", ("`small`", "`small-llama-8b`", "east-a"))


@examples("IF-SRV-009")
def test_models_fit_the_disk() -> Iterator[Example]:
    """g6e.xlarge has 250 GB of local disk; a model of 210 GiB, 225 GB, needs 271 with room for a new revision."""
    yield Passes(AGG)
    heavy = AGG.set("models.qwen-8b.weights_gib", 210.0).set("pools.docs.instance", "g6e.xlarge")
    yield Fails(heavy, "pools.docs", ("271 GB", "g6e.xlarge", "250 GB"))


@examples("IF-SRV-010")
def test_adapters_have_names_of_their_own() -> Iterator[Example]:
    """Requests name models and adapters alike."""
    adapter = {"source": "example/legal", "revision": "0123456789abcdef"}
    one = AGG.set("models.qwen-8b.adapters", {"legal": adapter})
    yield Passes(one)
    yield Fails(
        AGG.set("models.qwen-8b.adapters", {"qwen-8b": adapter}), "models.qwen-8b.adapters.qwen-8b", ("a model",)
    )


@examples("IF-SRV-011")
def test_lanes_load_no_adapters() -> Iterator[Example]:
    """A lane's engines are no workers of Dynamo's; slices of MIG hold workers."""
    adapter = {"legal": {"source": "example/legal", "revision": "0123456789abcdef"}}
    mig = SMALL.set("models.qwen-8b.adapters", adapter)
    yield Passes(mig)
    yield Passes(SMALL.set("pools.small.sharing", "sleep"))
    yield Fails(mig.set("pools.small.sharing", "sleep"), "models.qwen-8b.adapters", ("takes turns", "`small`"))


@examples("IF-SRV-012")
def test_adapters_need_the_hub() -> Iterator[Example]:
    """Even where the weights are in a bucket."""
    at = "cells.east-a.network.egress"
    adapter = {"legal": {"source": "example/legal", "revision": "0123456789abcdef"}}
    closed = AGG.set(at, "none").set("models.qwen-8b.source", "s3://weights/qwen-8b")
    yield Passes(closed)
    yield Passes(AGG.set("models.qwen-8b.adapters", adapter))
    yield Fails(closed.set("models.qwen-8b.adapters", adapter), at, ("`qwen-8b`", "east-a"), fix_says=("nat",))


def promising(env: Env, tier: str, **at_most_ms: float) -> Env:
    promises = [{"metric": metric, "percentile": 95, "at_most_ms": ms} for metric, ms in at_most_ms.items()]
    return env.set(f"tiers.{tier}.promises", promises)


@examples("IF-PRM-010")
def test_tiers_stand_fastest_first() -> Iterator[Example]:
    """The file's order is the rank of pods and router keys: `fast` stands first, `slow` behind it."""
    sound = promising(promising(TIERS, "fast", ttft=900, itl=40), "slow", ttft=9000, itl=90)
    yield Passes(sound)
    turned = promising(promising(TIERS, "fast", ttft=9000), "slow", ttft=900)
    yield Fails(
        turned, "tiers.slow", ("after `fast`", "`llama-70b`", "TTFT 900 ms after 9000 ms"), count=2,
        fix_says=("fastest first",),
    )  # fmt: skip
    # The first token is in order, and the time between tokens is not.
    mixed = promising(promising(TIERS, "fast", ttft=900, itl=90), "slow", ttft=9000, itl=40)
    yield Fails(mixed, "tiers.slow", ("ITL 40 ms after 90 ms",), "warning")
    # 2 x 40 ms, since 40 do not tell it from the tier before; the last tier needs no key where it promises none.
    equal = promising(sound, "slow", ttft=9000, itl=40)
    yield Fails(equal, "tiers.slow", ("does not promise: ITL 80 ms",), "info")
    yield Fails(promising(sound, "fast", ttft=900), "tiers.fast", ("ITL 20 ms",), "info")
    yield Passes(promising(sound, "slow"))
    # Of models that are sold apart the order says nothing.
    yield Passes(promising(promising(base(AGGREGATED, SHARED), "fast", ttft=900), "slow"))


@examples("IF-PLC-013")
def test_system_nodes() -> Iterator[Example]:
    """A m7i.xlarge gives 3.7 vCPUs and 15 GiB. Two frontends ask for 2 and 4, Prometheus and operators for 3 and 13,
    two gateways for 0.2 and 1: 5.2 and 18, so two nodes; with the graph twice 7.2 and 22, still two of 7.4 and 30.
    """
    at = "cells.east-a.system_nodes"
    yield Passes(AGG)
    small = AGG.set(at, {"instance": "m7i.xlarge", "count": 2})
    yield Passes(small)
    yield Fails(
        small.set(f"{at}.count", 1), f"{at}.count", ("5.2 vCPUs and 18 GiB", "give 3.7 and 15"), fix_says=("count: 2",)
    )
    # Three frontends: 6.2 and 9.2.
    three = small.set("pools.docs.frontends", 3)
    yield Fails(three, f"{at}.count", ("every graph twice", "9.2 vCPUs"), "info", fix_says=("count: 3",))
    yield Passes(three.set(f"{at}.count", 3))
    # Prometheus asks for 8 GiB, and a m7i.large has 7 to give.
    yield Fails(small.set(f"{at}.instance", "m7i.large"), f"{at}.instance", ("8 GiB", "7.0 GiB"))
    # A family that is not in the catalog is not judged.
    yield Passes(small.set(f"{at}.instance", "t4g.micro"))
