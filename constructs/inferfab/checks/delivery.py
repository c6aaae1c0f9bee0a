"""Models on their way to the nodes: sources, disks, names."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule

_MODEL_ROOM = 1.2
"""Over the models' size on a node: a revision comes in parts beside the old one."""


@rule(
    "IF-SRV-004",
    "a disk tier whose storage class nothing here makes",
    severity="warning",
    joins=("engine", "cluster"),
    why="without the class the volumes of the workers stay pending, and so do the workers.",
    do="install a driver that makes volumes of a fixed size on local disks (TopoLVM, for one), and name its class.",
    source="Kubernetes: generic ephemeral volumes; vllm/v1/kv_offload/tiering/fs/manager.py (the tier never cleans up)",
)
def disk_class_is_there(facts: Facts) -> Iterator[Problem]:
    for model in facts.fleet.models:
        uses = [
            at.where
            for at in facts.roles()
            if at.model.name == model.name and at.role.engine.kv_disk_bytes and model.nvme_storage_class
        ]
        if uses:
            yield Problem(
                ("models", model.name, "offload", "nvme_storage_class"),
                f"{uses[0]} asks the storage class `{model.nvme_storage_class}` for a disk, and nothing here makes it",
                "see that the cluster has it, or leave `nvme_gib_per_gpu` out",
            )


@rule(
    "IF-SRV-006",
    "a model that cannot reach its nodes",
    joins=("environment", "cloud", "cluster"),
    why="workers wait until the model cache of their node has the model, and it has no way to get it.",
    do="put the model into the region's store, or let the cell out to the hub.",
    source="the plan's model cache: store first, then hub",
)
def models_reach_nodes(facts: Facts) -> Iterator[Problem]:
    said = set()
    for cell in facts.fleet.cells:
        for holder in cell.serving.cache.holders:
            for source in holder.sources:
                if source.hub or "://" in source.source or (cell.name, source.folder) in said:
                    continue
                said.add((cell.name, source.folder))
                if source.store_uri is None:
                    yield Problem(
                        ("cells", cell.name, "network", "egress"),
                        f"`{source.model}` comes from the hub, and {cell.name} has neither a way out nor a model store",
                        "write `egress: nat`",
                    )
                else:
                    yield Problem(
                        ("cells", cell.name, "network", "egress"),
                        f"`{source.model}` comes from the region's store only, which nothing here fills",
                        f"copy it to {source.store_uri} and then an empty `.complete`, or write `egress: nat`",
                        severity="warning",
                    )


@rule(
    "IF-SRV-007",
    "weights in a bucket that the cell's nodes cannot read",
    joins=("environment", "cloud"),
    why="pods have rights in their own cloud only, and the model cache knows S3 and Google Cloud Storage.",
    do="name a hub id, or a bucket of the cell's cloud.",
    source="the plan's model cache",
)
def sources_are_readable(facts: Facts) -> Iterator[Problem]:
    said = set()
    own = {"aws": "s3", "gcp": "gs"}
    for cell in facts.fleet.cells:
        served = {m for pool in cell.pools for m in pool.models}
        for model in facts.fleet.models:
            draft = model.speculative.draft if model.speculative else None
            parts = {("source",): model.source, ("speculative", "draft", "source"): draft.source if draft else ""}
            for path, source in parts.items():
                scheme = source.split("://", 1)[0] if "://" in source else ""
                if model.name not in served or not scheme or scheme == own[cell.cloud] or (model.name, path) in said:
                    continue
                said.add((model.name, path))
                yield Problem(
                    ("models", model.name, *path),
                    f"{cell.name} is on {cell.cloud}, where nothing reads `{scheme}://`",
                    f"write a hub id, or `{own[cell.cloud]}://bucket/folder`",
                )


@rule(
    "IF-SRV-009",
    "more models than a node's disk holds",
    joins=("environment", "cloud"),
    why="the model cache fills the disk, the kubelet evicts pods, and no worker of the node starts.",
    do="use a machine with more local disk, or fewer models.",
    source="local disk of the machine in the catalog; sizes of the models",
)
def models_fit_the_disk(facts: Facts) -> Iterator[Problem]:
    said = set()
    for cell in facts.fleet.cells:
        for group in cell.node_groups:
            if not group.local_nvme_gb or group.pool in said:
                continue
            here = [h for h in cell.serving.cache.holders if h.node_group == group.name]
            needed = _MODEL_ROOM * sum(source.bytes for holder in here for source in holder.sources) / 1e9
            if needed > group.local_nvme_gb:
                said.add(group.pool)
                yield Problem(
                    ("pools", group.pool),
                    f"its models need {needed:,.0f} GB with room for a new revision, and {group.instance} has "
                    f"{group.local_nvme_gb:,} GB of local disk",
                    "use a machine with more local disk, or put the models into several pools",
                    of_key=True,
                )


@rule(
    "IF-SRV-010",
    "one name for two models or adapters",
    joins=("environment", "engine"),
    why="requests name a model or an adapter, so an adapter with another's name takes its requests.",
    do="rename the adapter.",
    source="Dynamo: DynamoModel modelName; frontends list models and adapters side by side",
)
def adapters_have_names_of_their_own(facts: Facts) -> Iterator[Problem]:
    owner = {model.name: "a model" for model in facts.fleet.models}
    for model in facts.fleet.models:
        for adapter in model.adapters:
            if adapter.name in owner:
                yield Problem(
                    ("models", model.name, "adapters", adapter.name),
                    f"`{adapter.name}` is {owner[adapter.name]} too",
                    "rename the adapter",
                    of_key=True,
                )
            owner.setdefault(adapter.name, f"an adapter of `{model.name}`")
