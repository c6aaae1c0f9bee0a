"""Rules about what is on record about models, and about the order of a rollout."""

from collections.abc import Iterator

from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, DISAGGREGATED, REVISION, base

AGG, DIS = base(AGGREGATED), base(DISAGGREGATED)
RECORD = {
    "suite": "mmlu_pro", "revision": REVISION, "kv_cache_dtype": "fp8", "score": 57.0, "baseline": 57.2,
    "date": "2026-11-01", "by": "evals",
}  # fmt: skip
AT = "models.qwen-8b.evaluations"


@examples("IF-MDL-001")
def test_quantized_weights() -> Iterator[Example]:
    """FP8 weights, of which 16-bit ones exist: refused where a rollout moves traffic to them."""
    moved = AGG.set("rollout", {})
    yield Fails(moved, "models.qwen-8b", ("fp8", "rollout"), fix_says=("evaluations",))
    yield Passes(AGG)
    yield Passes(moved.set(AT, [RECORD]))
    # As its authors published it: there are no 16-bit weights that it stands in for.
    native = moved.set("models.qwen-8b.catalog", "gpt-oss-20b").set("models.qwen-8b.quantization", "mxfp4")
    yield Passes(native)


@examples("IF-MDL-002")
def test_evaluations() -> Iterator[Example]:
    """57.0 of 57.2 is 0.35 % less, 56.0 is 2.1 %. Perplexity is better when lower: 6.3 for 6.0 is 5 % worse."""
    good = AGG.set(AT, [RECORD])
    yield Passes(good)
    yield Fails(good.set("models.qwen-8b.revision", "b" * 40), "models.qwen-8b.revision", ("bbbbbbbbbbbb", "0e9e39f24"))
    yield Fails(AGG.set(AT, [{**RECORD, "score": 56.0}]), f"{AT}[0].score", ("2.1 %", "1 %"))
    yield Passes(AGG.set(AT, [{**RECORD, "score": 56.0, "largest_loss_percent": 2.5}]))
    lower = {**RECORD, "score": 6.3, "baseline": 6.0, "better": "lower"}
    yield Fails(AGG.set(AT, [lower]), f"{AT}[0].score", ("5 %",))
    yield Passes(AGG.set(AT, [{**lower, "score": 5.9}]))
    other = {**RECORD, "kv_cache_dtype": "bf16"}
    yield Fails(AGG.set(AT, [other]), f"{AT}[0].kv_cache_dtype", ("`bf16`", "`fp8`"), "warning")


@examples("IF-MDL-003")
def test_licences() -> Iterator[Example]:
    """meta-llama's own repository is gated; a mirror in a bucket is not asked."""
    gated = DIS.set("models.llama-70b.quantization", "bf16").set("models.llama-70b.token_secret", "hub-token")
    yield Fails(gated, "models.llama-70b", ("Llama 3.1 Community License",), "warning", fix_says=("licence_accepted",))
    yield Fails(gated.set("rollout", {}), "models.llama-70b", ("gated",))
    yield Passes(gated.set("models.llama-70b.licence_accepted", {"by": "legal", "date": "2026-10-01"}))
    yield Passes(gated.set("models.llama-70b.source", "s3://weights/llama-70b"))


@examples("IF-MDL-004")
def test_order_of_cells() -> Iterator[Example]:
    """Every cell, each once."""
    both = base(AGGREGATED, DISAGGREGATED)
    at = "rollout"
    yield Passes(both.set(at, {"order": ["east-b", "east-a"]}))
    yield Passes(both.set(at, {}))
    yield Fails(both.set(at, {"order": ["east-a"]}), f"{at}.order", ("east-b would never change",))
    yield Fails(both.set(at, {"order": ["east-a", "east-b", "east-a"]}), f"{at}.order[2]", ("twice",))
    wrong = both.set(at, {"order": ["east-a", "east-b", "east-q"]})
    yield Fails(wrong, f"{at}.order[2]", ("no cell `east-q`",), fix_says=("remove it",))
    meant = both.set(at, {"order": ["east-a", "east-q"]})
    yield Fails(meant, f"{at}.order[1]", ("no cell `east-q`",), count=2, fix_says=("`east-b`",))
