"""Where models are kept, and whether every pod that needs them has them."""

from collections.abc import Iterator

from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.manifest_views import spot
from inferfab.checks.serving.register import of_manifests
from inferfab.checks.serving.views import EngineView
from inferfab.manifests.model import Manifests, Workload
from inferfab.manifests.nodes import Node
from inferfab.manifests.pods import Container, Mount


@manifest_rule(
    "IF-POD-006",
    "a model cache that a pod does not have",
    joins=("pod", "engine"),
    why="the pod downloads the model again at every start, or does not find it at all (dynamo#8568, #5467, #8707).",
    do="mount the volume that holds the models in every pod that loads them.",
    source="dynamo#8568, #5467, #8707; Hugging Face: HF_HOME; Kubernetes: a mount without its volume is refused",
)
def caches_mounted(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        yield from _mounts_have_volumes(workload)
    for serving in of_manifests(manifests):
        having = [e for e in serving.engines if _cache(e) is not None]
        for engine in serving.engines:
            yield from _model_path(engine)
            yield from _offline(engine)
            if having and engine not in having and _loads(engine):
                mount = _cache(having[0])
                assert mount is not None
                yield engine.spot.problem(
                    f"{having[0].name} keeps its models in the volume `{mount.volume}` ({mount.path}), and "
                    f"{engine.name} does not mount it",
                    f"mount `{mount.volume}` at {mount.path} here too",
                    severity="warning",
                )


def _loads(engine: EngineView) -> bool:
    return engine.process is not None and bool(engine.model) and not str(engine.model).startswith(("s3://", "gs://"))


def _container(engine: EngineView) -> Container | None:
    return engine.process.container if engine.process else None


def _home(engine: EngineView) -> str | None:
    for flag in ("--download-dir",):
        if engine.value(flag):
            return engine.value(flag)
    for name, suffix in (("HF_HOME", ""), ("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("XDG_CACHE_HOME", "")):
        variable = engine.env.get(name)
        if variable is not None and variable.value:
            return variable.value + suffix
    return None


_HUB_CACHES = ("/.cache", "/huggingface", "/huggingface/hub")
"""How a mount of the hub's cache ends, whosever home it is in (huggingface_hub, HF_HOME)."""


def _cache(engine: EngineView) -> Mount | None:
    """The mount of a claim that holds the models: where the cache or the model's path is, or a usual place."""
    container, workload = _container(engine), engine.workload
    if container is None or workload is None:
        return None
    path = engine.model if (engine.model or "").startswith("/") else _home(engine)
    for mount in container.mounts:
        claimed = _claim(workload, mount.volume)
        place = mount.path.rstrip("/")
        usual = place.endswith(_HUB_CACHES)
        inside = path is not None and (f"{path}/".startswith(f"{place}/") or f"{place}/".startswith(f"{path}/"))
        if claimed and (inside or (path is None and usual)):
            return mount
    return None


def _claim(workload: Workload, volume: str) -> bool:
    found = workload.pod.volumes.get(volume)
    if found is not None:
        return found.kind in ("persistentVolumeClaim", "hostPath", "nfs", "csi")
    return workload.graph is not None and workload.graph.version == "v1alpha1"


def _covered(container: Container, path: str) -> bool:
    return any(f"{path}/".startswith(f"{m.path.rstrip('/')}/") for m in container.mounts)


def _model_path(engine: EngineView) -> Iterator[Problem]:
    container = _container(engine)
    if container is None or not (engine.model or "").startswith("/"):
        return
    path, workload = str(engine.model), engine.workload
    # Without a volume for models the image has them, or a controller (KServe's) mounts them.
    models = workload is not None and any(_claim(workload, m.volume) for m in container.mounts)
    if models and not _covered(container, path):
        yield engine.at("--model").problem(
            f"{engine.name} loads `{path}`, and none of its volumes is mounted there",
            "mount the volume with the model above that path",
            severity="warning",
        )


def _offline(engine: EngineView) -> Iterator[Problem]:
    container, model = _container(engine), engine.model or ""
    if container is None or not model or model.startswith(("/", "s3://", "gs://")):
        return
    switches = {n: engine.env.get(n) for n in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")}
    offline = next((n for n, v in switches.items() if v and v.value in ("1", "true", "True", "yes")), None)
    home, places = _home(engine), [m.path.rstrip("/") for m in container.mounts]
    if home is None:
        # In the home of a user whom only the image knows.
        held = any(place.endswith(_HUB_CACHES) for place in places)
    else:
        held = any(f"{place}/".startswith(home) or f"{home}/".startswith(f"{place}/") for place in places)
    if offline and not held:
        yield engine.env[offline].spot.problem(
            f"{engine.name} may not download `{model}` ({offline}) and mounts nothing at {home or 'its hub cache'}",
            "mount the volume with the model there, or allow the download",
        )


def _mounts_have_volumes(workload: Workload) -> Iterator[Problem]:
    alpha = workload.graph is not None and workload.graph.version == "v1alpha1"
    known = set(workload.pod.volumes)
    if alpha and workload.graph is not None:
        known |= {n.get("name").text or "" for n in workload.graph.node.get("spec", "pvcs").items()}
    for above in (("spec",), ("spec", "leaderWorkerTemplate")):
        claims = workload.node.get(*above, "volumeClaimTemplates")
        known |= {c.get("metadata", "name").text or "" for c in claims.items()}
    for container in (*workload.pod.containers, *workload.pod.init):
        for mount in container.mounts:
            if mount.volume not in known and not _templated(mount.volume):
                yield spot(mount.ref).problem(
                    f"`{workload.name}` mounts a volume `{mount.volume}`, which it does not have",
                    "declare the volume, or correct its name",
                    value=mount.volume,
                )


def _templated(name: str) -> bool:
    return not name or "{{" in name or "$" in name


@manifest_rule(
    "IF-POD-007",
    "a volume for one node that pods of several nodes mount",
    joins=("pod", "cluster"),
    why="a ReadWriteOnce volume is attached to one node; pods on others stay in ContainerCreating.",
    do="use a ReadWriteMany class (a shared file system), or a claim a pod.",
    source="Kubernetes: persistent volumes, access modes",
)
def volumes_reach(manifests: Manifests) -> Iterator[Problem]:
    modes: dict[tuple[str, str, str], tuple[set[str], Node]] = {}
    for claim in manifests.of_kind("PersistentVolumeClaim"):
        node = claim.node.get("spec", "accessModes")
        modes[claim.name, claim.namespace, claim.file] = ({m.text or "" for m in node.items()}, node)
    for graph in manifests.graphs:
        for claim_node in graph.node.get("spec", "pvcs").items():
            mode = claim_node.get("volumeAccessMode")
            if mode.exists:
                key = (claim_node.get("name").text or "", graph.namespace, graph.file)
                modes[key] = ({mode.text or ""}, mode)
    for (name, namespace, file), (allowed, node) in modes.items():
        if not allowed or allowed & {"ReadWriteMany", "ReadOnlyMany"}:
            continue
        near = [w for w in manifests.workloads if w.namespace == namespace and manifests.together(file, w.file)]
        users = [w for w in near if _mounts(w, name)]
        serving = [w for w in users if w.kind not in ("Job", "CronJob", "Pod")]
        pods = sum((w.replicas if w.replicas is not None else 1) * w.nodes for w in serving)
        surely = any(w.nodes > 1 for w in serving) or "ReadWriteOncePod" in allowed
        if pods > 1:
            names = ", ".join(list(dict.fromkeys(f"`{w.name}`" for w in serving))[:4])
            yield spot(node.ref).problem(
                f"`{name}` is {' and '.join(sorted(allowed))} and mounted by {pods} pods of {names}",
                "write `ReadWriteMany`, with a storage class that has it",
                severity="error" if surely else "warning",
            )


def _mounts(workload: Workload, claim: str) -> bool:
    if any(v.claim == claim for v in workload.pod.volumes.values()):
        return True
    alpha = workload.graph is not None and workload.graph.version == "v1alpha1"
    return alpha and any(m.volume == claim for c in workload.pod.containers for m in c.mounts)
