"""Names that the file uses, and whether it declares them."""

from collections.abc import Iterator

from inferfab.catalog.regions import regions
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.pools import SharedPool
from inferfab.environment.problems import meant
from inferfab.findings import YamlPath
from inferfab.plan.tiers import DEFAULT_TIERS

_SELF = "inferfab's environment format"


@rule(
    "IF-REF-005",
    "a name that the file does not declare",
    stage="reference",
    joins=("environment",),
    why="the pool or cell would have nothing to run.",
    do="declare the name, or correct the reference.",
    source=_SELF,
)
def references_resolve(facts: Facts) -> Iterator[Problem]:
    declared = facts.loaded.declared
    tiers = declared["tiers"] or frozenset(DEFAULT_TIERS)
    unknown_tiers = not declared["tiers"] and facts.loaded.has("tiers")

    def missing(path: YamlPath, section: str, name: str, options: frozenset[str]) -> Iterator[Problem]:
        if name not in options:
            what = f"there is no {section.rstrip('s')} `{name}` under `{section}`"
            yield Problem(path, what, meant(name, sorted(options)), of_key=path[0] == "cells")

    for name, pool in facts.environment.pools.items():
        if not unknown_tiers:  # `tiers` that is no mapping is reported as that
            yield from missing(("pools", name, "tier"), "tiers", pool.tier, tiers)
        if isinstance(pool, SharedPool):
            for position, each in enumerate(pool.models):
                yield from missing(
                    ("pools", name, "models", position, "model"), "models", each.model, declared["models"]
                )
        else:
            yield from missing(("pools", name, "model"), "models", pool.model, declared["models"])
    for name, cell in facts.environment.cells.items():
        for pool_name in cell.pools:
            yield from missing(("cells", name, "pools", pool_name), "pools", pool_name, declared["pools"])


@rule(
    "IF-REF-006",
    "something that nothing uses",
    severity="warning",
    stage="reference",
    joins=("environment",),
    why="what is declared and not used is usually a reference that was forgotten.",
    do="use it, or remove it.",
    source=_SELF,
)
def everything_is_used(facts: Facts) -> Iterator[Problem]:
    environment = facts.environment
    in_cells = {pool for cell in environment.cells.values() for pool in cell.pools}
    for name in environment.pools:
        if name not in in_cells and len(environment.cells) == len(facts.loaded.declared["cells"]):
            yield Problem(("pools", name), f"no cell runs pool `{name}`", "name it under a cell's `pools`", of_key=True)
    yield from _unused_in_accounts(facts)
    if len(environment.pools) != len(facts.loaded.declared["pools"]):
        return  # a broken pool may be the user of what looks unused
    used = {
        m
        for p in environment.pools.values()
        for m in ([x.model for x in p.models] if isinstance(p, SharedPool) else [p.model])
    }
    for name in environment.models:
        if name not in used:
            yield Problem(("models", name), f"no pool serves model `{name}`", "name it in a pool", of_key=True)
    for name in environment.tiers or {}:
        if name not in {p.tier for p in environment.pools.values()}:
            yield Problem(("tiers", name), f"no pool serves tier `{name}`", "name it in a pool", of_key=True)


def _unused_in_accounts(facts: Facts) -> Iterator[Problem]:
    account = facts.environment.accounts.aws
    if account is None or len(facts.environment.cells) != len(facts.loaded.declared["cells"]):
        return
    here = {cell.region for cell in facts.environment.cells.values() if cell.cloud == "aws"}
    for region in account.model_buckets:
        if region not in here:
            at: YamlPath = ("accounts", "aws", "model_buckets", region)
            yield Problem(at, f"no AWS cell is in `{region}`", meant(region, sorted(here)), of_key=True)
    if account.dns_role is not None and not facts.loaded.has("routing"):
        what = "there are no names that it could write"
        yield Problem(("accounts", "aws", "dns_role"), what, "add `routing`, or remove it", of_key=True)


@rule(
    "IF-REF-007",
    "a region or zone that the catalog does not have",
    stage="reference",
    joins=("environment", "cloud"),
    why="prices, round trips and capacity are looked up by region and zone.",
    do="write the cloud's own name of it.",
    source="provider region lists in the catalog",
)
def region_and_zone_known(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        region = regions().get(f"{cell.cloud}:{cell.region}")
        if region is None:
            options = [key.split(":", 1)[1] for key in regions() if key.startswith(f"{cell.cloud}:")]
            yield Problem(
                ("cells", name, "region"),
                f"{cell.cloud} has no region `{cell.region}` with GPUs in the catalog",
                meant(cell.region, options, most=30),
            )
        elif cell.zone not in region.zones:
            yield Problem(
                ("cells", name, "zone"),
                f"region {cell.region} has no zone `{cell.zone}`",
                meant(cell.zone, list(region.zones)),
            )
    routing = facts.environment.routing
    for position, users in enumerate(routing.users_near if routing else ()):
        if users not in regions():
            yield Problem(
                ("routing", "users_near", position), f"there is no region `{users}`", meant(users, list(regions()))
            )


@rule(
    "IF-REF-008",
    "a cloud without an account",
    stage="reference",
    joins=("environment", "cloud"),
    why="nothing can be planned or applied there.",
    do="add the account.",
    source=_SELF,
)
def accounts_present(facts: Facts) -> Iterator[Problem]:
    accounts = facts.environment.accounts
    if not facts.loaded.has("accounts"):
        return  # reported as missing already
    for cloud in sorted({c.cloud for c in facts.environment.cells.values()}):
        if getattr(accounts, cloud) is None:
            field = "account_id" if cloud == "aws" else "project"
            yield Problem(
                ("accounts",),
                f"there are {cloud} cells but no `accounts.{cloud}`",
                f"add `{cloud}: {{{field}: …}}`",
                of_key=True,
            )


@rule(
    "IF-REF-010",
    "an override for another topology",
    stage="reference",
    joins=("environment",),
    why="the cell's figure would be read by nothing.",
    do="use the field of the pool's topology.",
    source=_SELF,
)
def overrides_match_topology(facts: Facts) -> Iterator[Problem]:
    fits = {
        "disaggregated": ("prefill_replicas", "decode_replicas"),
        "aggregated": ("worker_replicas",),
        "shared": ("nodes",),
    }
    for name, cell in facts.environment.cells.items():
        for pool_name, here in cell.pools.items():
            pool = facts.environment.pools.get(pool_name)
            if pool is None or here is None:
                continue
            for field in ("prefill_replicas", "decode_replicas", "worker_replicas", "nodes"):
                if getattr(here, field) is not None and field not in fits[pool.topology]:
                    yield Problem(
                        ("cells", name, "pools", pool_name, field),
                        f"pool `{pool_name}` is {pool.topology} and has no `{field}`",
                        f"write {' and '.join(f'`{f}`' for f in fits[pool.topology])}",
                        of_key=True,
                    )
