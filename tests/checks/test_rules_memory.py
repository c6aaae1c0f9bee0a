"""Rules about memory. Figures are worked out here from datasheets and config.json files, not by the package.

H200: 143,771 MiB as the driver reports. H100: 81,559 MiB. Llama 3.1 70B: 70,553,706,496 parameters, hidden size
8,192, vocabulary 128,256, 80 layers with 8 KV heads of 128; bf16 index total_size 141,107,412,992 bytes. fp8 weights
keep embedding and output matrix (2 x 128,256 x 8,192) at 2 bytes a parameter.
"""

from collections.abc import Iterator

from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, DISAGGREGATED, SHARED, Env, base

GIB = 2**30
AGG, DIS, SMALL = base(AGGREGATED), base(DISAGGREGATED), base(SHARED)
BIG = (
    DIS.delete("pools.chat.prefill").delete("pools.chat.decode").set("pools.chat.topology", "aggregated")
    .set("pools.chat.worker", {"tensor_parallel": 1, "replicas": {"desired": 8}})
)  # fmt: skip
"""Llama 3.1 70B aggregated on single H200."""

H200, H100 = 143_771 * 2**20, 81_559 * 2**20
BF16_70B = 141_107_412_992
EMBEDDINGS_70B = 2 * 128_256 * 8_192
FP8_70B = 70_553_706_496 + EMBEDDINGS_70B
KV_70B = 2 * 80 * 8 * 128
"""Elements a token: keys and values, 80 layers, 8 heads of 128."""
ACTIVATIONS = 10 * 8_192 * 8_192 * 2
"""Ten tensors of hidden size 8,192 in 16 bits for 8,192 tokens a pass."""
LOGITS = 256 * 128_256 * 4
OVERHEAD = 3 * 10**9 + ACTIVATIONS + LOGITS


def gb(value: float) -> str:
    return f"{value / 1e9:,.1f} GB"


def bf16_weights(env: Env) -> Env:
    return env.set("models.llama-70b.quantization", "bf16").set("models.llama-70b.token_secret", "hub-token")


@examples("IF-MEM-001")
def test_weights() -> Iterator[Example]:
    """Weights and overhead fit into utilization times GPU memory; 141 GB of bf16 do not fit one H200, but two."""
    bf16 = bf16_weights(BIG)
    assert gb(BF16_70B + OVERHEAD) == "145.6 GB"
    assert gb(0.92 * H200) == "138.7 GB"
    yield Fails(
        bf16,
        "pools.chat.worker.tensor_parallel",
        ("145.6 GB", "138.7 GB", "92%", "150.8 GB", "h200", "bf16"),
        fix_says=("`tensor_parallel: 2`",),
    )
    yield Passes(bf16.set("pools.chat.worker.tensor_parallel", 2))
    # (0.92 x 143,771 MiB - 3 GiB) / 1 GiB = 126.17 GiB is the most that a checkpoint may have.
    assert 126.1 < (0.92 * H200 - 3 * GIB) / GIB < 126.2
    edge = BIG.set("pools.chat.worker.overhead_gib", 3.0)
    yield Passes(edge.set("models.llama-70b.weights_gib", 126.1))
    yield Fails(edge.set("models.llama-70b.weights_gib", 126.2), "pools.chat.worker.tensor_parallel", ("138.7 GB",))


@examples("IF-MEM-002")
def test_context() -> Iterator[Example]:
    """One sequence of the promised context fits into what weights and overhead leave (vllm#2418)."""
    h100 = BIG.set("pools.chat.instance", "p5.48xlarge").set("models.llama-70b.kv_cache_dtype", "bf16")
    left = int(0.92 * H100) - FP8_70B - OVERHEAD
    holds = left // (KV_70B * 2)  # 2 bytes an element
    assert 4_000 < holds < 5_000
    at = "models.llama-70b.context_tokens"
    yield Passes(h100.set(at, holds))
    yield Fails(
        h100.set(at, holds + 1),
        at,
        (f"{holds + 1:,} tokens", gb((holds + 1) * KV_70B * 2), gb(left), f"enough for {holds:,} tokens"),
        fix_says=(f"at most {holds} tokens", "fp8"),
    )
    # An fp8 cache holds twice as much.
    fp8 = h100.set("models.llama-70b.kv_cache_dtype", "fp8")
    yield Passes(fp8.set(at, left // KV_70B))
    yield Fails(fp8.set(at, left // KV_70B + 1), at, (f"enough for {left // KV_70B:,} tokens",))


@examples("IF-MEM-003")
def test_model_context() -> Iterator[Example]:
    """No more context than max_position_embeddings: 40,960 for Qwen3 8B."""
    at = "models.qwen-8b.context_tokens"
    yield Fails(AGG.set(at, 40_961), at, ("Qwen3 8B", "40,960", "40,961"), fix_says=("write 40960",))
    yield Passes(AGG.set(at, 40_960))


@examples("IF-MEM-004")
def test_precision() -> Iterator[Example]:
    """Precisions that the GPU computes in: Turing has no bf16, Ampere no fp8, only Blackwell fp4; fp8 caches need
    Ada, nvfp4 caches Blackwell and no latent attention.
    """
    plain = AGG.set("models.qwen-8b.kv_cache_dtype", "bf16")
    yield Fails(
        plain.set("pools.docs.instance", "g4dn.12xlarge"), "pools.docs.worker", ("T4", "bf16"), fix_says=("Ampere",)
    )
    weights, cache = "models.qwen-8b.quantization", "models.qwen-8b.kv_cache_dtype"
    yield Fails(plain.set("pools.docs.instance", "g5.12xlarge"), weights, ("A10G", "fp8"), "warning")
    yield Passes(plain.set("pools.docs.instance", "g6.12xlarge"))
    yield Passes(plain.set("pools.docs.instance", "g5.12xlarge").set(weights, "bf16"))
    yield Fails(
        AGG.set("pools.docs.instance", "g5.12xlarge").set(weights, "bf16"), cache, ("Ada", "A10G"),
        fix_says=("`kv_cache_dtype: bf16`",),
    )  # fmt: skip
    yield Passes(AGG.set("pools.docs.instance", "g6.12xlarge"))
    nvfp4 = AGG.set("models.qwen-8b.catalog", "llama-3.1-8b-instruct").set(weights, "nvfp4")
    yield Fails(nvfp4, weights, ("L40S", "nvfp4"), "warning", fix_says=("fp8",))
    yield Passes(nvfp4.set("pools.docs.instance", "g7e.24xlarge"))
    yield Fails(AGG.set(cache, "nvfp4"), cache, ("Blackwell", "L40S"), fix_says=("`kv_cache_dtype: fp8`",))
    blackwell = AGG.set(cache, "nvfp4").set("pools.docs.instance", "p6-b200.48xlarge")
    yield Passes(blackwell)
    latent = blackwell.set("models.qwen-8b.catalog", "deepseek-v3").set("pools.docs.worker.tensor_parallel", 8)
    yield Fails(latent, cache, ("DeepSeek V3", "latent"), fix_says=("`kv_cache_dtype: fp8`",))


@examples("IF-MEM-004")
def test_precision_of_shared_pools() -> Iterator[Example]:
    """The same holds for models that share GPUs."""
    cache = "models.llama-8b.kv_cache_dtype"
    yield Fails(SMALL.set(cache, "nvfp4"), cache, ("Blackwell", "H100", "small"), fix_says=("`kv_cache_dtype: fp8`",))
    yield Passes(SMALL)


@examples("IF-MEM-005")
def test_host_memory() -> Iterator[Example]:
    """Pods' memory limits and huge pages fit into 94 % of the node: /dev/shm and the CPU tier count.

    p5en.48xlarge: 2,048 GiB, 94 % are 1,925 GiB. Two pods of 4 GPUs: each 40 GiB of shared memory, 4 x tier, 8 + 4 x 4
    GiB of processes; and 5 GiB of huge pages a pod. 138 + 8 x tier <= 1,925.12, so tier <= 223.39.
    """
    at = "models.llama-70b.offload.cpu_gib_per_gpu"
    tier = DIS.set("models.llama-70b.offload", {"cpu_gib_per_gpu": 223.0})
    yield Passes(tier)
    yield Fails(
        tier.set(at, 224.0),
        at,
        ("2 pods of chat prefill in east-b", "1,930 GiB", "p5en.48xlarge", "1,925 GiB", "896 GiB CPU tier"),
        fix_says=("take 1 GiB a GPU",),
    )
    # 0.1 GiB over is not "0 GiB".
    yield Fails(tier.set(at, 223.5), at, ("chat prefill",), fix_says=("take 1 GiB a GPU",))
    # Without a tier it is the machine: 16 GiB x 0.94 hold no 4 + 12 GiB.
    plain = AGG.set("pools.docs.instance", "g6.xlarge")
    yield Fails(
        plain, "pools.docs.worker.tensor_parallel", ("16 GiB a node", "15 GiB to give"), "warning",
        fix_says=("more memory",),
    )  # fmt: skip
    yield Passes(AGG.set("pools.docs.instance", "g6.2xlarge"))


@examples("IF-MEM-006")
def test_tiers_grow() -> Iterator[Example]:
    """A CPU tier holds at least what the GPU's own cache holds, a disk tier at least what the CPU tier holds.

    Decode on half of 8 H200: 0.92 x 143,771 MiB less 18.16 GB of weights and 3.47 GB of overhead is 109.02 GiB.
    """
    overhead = 3 * 10**9 + 10 * 2_048 * 8_192 * 2 + LOGITS
    decode = (int(0.92 * H200) - FP8_70B // 4 - overhead) / GIB
    prefill = (int(0.92 * H200) - FP8_70B // 4 - OVERHEAD) / GIB
    assert 108 < prefill < 108.5
    assert 109 < decode < 109.5
    at = "models.llama-70b.offload.cpu_gib_per_gpu"
    tier = DIS.set("models.llama-70b.offload", {"cpu_gib_per_gpu": 100.0})
    # Of both roles the larger cache decides.
    yield Fails(tier, at, ("100 GiB", "109 GiB", "decode"), "warning", fix_says=("at least 110",))
    yield Passes(tier.set(at, 110.0))
    disk = tier.set(at, 120.0).set("models.llama-70b.offload.nvme_gib_per_gpu", 119.5)
    yield Fails(
        disk, "models.llama-70b.offload.nvme_gib_per_gpu", ("disk tier", "119.5", "120"), "warning",
        fix_says=("at least 120",),
    )  # fmt: skip
    yield Passes(disk.set("models.llama-70b.offload.nvme_gib_per_gpu", 120.0))


@examples("IF-MEM-007")
def test_disk() -> Iterator[Example]:
    """A disk tier fits the machine's local NVMe: g6e.12xlarge has 3,800 GB for 4 GPUs, 884.8 GiB each."""
    assert 884 < 3_800e9 / 4 / GIB < 885
    offload = {"cpu_gib_per_gpu": 60.0, "nvme_gib_per_gpu": 885.0}
    at = "models.qwen-8b.offload.nvme_gib_per_gpu"
    disk = AGG.set("models.qwen-8b.offload", offload)
    yield Fails(disk, at, ("g6e.12xlarge", "3,800 GB", "4 GPUs", "3,801 GB"), fix_says=("at most 884",))
    yield Passes(disk.set(at, 884.0))
    none = base(AGGREGATED).set("models.qwen-8b.offload", {**offload, "nvme_gib_per_gpu": 70.0})
    yield Passes(none)


@examples("IF-MEM-008")
def test_shared_places() -> Iterator[Example]:
    """Each instance of a shared pool finds a place.

    Llama 3.1 8B: 9.08 GB of weights, 3.17 GB of overhead, 4 x 8,192 tokens of 64 KiB: 14.4 GB, over 0.92 15.6 GB.
    That is a 1g.20gb of an H100, of which four stand on one GPU (MIG user guide).
    """
    overhead = 3 * 10**9 + 10 * 2_048 * 4_096 * 2 + 4 * 128_256 * 4
    needed = (9_080_000_000 + overhead + 4 * 8_192 * 65_536) / 0.92
    assert gb(needed) == "15.6 GB"
    yield Passes(SMALL)  # 3 + 1
    yield Fails(
        SMALL.set("pools.small.models[0].instances", 4),
        "pools.small.models[0]",
        ("1 of 4 instances of `llama-8b`", "15.6 GB", "1 x NVIDIA H100 SXM", "85.5 GB"),
        fix_says=("add nodes",),
    )
    yield Passes(SMALL.set("pools.small.models[0].instances", 4).set("pools.small.nodes.desired", 2))
    no_mig = SMALL.set("pools.small.instance", "g6e.12xlarge")
    yield Fails(no_mig, "pools.small.sharing", ("L40S", "MIG"), fix_says=("`sharing: sleep`",))
    yield Passes(no_mig.set("pools.small.sharing", "sleep"))


@examples("IF-MEM-008")
def test_shared_in_each_cell() -> Iterator[Example]:
    """A cell that gives a shared pool fewer nodes is looked at too."""
    two = SMALL.set("pools.small.models[0].instances", 6).set("pools.small.nodes.desired", 2)
    second = {**two.get("cells.east-a"), "zone": "us-east-1b", "network": {"kind": "new", "cidr": "10.19.0.0/16"}}
    two = two.set("cells.east-z", second)
    yield Passes(two)
    short = two.set("cells.east-z.pools", {"small": {"nodes": {"desired": 1}}})
    yield Fails(short, "pools.small.models[0]", ("3 of 6 instances",))


@examples("IF-MEM-008")
def test_sleeping_engines_keep_a_part_of_the_gpu() -> Iterator[Example]:
    """An H100 of 85.52 GB with two models: one asleep leaves 0.97 - 1.29 / 85.52 = 0.954 of it, 81.59 GB. Llama 8B
    with 70 GiB of weights needs 75.16 + 3.17 + 4 x 8,192 x 65,536 bytes, 80.5 GB; with 72 GiB 82.6, of the 82.95 asked.
    """
    sleep = SMALL.set("pools.small.sharing", "sleep").set("pools.small.gpu_memory_utilization", 0.97)
    sleep = sleep.set("pools.small.models[0].instances", 1).set("models.llama-8b.weights_gib", 70.0)
    yield Passes(sleep)
    heavy = sleep.set("models.llama-8b.weights_gib", 72.0)
    yield Fails(heavy, "pools.small.models[1]", ("`qwen-8b`", "each sleeping engine keeps 1.3 GB"))
