"""Rules of gateways and tenants: one that fails and one that passes each."""

from collections.abc import Iterator
from pathlib import Path

import yaml
from rule_examples import Example, Fails, Passes, examples

from environments import Env, base

PLAIN = base("aggregated")
GOOGLE = base("gcp")
RACKS = Env(
    yaml.safe_load((Path(__file__).parents[2] / "environments" / "prod-hybrid.yaml").read_text(encoding="utf-8"))
)
TIER = next(iter({pool["tier"] for pool in PLAIN.tree["pools"].values()}))
TENANTS = {"search": {"tiers": {TIER: None}}}
KEYED = PLAIN.set("tenants", TENANTS)
PART = f"tenants.search.tiers.{TIER}"
ROUTED = PLAIN.set("routing", {"domain": "llm.example.com"})
OIDC = {
    "kind": "oidc", "issuer": "https://login.example.com", "jwks_uri": "https://login.example.com/certs",
    "audiences": ["llm"],
}  # fmt: skip
CELL = next(iter(PLAIN.tree["cells"]))


@examples("IF-GTW-001")
def test_somebody_is_asked() -> Iterator[Example]:
    """Public and open is said; internal, or with tenants, is not."""
    yield Fails(PLAIN, f"cells.{CELL}", (CELL, "public"), "warning", fix_says=("tenants",))
    spelled = PLAIN.set("gateway", {"authentication": {"kind": "none"}})
    yield Fails(spelled, "gateway.authentication", (CELL,), "warning")
    yield Passes(KEYED)
    yield Passes(PLAIN.set(f"cells.{CELL}.gateways", {"public": False}))


@examples("IF-GTW-002")
def test_one_kind_of_credential() -> Iterator[Example]:
    """A key where tokens are read, and a claim where keys are."""
    tokens = KEYED.set("gateway", {"authentication": OIDC})
    yield Fails(tokens.set("tenants.search.api_key", "a/b"), "tenants.search.api_key", ("tokens of an issuer",))
    yield Fails(KEYED.set("tenants.search.claim", "x"), "tenants.search.claim", ("API keys",), fix_says=("oidc",))
    yield Passes(tokens.set("tenants.search.claim", "x"))
    yield Passes(KEYED.set("tenants.search.api_key", "a/b"))


@examples("IF-GTW-003")
def test_tokens_are_counted() -> Iterator[Example]:
    """Local limits count requests."""
    local = KEYED.set("gateway", {"rate_limits": {"kind": "local"}})
    yield Fails(local.set(PART, {"share_percent": 10.0}), f"{PART}.share_percent", ("search",), fix_says=("global",))
    yield Fails(local.set(PART, {"tokens_per_minute": 900_000}), f"{PART}.tokens_per_minute", ("requests only",))
    yield Passes(local.set(PART, {"requests_per_minute": 10}))
    yield Passes(KEYED.set(PART, {"share_percent": 10.0}))


@examples("IF-GTW-004")
def test_timeouts_fit() -> Iterator[Example]:
    """Workload of 1,000 answer tokens with 50 ms between them at most: 50 s, and a TTFT of 2 s before."""
    promises = [
        {"metric": "ttft", "percentile": 95.0, "at_most_ms": 2000.0},
        {"metric": "itl", "percentile": 95.0, "at_most_ms": 50.0},
    ]
    tier = {"promises": promises, "workload": {"prompt_tokens": 1000, "output_tokens": 1000}}
    slow = PLAIN.set(f"tiers.{TIER}", tier)
    at = f"gateway.tiers.{TIER}"
    short = slow.set("gateway", {"tiers": {TIER: {"timeout_seconds": 51}}})
    yield Fails(short, f"{at}.timeout_seconds", ("52 s", "51 s"), fix_says=("53",))
    yield Passes(short.set(f"{at}.timeout_seconds", 52))


@examples("IF-GTW-005")
def test_bodies_fit() -> Iterator[Example]:
    """262,144 tokens of 4 bytes are 1 MiB, and an envelope."""
    model = next(iter(PLAIN.tree["models"]))
    longest = max(int(one.get("context_tokens", 0)) for one in PLAIN.tree["models"].values())
    assert longest < 262_000
    tight = PLAIN.set(f"models.{model}.context_tokens", 262_144).set("gateway", {"body_limit_mib": 1})
    yield Fails(tight, "gateway.body_limit_mib", ("262,144",), fix_says=("body_limit_mib: 2",))
    yield Passes(tight.set("gateway.body_limit_mib", 2))


@examples("IF-GTW-006")
def test_tiers_are_there() -> Iterator[Example]:
    """A misspelled tier, and one that no pool serves."""
    wrong = TIER[:-1] + "x"
    yield Fails(
        PLAIN.set("gateway", {"tiers": {wrong: {"timeout_seconds": 99}}}), f"gateway.tiers.{wrong}", (wrong,),
        fix_says=(TIER,),
    )  # fmt: skip
    empty = KEYED.set("tiers.idle", {}) if "tiers" in KEYED.tree else KEYED
    idle = "idle" if "tiers" in KEYED.tree else next(t for t in ("priority", "standard", "batch") if t != TIER)
    yield Fails(
        empty.set(f"tenants.search.tiers.{idle}", None), f"tenants.search.tiers.{idle}", ("no cell",), "warning"
    )
    yield Passes(KEYED)


@examples("IF-GTW-007")
def test_names_can_be_proven() -> Iterator[Example]:
    """No zone is an error; a Google cell beside it a warning."""
    acme = {"tls": {"kind": "acme", "email": "ml@example.com"}}
    yield Fails(PLAIN.set("gateway", acme), "gateway.tls.kind", ("routing",), "warning", fix_says=("secret",))
    yield Fails(
        GOOGLE.set("gateway", acme).set("routing", {"domain": "llm.example.com"}), "gateway.tls.kind", ("Google",),
        "warning",
    )  # fmt: skip
    yield Passes(ROUTED.set("gateway", acme))


@examples("IF-GTW-008")
def test_names_are_trusted() -> Iterator[Example]:
    """Said once a name is public."""
    yield Fails(ROUTED, "routing", ("llm.example.com",), "info", fix_says=("acme",))
    own = ROUTED.set("gateway", {"tls": {"kind": "self_signed"}})
    yield Fails(own, "gateway.tls.kind", ("llm.example.com",), "info")
    yield Passes(ROUTED.set("gateway", {"tls": {"kind": "secret", "secret": "llm-tls"}}))
    yield Passes(PLAIN)


@examples("IF-GTW-009")
def test_somebody_has_a_key() -> Iterator[Example]:
    """Keys without tenants refuse everybody."""
    keys = {"authentication": {"kind": "api_keys"}}
    yield Fails(PLAIN.set("gateway", keys), "gateway.authentication.kind", ("without tenants",))
    yield Passes(KEYED.set("gateway", keys))


@examples("IF-GTW-010")
def test_racks_are_seen() -> Iterator[Example]:
    """Pods carry their zone since 1.35."""
    old = RACKS.set("cells.dc1.cluster", {"kubernetes": "1.34"})
    yield Fails(old, "cells.dc1.cluster.kubernetes", ("1.34", "rack"), "warning", fix_says=("1.35",))
    yield Passes(RACKS)
    yield Passes(PLAIN.set(f"cells.{CELL}.cluster", {"kubernetes": "1.34"}))


@examples("IF-GTW-016")
def test_answers_end() -> Iterator[Example]:
    """An hour is waited for, and no longer."""
    path = f"gateway.tiers.{TIER}.timeout_seconds"
    long = PLAIN.set("gateway", {"tiers": {TIER: {"timeout_seconds": 5000}}})
    yield Fails(long, path, ("5,000 s", "3,600 s"), "info", fix_says=("timeout_seconds: 3600",))
    yield Passes(long.set(path, 3600))


@examples("IF-TEN-007")
def test_tenants_are_known() -> Iterator[Example]:
    """With `none` nobody says whose a request is: no finding before, and budgets in the plan."""
    open_door = KEYED.set("gateway", {"authentication": {"kind": "none"}}).set(
        f"cells.{CELL}.gateways", {"public": False}
    )
    yield Fails(open_door, "gateway.authentication.kind", ("`search`", "asks nobody"), fix_says=("key", "oidc"))
    yield Passes(open_door.delete("tenants"))
    yield Passes(KEYED.set("gateway", {"authentication": {"kind": "api_keys"}}))


@examples("IF-TEN-001")
def test_shares_fit() -> Iterator[Example]:
    """60 and 50 are 110."""
    two = KEYED.set(PART, {"share_percent": 60.0}).set("tenants.ops", {"tiers": {TIER: {"share_percent": 50.0}}})
    at = f"tenants.ops.tiers.{TIER}.share_percent"
    yield Fails(two, at, ("110 %",), fix_says=("take 10",))
    yield Passes(two.set(at, 40.0))


@examples("IF-TEN-002")
def test_limits_let_a_request_in() -> Iterator[Example]:
    """The tier's workload of 4,000 + 500 tokens does not fit into 4,499 a minute."""
    sized = KEYED.set(f"tiers.{TIER}.workload", {"prompt_tokens": 4000, "output_tokens": 500})
    small = sized.set(PART, {"tokens_per_minute": 4499})
    yield Fails(small, f"{PART}.tokens_per_minute", ("4,499", "4,500"))
    yield Passes(small.set(f"{PART}.tokens_per_minute", 4500))


@examples("IF-TEN-003")
def test_tenants_share() -> Iterator[Example]:
    """GPUs of one's own are a tier of one's own."""
    yield Fails(KEYED.set("tenants.search.serving", "dedicated"), "tenants.search.serving", ("not supported",))
    yield Passes(KEYED.set("tenants.search.serving", "shared"))


@examples("IF-TEN-004")
def test_keys_reach_google() -> Iterator[Example]:
    """Nothing brings Secrets into a cluster on Google."""
    tier = next(iter({pool["tier"] for pool in GOOGLE.tree["pools"].values()}))
    keyed = GOOGLE.set("tenants", {"search": {"tiers": {tier: None}}})
    yield Fails(keyed, "tenants", ("nothing brings keys",), "warning", fix_says=("tenant-search", "search=…"))
    yield Passes(keyed.set("gateway", {"authentication": OIDC}))
    yield Passes(KEYED)


@examples("IF-TEN-005")
def test_tenants_are_told_apart() -> Iterator[Example]:
    """One secret for two."""
    two = KEYED.set("tenants.search.api_key", "a/b").set("tenants.ops", {"tiers": {TIER: None}, "api_key": "a/b"})
    yield Fails(two, "tenants.ops.api_key", ("`search`",))
    yield Passes(two.set("tenants.ops.api_key", "a/c"))


@examples("IF-TEN-006")
def test_shares_are_numbers() -> Iterator[Example]:
    """Pools that share GPUs have no rate."""
    shared = base("shared")
    tier = next(iter({pool["tier"] for pool in shared.tree["pools"].values()}))
    part = f"tenants.search.tiers.{tier}"
    keyed = shared.set("tenants", {"search": {"tiers": {tier: {"share_percent": 50.0}}}})
    yield Fails(keyed, f"{part}.share_percent", ("not known",), fix_says=("tokens_per_minute",))
    yield Passes(keyed.set(part, {"tokens_per_minute": 1_000_000}))
