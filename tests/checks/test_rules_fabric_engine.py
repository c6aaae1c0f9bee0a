"""Rules about KV transfer and about engine command lines."""

from collections.abc import Iterator

from rule_examples import Bend, Example, Fails, Passes, examples

from environments import AGGREGATED, DISAGGREGATED, GCP, base
from inferfab.plan.engine import Argument
from inferfab.plan.fleet import FleetPlan

AGG, DIS, GOOGLE = base(AGGREGATED), base(DISAGGREGATED), base(GCP)
WORKER = "pools.docs.worker"
KV_BYTES = 2 * 80 * 8 * 128 * 1500
"""1,500 tokens of Llama 3.1 70B in fp8: 245.76 MB."""
MOE = AGG.set("models.qwen-8b.catalog", "qwen3-30b-a3b").set("pools.docs.instance", "p5en.48xlarge")


@examples("IF-FAB-002")
def test_transfer() -> Iterator[Example]:
    """The prompt's KV cache moves within its share of the TTFT promise.

    p5en: 16 EFA of 200 Gbit/s, 8 for a worker of 4 GPUs, half of 1,600 Gbit/s is usable: 245.76 MB take 2.4576 ms.
    Of 500 ms, 0.5 % is 2.5 ms and enough, 0.4 % is 2 ms and asks for 983 Gbit/s.
    """
    assert round(KV_BYTES * 8 / 800e9 * 1000, 4) == 2.4576
    assert round(KV_BYTES * 8 / 2e-3 / 1e9) == 983
    at = "pools.chat.kv_transfer_share_of_ttft"
    yield Passes(DIS.set(at, 0.005))
    yield Fails(
        DIS.set(at, 0.004),
        at,
        ("246 MB", "1,500 tokens", "2 ms", "983 Gbit/s", "800", "50%", "1,600"),
        fix_says=("`tensor_parallel`",),
    )
    # p5: 32 EFA of 100 Gbit/s, 16 for 4 GPUs, the same 1,600; one GPU of 8 on both sides has 4 x 100, half of it.
    p5 = DIS.set("pools.chat.instance", "p5.48xlarge").set(at, 0.005)
    yield Passes(p5)
    small = p5.set("pools.chat.prefill.tensor_parallel", 2)
    yield Fails(small, at, ("2 ms", "786 Gbit/s", "400 (50% of 800)", "takes 5 ms"))


@examples("IF-FAB-003")
def test_rdma() -> Iterator[Example]:
    """KV cache over TCP (8 Gbit/s): 245.76 MB take 246 ms; an error where the promise leaves less, else a warning."""
    assert round(KV_BYTES * 8 / 8e9 * 1000) == 246
    tcp = DIS.set("pools.chat.fabric", "tcp")
    yield Fails(
        tcp, "pools.chat.fabric", ("TCP was asked for", "246 MB", "246 ms", "8 Gbit/s", "leaves 100 ms"),
        fix_says=("remove `fabric: tcp`",),
    )  # fmt: skip
    yield Fails(
        tcp.set("pools.chat.kv_transfer_share_of_ttft", 0.5), "pools.chat.fabric", ("leaves 250 ms",), "warning"
    )
    cell = DIS.set("cells.east-b.fabric", {"kind": "tcp"})
    yield Fails(cell, "cells.east-b.fabric", ("TCP was asked for",))
    # L4 machines below g6.8xlarge have no EFA.
    small = DIS.set("pools.chat.instance", "g6.4xlarge")
    yield Fails(
        small, "pools.chat.topology", ("g6.4xlarge has no RDMA",),
        fix_says=("g6.12xlarge", "`topology: aggregated`"),
    )  # fmt: skip
    yield Passes(DIS)
    yield Passes(GOOGLE)
    yield Passes(AGG.set("pools.docs.fabric", "tcp"))


@examples("IF-FAB-004")
def test_interfaces() -> Iterator[Example]:
    """Each worker that moves KV cache has an RDMA interface: g6e.24xlarge has 4 GPUs and 2 EFA."""
    two = (
        DIS.set("pools.chat.instance", "g6e.24xlarge").set("models.llama-70b.catalog", "qwen3-8b")
        .set("pools.chat.prefill.tensor_parallel", 1).set("pools.chat.decode.tensor_parallel", 2)
    )  # fmt: skip
    at = "pools.chat.prefill.tensor_parallel"
    yield Fails(two, at, ("4 workers", "g6e.24xlarge", "2 RDMA"), fix_says=("at least 2 GPUs",))
    yield Passes(two.set(at, 2))
    yield Passes(DIS)


@examples("IF-FAB-005")
def test_bursts() -> Iterator[Example]:
    """A burst of 1 GB on one card against the jitter budget of 10 ms; not where storage has NICs of its own.

    A card of p5en has 3,200 / 16 = 200 Gbit/s: 40 ms. A card of p5 has 100: 80 ms.
    """
    yield Fails(DIS, "pools.chat", ("1 GB", "40 ms", "4.0 times"), "info", fix_says=("storage",))
    yield Fails(DIS.set("pools.chat.instance", "p5.48xlarge"), "pools.chat", ("80 ms", "8.0 times"), "info")
    yield Passes(GOOGLE)
    yield Passes(DIS.set("tiers.fast.promises", []))


@examples("IF-ENG-001")
def test_flags() -> Iterator[Example]:
    """Stated flags are flags of the pinned vLLM, by long name, with a value of the right kind, and not decided
    elsewhere.
    """
    at = f"{WORKER}.flags"

    def with_flag(flag: str, value: object) -> tuple[str, object]:
        return f"{at}.{flag}", AGG.set(at, {flag: value})

    cases: tuple[tuple[str, object, tuple[str, ...], tuple[str, ...]], ...] = (
        ("--enforce-egaer", True, ("0.31.0", "`--enforce-egaer`"), ("`--enforce-eager`",)),
        ("--swap-space", 4, ("0.31.0", "`--swap-space`"), ("use --kv-offloading-size",)),
        ("--disable-log-requests", True, ("`--disable-log-requests`",), ("remove it", "--enable-log-requests")),
        ("--max-num-seqs", 64, ("`--max-num-seqs`", "max_sequences"), ("remove it here",)),
        ("-tp", 2, ("`-tp`", "short form"), ("`--tensor-parallel-size`",)),
        ("--no-enforce-eager", True, ("opposite",), ("`--enforce-eager: false`",)),
        ("--enforce-eager", "yes", ("switch", "'yes'"), ("true or false",)),
        ("--max-logprobs", True, ("takes a value",), ("write its value",)),
        ("--max-logprobs", "many", ("takes a number", "'many'"), ("write a number",)),
        ("--scheduling-policy", "lifo", ("'lifo'",), ("fcfs", "priority")),
    )
    for flag, value, says, fix in cases:
        path, env = with_flag(flag, value)
        yield Fails(env, path, says, fix_says=fix)  # type: ignore[arg-type]
    good = {"--enforce-eager": True, "--max-logprobs": 5, "--scheduling-policy": "priority"}
    yield Passes(AGG.set(at, good))
    yield Passes(AGG.set(at, {"--enforce-eager": False}))
    # vLLM's HTTP server does not run in a worker; Dynamo's wrapper has flags of its own.
    for flag, value, write in (
        ("--port", 9999, "remove it"), ("--host", "127.0.0.1", "remove it"), ("--grpc", True, "remove it"),
        ("--allowed-origins", '["*"]', "remove it"), ("--chat-template", "/x", "`--custom-jinja-template`"),
        ("--tool-call-parser", "hermes", "`--dyn-tool-call-parser`"), ("--lora-modules", "a=b", "models.*.adapters"),
    ):  # fmt: skip
        yield Fails(AGG.set(at, {flag: value}), f"{at}.{flag}", (f"`{flag}`", "HTTP server"), fix_says=(write,))
    yield Passes(AGG.set(at, {"--dyn-tool-call-parser": "hermes", "--exclude-tools-when-tool-choice-none": False}))
    parser = AGG.set(at, {"--dyn-tool-call-parser": "herpes"})
    yield Fails(parser, f"{at}.--dyn-tool-call-parser", ("'herpes'",), fix_says=("hermes",))


@examples("IF-ENG-022")
def test_flags_that_the_plan_counts_on() -> Iterator[Example]:
    """Each names the field that the plan reads; what may still be right is a warning."""
    at = f"{WORKER}.flags"
    for flag, value, says, write in (
        ("--cpu-offload-gb", 400, "in no sum of the plan", "models.*.offload"),
        ("--num-gpu-blocks-override", 3, "KV cache", "`gpu_memory_utilization`"),
        ("--tokenizer", "/nowhere", "the model's folder", "models.*.source"),
        ("--download-dir", "/x", "model cache", "remove it"), ("--config", "/x.yaml", "cannot read it", "one by one"),
        ("--headless", True, "spans nodes", "remove it"), ("--enable-sleep-mode", True, "wakes", "sharing: sleep"),
        ("--node-rank", 1, "operator sets it", "`pipeline_parallel`"), ("--spec-tokens", 3, "drafting", "speculative"),
        ("--max-loras", 2, "adapters", "models.*.adapters"), ("--namespace", "x", "find each other", "remove it"),
        ("--connector", "lmcache", "refuses the flag", "remove it"), ("--realtime", True, "another kind", "remove it"),
    ):  # fmt: skip
        yield Fails(AGG.set(at, {flag: value}), f"{at}.{flag}", (f"`{flag}`", says), fix_says=(write,))
    for flag, value in (("--hf-overrides", '{"a": 1}'), ("--quantization", "fp8")):
        yield Fails(AGG.set(at, {flag: value}), f"{at}.{flag}", ("the plan reckons with",), "warning")
    yield Passes(AGG.set(at, {"--enforce-eager": True, "--otlp-traces-endpoint": "http://traces:4317"}))


@examples("IF-ENG-023")
def test_secrets_among_flags() -> Iterator[Example]:
    """The finding does not repeat the value: it goes into logs and comments."""
    at = f"{WORKER}.flags"
    token = AGG.set(at, {"--hf-token": "hf_secret"})
    yield Fails(token, f"{at}.--hf-token", ("holds a secret",), fix_says=("token_secret",))
    yield Fails(AGG.set(at, {"--api-key": "s3cret"}), f"{at}.--api-key", ("holds a secret",), fix_says=("gateway",))
    assert not [f for f in token.check().findings if "hf_secret" in f"{f.what} {f.fix} {f.value}"]
    yield Passes(AGG.set("models.qwen-8b.token_secret", "team/hf").set(at, {"--enforce-eager": True}))


def bend_arguments(argument: Argument) -> Bend:
    def bend(fleet: FleetPlan) -> FleetPlan:
        cells = []
        for c in fleet.cells:
            pools = []
            for p in c.pools:
                roles = [
                    r.model_copy(
                        update={"engine": r.engine.model_copy(update={"arguments": (*r.engine.arguments, argument)})}
                    )
                    for r in p.roles
                ]
                pools.append(p.model_copy(update={"roles": tuple(roles)}))
            cells.append(c.model_copy(update={"pools": tuple(pools)}))
        return fleet.model_copy(update={"cells": tuple(cells)})

    return bend


@examples("IF-ENG-002")
def test_decided_flags() -> Iterator[Example]:
    """What the plan decides is in the pair's flag list. No environment leads to a wrong one, so the plan is bent."""
    yield Fails(
        AGG, WORKER, ("0.31.0", "--swap-space 4"), bend=bend_arguments(Argument(flag="--swap-space", value="4"))
    )
    yield Fails(
        AGG, WORKER, ("--kv-cache-dtype fp3",), bend=bend_arguments(Argument(flag="--kv-cache-dtype", value="fp3"))
    )
    yield Passes(AGG, bend=bend_arguments(Argument(flag="--kv-cache-dtype", value="fp8")))
    yield Passes(AGG)
    yield Passes(DIS)


@examples("IF-ENG-003")
def test_heads() -> Iterator[Example]:
    """Tensor parallelism divides attention heads (64 of Llama 3.1 70B), and KV heads or the other way round."""
    at = "pools.chat.worker.tensor_parallel"
    big = (
        DIS.delete("pools.chat.prefill").delete("pools.chat.decode").set("pools.chat.topology", "aggregated")
        .set("pools.chat.worker", {"tensor_parallel": 3, "replicas": {"desired": 2}})
    )  # fmt: skip
    yield Fails(big, at, ("Llama 3.1 70B", "64 attention heads", "3 GPUs"), fix_says=("1, 2, 4, 8",))
    for split in (1, 2, 4, 8):
        yield Passes(big.set(at, split))
    # Mistral Large has 96 heads, which 6 divides, and 8 KV heads, which neither divide 6 nor are divided by it
    # (vllm/model_executor/models/llama.py LlamaAttention asserts one of both).
    mistral = big.set("models.llama-70b.catalog", "mistral-large-2407")
    yield Fails(mistral.set(at, 6), at, ("8 KV heads", "6 GPUs"), fix_says=("1, 2, 4, 8",))
    # Qwen3 30B A3B has 4 KV heads: 8 GPUs hold two copies.
    yield Passes(big.set("models.llama-70b.catalog", "qwen3-30b-a3b").set(at, 8))
    yield Passes(big.set("models.llama-70b.catalog", "deepseek-v3").set(at, 8))


@examples("IF-ENG-004")
def test_prefill_and_decode() -> Iterator[Example]:
    """P/D rules of vLLM's NIXL connector: no pipeline on the consumer, equal split with an NVFP4 cache, multiples."""
    decode = "pools.chat.decode"
    piped = DIS.set(f"{decode}.pipeline_parallel", 2)
    yield Fails(piped, f"{decode}.pipeline_parallel", ("consumer",), fix_says=("write 1",))
    yield Passes(DIS.set("pools.chat.prefill.pipeline_parallel", 2))
    nvfp4 = (
        DIS.set("pools.chat.instance", "p6-b200.48xlarge").set("models.llama-70b.kv_cache_dtype", "nvfp4")
        .set(f"{decode}.tensor_parallel", 8)
    )  # fmt: skip
    yield Fails(nvfp4, f"{decode}.tensor_parallel", ("NVFP4", "prefill 4", "decode 8"), fix_says=("write 4",))
    yield Passes(nvfp4.set(f"{decode}.tensor_parallel", 4))
    yield Passes(nvfp4.set("models.llama-70b.kv_cache_dtype", "fp8"))
    uneven = DIS.set(f"{decode}.tensor_parallel", 6)
    yield Fails(uneven, f"{decode}.tensor_parallel", ("6 is not a multiple of 4",), fix_says=("write 4",))
    yield Passes(DIS.set(f"{decode}.tensor_parallel", 2))


@examples("IF-ENG-005")
def test_batch_limits() -> Iterator[Example]:
    """A pass holds at least one token a sequence, and with drafting one and the drafted ones."""
    at = f"{WORKER}.max_batched_tokens"
    both = AGG.set(f"{WORKER}.max_sequences", 256)
    yield Fails(both.set(at, 255), at, ("255 tokens", "256 sequences"), fix_says=("at least 256",))
    yield Passes(both.set(at, 256))
    drafted = both.set("models.qwen-8b.speculative", {"method": "ngram", "tokens": 3})
    yield Fails(
        drafted.set(at, 1023), at, ("1023 tokens", "256 sequences of 4"), "warning", fix_says=("at least 1024",)
    )
    yield Passes(drafted.set(at, 1024))


@examples("IF-ENG-006")
def test_experts() -> Iterator[Example]:
    """Expert and data parallelism need experts: an error and a warning on a dense model."""
    yield Fails(
        AGG.set(f"{WORKER}.expert_parallel", True), f"{WORKER}.expert_parallel", ("Qwen3 8B", "no experts"),
        fix_says=("remove it",),
    )  # fmt: skip
    yield Fails(AGG.set(f"{WORKER}.data_parallel", 2), f"{WORKER}.data_parallel", ("Qwen3 8B",), "warning")
    yield Passes(MOE.set(f"{WORKER}.expert_parallel", True).set(f"{WORKER}.data_parallel", 8))


@examples("IF-ENG-007")
def test_offload_hashes() -> Iterator[Example]:
    """Offloaded blocks are found by prefix hash."""
    off = AGG.set("models.qwen-8b.offload", {"cpu_gib_per_gpu": 40.0}).set("models.qwen-8b.prefix_caching", False)
    yield Fails(off, "models.qwen-8b.offload", ("prefix caching is off",), "warning", fix_says=("prefix_caching",))
    yield Passes(off.set("models.qwen-8b.prefix_caching", True))
    yield Passes(off.delete("models.qwen-8b.offload"))


@examples("IF-ENG-024")
def test_suffix_needs_a_package() -> Iterator[Example]:
    """vLLM does not bring arctic-inference."""
    at = "models.qwen-8b.speculative"
    yield Fails(
        AGG.set(at, {"method": "suffix"}), f"{at}.method", ("arctic-inference",), "warning", fix_says=("`ngram`",)
    )
    yield Passes(AGG.set(at, {"method": "ngram"}))
