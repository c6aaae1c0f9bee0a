"""Names of the catalog: the engine pair, models, checkpoints, Kubernetes."""

import re
from collections.abc import Iterator

from inferfab.catalog.engines import engine_pairs
from inferfab.catalog.kubernetes import kubernetes_versions
from inferfab.catalog.models import models
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.problems import meant
from inferfab.findings import YamlPath

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
