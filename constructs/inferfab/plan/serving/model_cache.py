"""Models on the nodes: what is fetched from where, before a worker starts.

One DaemonSet pod a node and model fetches it once, from the region's model store or from the hub,
into a folder of the node, and marks it complete; workers wait for the mark and read the folder. So a worker's start
does not wait for a download that another has done, and workers need neither tokens nor rights on buckets.
"""

from pydantic import NonNegativeInt

from inferfab.catalog.charts import image
from inferfab.catalog.engines import EnginePair
from inferfab.plan.images import ImageSource
from inferfab.plan.names import digest
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.served import ModelPlan
from inferfab.plan.serving.images import mirrored, planner_image
from inferfab.record import Record

NVME_MODELS = "/mnt/k8s-disks/0/inferfab/models"
"""On the array that nodeadm makes of local disks (awslabs/amazon-eks-ami nodeadm/doc/api.md, localStorage RAID0)."""
DISK_MODELS = "/var/lib/inferfab/models"
"""On the root disk. On Google too, where local disks hold the kubelet's own folder."""
COMPLETE = ".complete"
"""Mark of a folder, and of a model in the store, that is there as a whole."""


class ModelSource(Record):
    """One folder of files."""

    model: str
    folder: str
    source: str
    """Hub id or URI, as the environment has it."""
    revision: str
    bytes: NonNegativeInt
    """0 where it is not known."""
    store_uri: str | None
    """Where the region's store has it, if it was put there; the source itself if that is a bucket."""
    hub: bool
    """May be fetched from the hub: the source is there and the cell has a way out."""
    token_secret: str | None
    manifest_sha256: str | None = None
    """Nodes take these very files; None: those that the manifest beside them names, if one is there."""


class CacheHolder(Record):
    """The pods that bring one model to one kind of node: a model that does not come holds up no other."""

    name: str
    """With a digest of the model's name: names of two may run together."""
    model: str
    node_group: str | None
    """None: system nodes, which hold the small files only, for routers over pools."""
    image: str
    """Has the hub's command line, as any image of Dynamo has. On GPU nodes it is the workers' own, which is then there
    before they are."""
    host_path: str
    weights: bool
    sources: tuple[ModelSource, ...]


class ModelCachePlan(Record):
    """The model cache of a cell."""

    holders: tuple[CacheHolder, ...]
    store_image: str
    """Has the command line of the store's cloud."""

    def _stores(self) -> tuple[str, ...]:
        uris = [s.store_uri for h in self.holders for s in h.sources if s.store_uri]
        return tuple(sorted(set(uris)))

    def store_prefixes(self, bucket: str) -> tuple[str, ...]:
        """Keys of the region's store that its pods read."""
        mine = f"s3://{bucket}/"
        return tuple(uri.removeprefix(mine) for uri in self._stores() if uri.startswith(mine))

    def other_sources(self, bucket: str) -> tuple[str, ...]:
        """Folders of other S3 buckets."""
        mine = f"s3://{bucket}/"
        return tuple(uri for uri in self._stores() if uri.startswith("s3://") and not uri.startswith(mine))

    @property
    def token_secrets(self) -> tuple[str, ...]:
        """Secrets that hold download tokens, each once."""
        named = [s.token_secret for h in self.holders for s in h.sources if s.token_secret and s.hub]
        return tuple(dict.fromkeys(named))


def store_prefix(model: str, revision: str) -> str:
    """Key under which the store keeps one revision; the reader's role is held to it."""
    return f"models/{model}/{revision}/"


def sources_of(model: ModelPlan, *, store: str | None, egress: bool) -> tuple[ModelSource, ...]:
    """Weights, and draft weights where drafting has any.

    :param store: the region's own, ``s3://…`` or ``gs://…``.
    """
    parts = [(model.folder, model.source, model.revision, model.weights_bytes, model.name, model.manifest_sha256)]
    draft = model.speculative.draft if model.speculative else None
    if draft and model.draft_folder:
        parts.append(
            (model.draft_folder, draft.source, draft.revision, model.draft_weights_bytes, f"{model.name}-draft", None)
        )
    return tuple(
        ModelSource(
            model=model.name,
            folder=folder,
            source=source,
            revision=revision,
            bytes=size,
            store_uri=_store(source, name, revision, store),
            hub="://" not in source and egress,
            token_secret=model.token_secret,
            manifest_sha256=manifest,
        )
        for folder, source, revision, size, name, manifest in parts
    )


def _store(source: str, name: str, revision: str, store: str | None) -> str | None:
    if "://" in source:
        return f"{source.rstrip('/')}/"
    return f"{store}/{store_prefix(name, revision)}" if store else None


def plan_model_cache(
    pair: EnginePair,
    registry: ImageSource | None,
    groups: tuple[NodeGroupPlan, ...],
    models_by_group: dict[str, tuple[ModelPlan, ...]],
    image_by_group: dict[str, str],
    routed: tuple[ModelPlan, ...],
    *,
    cloud: str,
    bucket: str | None,
    egress: bool,
) -> ModelCachePlan:
    """:param routed: models behind a router over pools, whose small files system nodes need."""
    store = f"{'gs' if cloud == 'gcp' else 's3'}://{bucket}" if bucket else None
    holders = [
        CacheHolder(
            name=f"models-{group.name}-{digest(model.name)}",
            model=model.name,
            node_group=group.name,
            image=image_by_group[group.name],
            host_path=host_path(group),
            weights=True,
            sources=sources_of(model, store=store, egress=egress),
        )
        for group in groups
        for model in models_by_group[group.name]
    ]
    holders += [
        CacheHolder(
            name=f"model-files-{digest(model.name)}",
            model=model.name,
            node_group=None,
            image=planner_image(pair, registry),
            host_path=DISK_MODELS,
            weights=False,
            sources=sources_of(model, store=store, egress=egress)[:1],
        )
        for model in routed
    ]
    cli = image("aws-cli" if cloud == "aws" else "google-cloud-cli")
    return ModelCachePlan(
        holders=tuple(holders),
        store_image=f"{mirrored(cli.repository, registry)}:{cli.tag}",
    )


def host_path(group: NodeGroupPlan) -> str:
    """Where the models lie on a node of the group."""
    return NVME_MODELS if group.cloud == "aws" and group.local_nvme_gb else DISK_MODELS
