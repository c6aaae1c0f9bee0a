"""References of the environment: to itself, to the catalog, to what a cloud offers."""

import re
from collections.abc import Iterator

from inferfab.catalog.engines import engine_pairs
from inferfab.catalog.kubernetes import kubernetes_versions
from inferfab.catalog.models import models
from inferfab.catalog.regions import regions
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.pools import SharedPool
from inferfab.environment.problems import meant
from inferfab.findings import YamlPath
from inferfab.plan.tiers import DEFAULT_TIERS

_SELF = "inferfab's environment format"


@rule(
    "IF-REF-001",
    "the engine pair is not in the catalog",
    stage="reference",
    joins=("environment", "engine"),
    why="flags, images and defaults are looked up by pair; an unknown pair would be guessed at.",
    do="use a Dynamo version of the catalog; a new one is a catalog entry.",
    source="ai-dynamo wheel metadata: extras pin vLLM",
)
def engine_pair_known(facts: Facts) -> Iterator[Problem]:
    engine, known = facts.environment.engine, engine_pairs()
    if engine.dynamo not in known:
        yield Problem(
            ("engine", "dynamo"), f"Dynamo {engine.dynamo} is not in the catalog", meant(engine.dynamo, list(known))
        )
    elif engine.vllm is not None and engine.vllm != known[engine.dynamo].vllm:
        pinned = known[engine.dynamo].vllm
        yield Problem(
            ("engine", "vllm"),
            f"Dynamo {engine.dynamo} pins vLLM {pinned}, not {engine.vllm}",
            f"write {pinned}, or leave `vllm` out",
        )


@rule(
    "IF-REF-002",
    "a model that the catalog does not have",
    stage="reference",
    joins=("environment", "engine"),
    why="memory, bandwidth and cost follow from the model's true shape.",
    do="name a catalog model, or give `shape` from the model's config.json.",
    source=_SELF,
)
def catalog_model_known(facts: Facts) -> Iterator[Problem]:
    known = models()
    for name, asked in facts.environment.models.items():
        if asked.catalog is not None and asked.catalog not in known:
            yield Problem(
                ("models", name, "catalog"),
                f"the catalog has no model `{asked.catalog}`",
                f"{meant(asked.catalog, list(known), most=30)} or give `shape:` and `source:` instead",
            )
        draft = asked.speculative.draft if asked.speculative else None
        if draft and draft.catalog is not None and draft.catalog not in known:
            path: YamlPath = ("models", name, "speculative", "draft", "catalog")
            yield Problem(path, f"the catalog has no model `{draft.catalog}`", meant(draft.catalog, list(known)))


@rule(
    "IF-REF-003",
    "no checkpoint of that precision",
    stage="reference",
    joins=("environment", "engine"),
    why="the weights to load and their size depend on it.",
    do="choose a precision that the catalog has for the model, or name the `source` yourself.",
    source=_SELF,
)
def checkpoint_exists(facts: Facts) -> Iterator[Problem]:
    for name, asked in facts.environment.models.items():
        entry = models().get(asked.catalog or "")
        if entry is None or asked.quantization is None or asked.source is not None:
            continue
        offered = [c.quantization for c in entry.checkpoints]
        if asked.quantization not in offered:
            yield Problem(
                ("models", name, "quantization"),
                f"the catalog has no {asked.quantization} checkpoint of {entry.title}, only {', '.join(offered)}",
                f"write one of {', '.join(offered)}, or name the {asked.quantization} weights under `source`",
            )


@rule(
    "IF-REF-004",
    "a draft without a size",
    stage="reference",
    joins=("environment", "engine"),
    why="draft weights take GPU memory from the KV cache.",
    do="give `draft.weights_gib`, or `draft.catalog` for a draft that is a catalog model.",
    source=_SELF,
)
def draft_has_size(facts: Facts) -> Iterator[Problem]:
    for name, asked in facts.environment.models.items():
        draft = asked.speculative.draft if asked.speculative else None
        if draft and draft.weights_gib is None and draft.catalog is None:
            yield Problem(
                ("models", name, "speculative", "draft"), "the size of the draft is not known", "add `weights_gib: …`"
            )


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
    "IF-REF-009",
    "weights that are not pinned, or cannot be downloaded",
    stage="reference",
    joins=("environment", "engine"),
    why="a branch moves: two pods of one pool can load different weights; and a gated download without token fails "
    "in every pod.",
    do="pin a commit hash; name the secret that holds the token.",
    source="Hugging Face Hub: revisions and gated repositories",
)
def weights_pinned(facts: Facts) -> Iterator[Problem]:
    for name, asked in facts.environment.models.items():
        entry = models().get(asked.catalog or "")
        on_hub = asked.source is None or "://" not in asked.source
        places: list[tuple[YamlPath, str]] = [(("models", name, "revision"), asked.revision)] if on_hub else []
        draft = asked.speculative.draft if asked.speculative else None
        if draft and "://" not in draft.source:
            places.append((("models", name, "speculative", "draft", "revision"), draft.revision))
        for path, revision in places:
            if not re.fullmatch(r"[0-9a-f]{40}", revision):
                yield Problem(
                    path, f"`{revision}` is not a commit hash", "write the 40 hexadecimal digits of the commit"
                )
        checkpoint = (
            next((c for c in entry.checkpoints if asked.quantization in (None, c.quantization)), None)
            if entry
            else None
        )
        gated = (
            asked.gated if asked.gated is not None else bool(checkpoint and checkpoint.gated and asked.source is None)
        )
        if gated and asked.token_secret is None:
            yield Problem(
                ("models", name),
                "the weights are gated and no token is named",
                "add `token_secret: <name of the secret>` (and accept the licence), or `gated: false` for a mirror "
                "of your own",
                of_key=True,
            )


@rule(
    "IF-REF-011",
    "a Kubernetes version that the catalog does not have",
    stage="reference",
    joins=("environment", "cluster"),
    why="charts, the autoscaler's image and support dates are looked up by version; EKS refuses versions that it no "
    "longer or not yet has.",
    do="use a version of the catalog; a new one is a catalog entry.",
    source="EKS user guide: Kubernetes versions; catalog",
)
def kubernetes_known(facts: Facts) -> Iterator[Problem]:
    known = kubernetes_versions()
    for name, cell in facts.environment.cells.items():
        version = cell.cluster.kubernetes
        if version not in known:
            listed = ", ".join(f'"{v}"' for v in known)
            yield Problem(
                ("cells", name, "cluster", "kubernetes"),
                f"the catalog has no Kubernetes {version}"
                + ("" if cell.cloud == "aws" else ", and its versions are those of EKS"),
                f"write one of: {listed}",
                severity="error" if cell.cloud == "aws" else "warning",
            )


@rule(
    "IF-REF-012",
    "an image release of another Kubernetes version",
    stage="reference",
    joins=("environment", "cluster"),
    why="a release of the EKS-optimized images holds the kubelet of one minor version, and EKS refuses a node group "
    "whose release and version differ.",
    do="change `ami_release` and `kubernetes` together.",
    source="Amazon EKS API reference: UpdateNodegroupVersion",
)
def release_fits_kubernetes(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        release, version = cell.cluster.ami_release, cell.cluster.kubernetes
        if cell.cloud == "aws" and release is not None and not release.startswith(f"{version}."):
            minor = ".".join(release.split(".")[:2])
            yield Problem(
                ("cells", name, "cluster", "ami_release"),
                f"{release} is for Kubernetes {minor}, and the cell's cluster has {version}",
                f'write a release that begins with {version}, or `kubernetes: "{minor}"`',
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
