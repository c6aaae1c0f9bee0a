"""Rules of names in a cell's cluster: one that fails and one that passes each."""

from collections.abc import Iterator

from rule_examples import Example, Fails, Passes, examples

from environments import Env, aggregated_pool, base

PLAIN = base("aggregated")
ROUTED = PLAIN.set("routing", {"domain": "llm.example.com"})
QWEN = PLAIN.get("models.qwen-8b")


def with_pool(env: Env, pool: str, model: str, **more: object) -> Env:
    """One more pool, of a model that may be new."""
    env = env.set(f"models.{model}", QWEN).set(f"pools.{pool}", aggregated_pool(model, **more))
    return env.set(f"cells.east-a.pools.{pool}", {})


@examples("IF-NAM-004")
def test_cells_are_no_tiers() -> Iterator[Example]:
    """With a domain (two sets of records) and without (two listeners of one hostname)."""
    for env, name in ((ROUTED, "fast.llm.example.com"), (PLAIN, "fast.test.internal")):
        yield Fails(
            env.rename("cells.east-a", "fast"), "cells.fast", (f"`{name}`", "tier `fast`"), fix_says=("rename",)
        )
        yield Passes(env)
    # A tier that nobody serves has no name.
    yield Passes(PLAIN.set("tiers.slow", {}).rename("cells.east-a", "slow"))


@examples("IF-NAM-005")
def test_models_have_services_of_their_own() -> Iterator[Example]:
    """The Service over the pods of `x` is `fast-x-pods`; a model `x-pods` has its entry there."""
    both = with_pool(PLAIN, "more", "qwen-8b-pods")
    yield Fails(both, "models.qwen-8b", ("Service `serving/fast-qwen-8b-pods`", "`qwen-8b-pods`"), fix_says=("rename",))
    yield Passes(with_pool(PLAIN, "more", "qwen-8b-pod"))
    # Tier `fast`, model `slow-x`; tier `fast-slow`, model `x`.
    split = with_pool(PLAIN.set("tiers.fast-slow", {}), "a", "slow-x")
    split = with_pool(split, "b", "x", tier="fast-slow")
    yield Fails(split, "models.x", ("Service `serving/fast-slow-x`", "model `slow-x` in tier `fast`"))
    yield Passes(with_pool(PLAIN, "a", "slow-x"))


@examples("IF-NAM-005")
def test_secrets_have_one_owner() -> Iterator[Example]:
    """A certificate, or a pull secret, where External Secrets writes a tenant's key."""
    own = PLAIN.set("tenants", {"team": {"tiers": {"fast": None}}})
    own = own.set("gateway", {"tls": {"kind": "secret", "secret": "tenant-team"}})
    yield Fails(own, "gateway.tls.secret", ("Secret `gateway/tenant-team`", "tenant `team`"), fix_says=("another",))
    yield Passes(own.set("gateway.tls.secret", "tenant-teams"))
    for taken in ("tls-fast", "gateway-ca"):
        pulled = PLAIN.set("images", {"pull_secret": taken})
        yield Fails(pulled, "images.pull_secret", (f"Secret `gateway/{taken}`",), fix_says=("another",))
    yield Passes(PLAIN.set("images", {"pull_secret": "quay"}))
