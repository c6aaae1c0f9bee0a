"""Kinds of faults, each with the rule that must catch it and every place of a manifest in which it can stand.

A fault changes a copy of the documents and says where. Whether it is a fault comes from the sources that the rules
name, not from the rules: the functions here know nothing of them.
"""

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from command_lines import (
    Tree,
    containers,
    env,
    has,
    is_engine,
    is_frontend,
    remove_env,
    remove_flag,
    rename_flag,
    script,
    set_env,
    set_flag,
    text_of,
    value,
)

Documents = list[Any]
Edit = Callable[[Tree, Tree], bool]
"""Changes a container (or the pod around it) and says whether the fault could stand there."""


@dataclass(frozen=True)
class Fault:
    """One kind."""

    rule: str
    name: str
    places: Callable[[Documents], Iterator[tuple[str, Documents]]]


FAULTS: list[Fault] = []


def _engines(edit: Edit, *, frontends: bool = False) -> Callable[[Documents], Iterator[tuple[str, Documents]]]:
    def places(documents: Documents) -> Iterator[tuple[str, Documents]]:
        wanted = is_frontend if frontends else is_engine
        count = sum(1 for c, _ in containers(documents) if wanted(c))
        for number in range(count):
            changed = copy.deepcopy(documents)
            container, around = [(c, a) for c, a in containers(changed) if wanted(c)][number]
            if edit(container, around):
                yield f"container {number}", changed

    return places


def fault(rule: str, name: str, *, frontends: bool = False) -> Callable[[Edit], Edit]:
    def enter(edit: Edit) -> Edit:
        FAULTS.append(Fault(rule, name, _engines(edit, frontends=frontends)))
        return edit

    return enter


def whole(rule: str, name: str) -> Callable[[Callable[[Documents], Iterator[str]]], object]:
    """A fault of objects: the function changes the documents in place once for each name that it yields."""

    def enter(edit: Callable[[Documents], Iterator[str]]) -> object:
        def places(documents: Documents) -> Iterator[tuple[str, Documents]]:
            position = 0
            while True:
                changed = copy.deepcopy(documents)
                names = edit(changed)
                where = None
                for _ in range(position + 1):
                    fresh = copy.deepcopy(documents)
                    where = None
                    names = edit(fresh)
                    for number, each in enumerate(names):
                        if number == position:
                            where, changed = each, fresh
                            break
                if where is None:
                    return
                yield where, changed
                position += 1

        FAULTS.append(Fault(rule, name, places))
        return edit

    return enter


def pinned(container: Tree) -> bool:
    """The image names a release whose flags are known."""
    image = str(container.get("image", ""))
    return image.endswith(("vllm-openai:v0.31.0", "vllm-openai:v0.33.0")) or ":1.6.1" in image


def transfer(container: Tree) -> dict[str, Any] | None:
    text = value(container, "--kv-transfer-config")
    if text is None:
        return None
    for key in ("command", "args"):
        for word in container.get(key) or ():
            if isinstance(word, str) and "kv_connector" in word and " serve" not in word:
                return dict(json.loads(word[word.index("{") :]))
    found = text_of(container)
    start = found.index("{", found.index("--kv-transfer-config"))
    return dict(json.JSONDecoder().raw_decode(found[start:])[0])


def set_transfer(container: Tree, config: dict[str, Any]) -> None:
    set_flag(container, "--kv-transfer-config", json.dumps(config, separators=(",", ":")))


def role(container: Tree) -> str | None:
    config = transfer(container)
    mode = value(container, "--disaggregation-mode")
    return mode or {"kv_producer": "prefill", "kv_consumer": "decode"}.get((config or {}).get("kv_role", ""))


def gpus(container: Tree, around: Tree) -> int:
    limits = (container.get("resources") or {}).get("limits") or {}
    return int(limits.get("nvidia.com/gpu", 0))


@fault("IF-ENG-001", "a misspelled flag")
def _(c: Tree, a: Tree) -> bool:
    flag = next((f for f in ("--max-model-len", "--model", "--port", "--tensor-parallel-size") if has(c, f)), None)
    if flag is None:
        return False
    rename_flag(c, flag, flag[:-2] + flag[-1] + flag[-2] if flag != "--port" else "--prot")
    return pinned(c) or flag != "--port"


@fault("IF-ENG-001", "a flag that the release does not have")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--swap-space", "16")
    return pinned(c)


@fault("IF-ENG-001", "a value of the wrong kind")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--max-num-seqs", "many")
    return pinned(c)


@fault("IF-ENG-001", "a choice that is none")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--scheduling-policy", "lifo")
    return pinned(c)


@fault("IF-ENG-001", "a JSON value that is broken")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--kv-events-config", "{enable: true}")
    return True


@fault("IF-ENG-001", "a key that the JSON does not have")
def _(c: Tree, a: Tree) -> bool:
    config = transfer(c)
    if config is None:
        return False
    set_transfer(c, {**config, "kv_roles": "x"})
    return True


@fault("IF-ENG-001", "a router mode that is none", frontends=True)
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--router-mode", "kvcache")
    return pinned(c)


@fault("IF-ENG-016", "kv_both with NIXL")
def _(c: Tree, a: Tree) -> bool:
    config = transfer(c)
    if not config or config["kv_connector"] != "NixlConnector":
        return False
    set_transfer(c, {**config, "kv_role": "kv_both"})
    return True


@fault("IF-ENG-016", "KVBM's connector")
def _(c: Tree, a: Tree) -> bool:
    set_transfer(c, {"kv_connector": "DynamoConnector", "kv_role": "kv_both"})
    return True


@fault("IF-ENG-016", "a router flag that is going", frontends=True)
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--router-temperature", "0.5")
    return True


@fault("IF-ENG-016", "a flag of old guides in an image of unknown version")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--num-scheduler-steps", "8")
    return not pinned(c)


@fault("IF-ENG-017", "a flag twice")
def _(c: Tree, a: Tree) -> bool:
    if not has(c, "--max-model-len") or script(c):
        return False
    c["args"] = [*c["args"], "--max-model-len", "1024"]
    return True


@fault("IF-ENG-003", "heads that do not divide")
def _(c: Tree, a: Tree) -> bool:
    model = text_of(c)
    known = any(m in model for m in ("Llama-3.1", "Qwen3-32B", "gpt-oss-120b"))
    set_flag(c, "--tensor-parallel-size", "3")
    return known and "MODEL_ID" not in model


@fault("IF-ENG-005", "fewer tokens than sequences")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--max-num-seqs", "512")
    set_flag(c, "--max-num-batched-tokens", "256")
    return True


@fault("IF-ENG-010", "a block of no kernel")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--block-size", "20")
    return True


@fault("IF-ENG-018", "prompts longer than a pass")
def _(c: Tree, a: Tree) -> bool:
    remove_flag(c, "--enable-chunked-prefill")
    set_flag(c, "--no-enable-chunked-prefill", None)
    set_flag(c, "--max-model-len", "32768")
    set_flag(c, "--max-num-batched-tokens", "8192")
    return True


@fault("IF-ENG-019", "more GPUs split than there are")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--tensor-parallel-size", "64")
    resources = "resources" in c or "resources" in a
    return resources and not has(c, "--data-parallel-start-rank")


@fault("IF-ENG-021", "speculation without a number")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--speculative-config", '{"method":"ngram"}')
    return True


@fault("IF-ENG-021", "a draft method without a draft")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--speculative-config", '{"method":"eagle3","num_speculative_tokens":3}')
    return True


@fault("IF-ENG-004", "stages on the side that receives")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--pipeline-parallel-size", "2")
    return role(c) == "decode"


def _paired(c: Tree) -> bool:
    return role(c) in ("prefill", "decode") and not has(c, "--data-parallel-start-rank")


@fault("IF-ENG-004", "blocks that differ")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--block-size", "256" if role(c) == "prefill" else "32")
    # From the default of 16 a block of 32 on the decode side is allowed.
    return _paired(c) and role(c) == "prefill"


for _flag, _value, _words in (
    ("--kv-cache-dtype", "fp8", "KV cache dtype"),
    ("--dtype", "float16", "dtype"),
    ("--revision", "0123456789abcdef", "revision"),
    ("--attention-backend", "FLASHINFER", "attention backend"),
    ("--speculative-config", '{"method":"ngram","num_speculative_tokens":3}', "speculative method"),
):

    def _one_side(c: Tree, a: Tree, flag: str = _flag, new: str = _value) -> bool:
        set_flag(c, flag, new)
        return _paired(c)

    fault("IF-ENG-012", f"{_words} on one side only")(_one_side)


@fault("IF-ENG-012", "another model on one side")
def _(c: Tree, a: Tree) -> bool:
    if not _paired(c):
        return False
    for key in ("command", "args"):
        c[key] = [str(w).replace("Qwen/Qwen3-32B", "Qwen/Qwen3-14B").replace("Llama-3.1-70B", "Llama-3.3-70B")
                  .replace("gpt-oss-120b", "gpt-oss-20b") for w in c.get(key) or []]  # fmt: skip
    return True


@fault("IF-ENG-012", "another release on one side")
def _(c: Tree, a: Tree) -> bool:
    image = str(c["image"])
    c["image"] = image.replace("v0.5.1", "v0.4.0").replace("v0.31.0", "v0.33.0").replace("1.6.1", "1.6.0")
    return _paired(c) and c["image"] != image


@fault("IF-ENG-012", "the hybrid cache manager off on one side")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--disable-hybrid-kv-cache-manager", None)
    return _paired(c)


@fault("IF-ENG-013", "no KV transfer")
def _(c: Tree, a: Tree) -> bool:
    explicit = has(c, "--disaggregation-mode")
    remove_flag(c, "--kv-transfer-config")
    return explicit


@fault("IF-ENG-013", "the other role")
def _(c: Tree, a: Tree) -> bool:
    config, here = transfer(c), role(c)
    if config is None or not has(c, "--disaggregation-mode"):
        return False
    set_transfer(c, {**config, "kv_role": "kv_consumer" if here == "prefill" else "kv_producer"})
    return True


@fault("IF-ENG-013", "no role")
def _(c: Tree, a: Tree) -> bool:
    config = transfer(c)
    if config is None:
        return False
    set_transfer(c, {k: v for k, v in config.items() if k != "kv_role"})
    return True


@fault("IF-ENG-014", "a silent worker behind a KV router")
def _(c: Tree, a: Tree) -> bool:
    there = has(c, "--kv-events-config")
    remove_flag(c, "--kv-events-config")
    return there


@fault("IF-ENG-014", "events that are not switched on")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--kv-events-config", '{"publisher":"zmq","endpoint":"tcp://*:5557"}')
    return True


@fault("IF-ENG-015", "another block size in the router", frontends=True)
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--kv-cache-block-size", "48")
    return value(c, "--router-mode") == "kv"


@fault("IF-FAB-008", "UCX on EFA")
def _(c: Tree, a: Tree) -> bool:
    config = transfer(c)
    if config is None or "vpc.amazonaws.com/efa" not in str(c.get("resources")):
        return False
    set_transfer(c, {**config, "kv_connector_extra_config": {"backends": ["UCX"]}})
    return True


@fault("IF-FAB-008", "no EFA device")
def _(c: Tree, a: Tree) -> bool:
    there = "vpc.amazonaws.com/efa" in str(c.get("resources"))
    for part in c.get("resources", {}).values():
        part.pop("vpc.amazonaws.com/efa", None)
    c.pop("securityContext", None)
    return there


@fault("IF-FAB-008", "no huge pages")
def _(c: Tree, a: Tree) -> bool:
    there = "hugepages-2Mi" in str(c.get("resources"))
    for part in c.get("resources", {}).values():
        part.pop("hugepages-2Mi", None)
    return there


@fault("IF-FAB-008", "an image without EFA")
def _(c: Tree, a: Tree) -> bool:
    there = str(c["image"]).endswith("-efa")
    c["image"] = str(c["image"]).removesuffix("-efa")
    return there


@fault("IF-FAB-008", "transports that cannot read GPU memory")
def _(c: Tree, a: Tree) -> bool:
    there = env(c, "UCX_TLS") is not None
    set_env(c, "UCX_TLS", "rc,dc")
    return there


@fault("IF-FAB-008", "transports without RDMA")
def _(c: Tree, a: Tree) -> bool:
    set_env(c, "UCX_TLS", "tcp,cuda_copy")
    return "rdma/" in str(c.get("resources"))


@fault("IF-FAB-008", "no memory lock")
def _(c: Tree, a: Tree) -> bool:
    return "rdma/" in str(c.get("resources")) and c.pop("securityContext", None) is not None


@fault("IF-FAB-003", "no RDMA device")
def _(c: Tree, a: Tree) -> bool:
    there = "rdma/" in str(c.get("resources")) and _paired(c)
    for part in c.get("resources", {}).values():
        for name in [n for n in part if n.startswith("rdma/")]:
            del part[name]
    return there


@fault("IF-FAB-009", "a GID index")
def _(c: Tree, a: Tree) -> bool:
    set_env(c, "NCCL_IB_GID_INDEX", "3")
    return not a.get("hostNetwork")


@fault("IF-FAB-010", "NCCL on other devices")
def _(c: Tree, a: Tree) -> bool:
    set_env(c, "UCX_NET_DEVICES", "mlx5_0:1")
    set_env(c, "NCCL_IB_HCA", "mlx5_4,mlx5_5")
    return True


@fault("IF-FAB-010", "NCCL in another class")
def _(c: Tree, a: Tree) -> bool:
    set_env(c, "UCX_IB_TRAFFIC_CLASS", "106")
    set_env(c, "NCCL_IB_TC", "96")
    return True


@fault("IF-FAB-011", "a fixed side channel")
def _(c: Tree, a: Tree) -> bool:
    set_env(c, "VLLM_NIXL_SIDE_CHANNEL_HOST", "10.1.2.3")
    config = transfer(c)
    return bool(config) and config["kv_connector"] == "NixlConnector" and role(c) is not None  # type: ignore[index]


@fault("IF-FAB-011", "no side channel")
def _(c: Tree, a: Tree) -> bool:
    there = env(c, "VLLM_NIXL_SIDE_CHANNEL_HOST") is not None and "dynamo.vllm" not in text_of(c)
    remove_env(c, "VLLM_NIXL_SIDE_CHANNEL_HOST")
    return there and role(c) == "prefill"


@fault("IF-FAB-012", "a bond")
def _(c: Tree, a: Tree) -> bool:
    set_env(c, "UCX_NET_DEVICES", "mlx5_bond_0:1")
    return True


@fault("IF-FAB-012", "more GPUs than the machine has")
def _(c: Tree, a: Tree) -> bool:
    there = "instance-type" in str(a.get("nodeSelector"))
    for part in c.get("resources", {}).values():
        if "nvidia.com/gpu" in part:
            part["nvidia.com/gpu"] = 16
    return there


@fault("IF-MEM-001", "a GPU that is too small")
def _(c: Tree, a: Tree) -> bool:
    a["nodeSelector"] = {"nvidia.com/gpu.product": "Tesla-T4"}
    model = text_of(c)
    return any(m in model for m in ("Llama-3.1-70B", "Qwen/Qwen3-32B", "Llama-3.1-8B", "openai/gpt-oss-120b"))


@fault("IF-MEM-002", "a context that does not fit")
def _(c: Tree, a: Tree) -> bool:
    if "Llama-3.1-8B" not in text_of(c):
        return False
    a["nodeSelector"] = {"nvidia.com/gpu.product": "NVIDIA-L4"}
    set_flag(c, "--max-model-len", "131072")
    return True


@fault("IF-MEM-003", "a context longer than the model's")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--max-model-len", "1000000")
    return any(m in text_of(c) for m in ("Llama-3.1-", "Qwen/Qwen3-32B", "gpt-oss-120b"))


@fault("IF-MEM-005", "a CPU tier above the limit")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--kv-offloading-size", "4000")
    return "memory" in ((c.get("resources") or {}).get("limits") or {})


@fault("IF-MEM-006", "a disk tier below the CPU tier")
def _(c: Tree, a: Tree) -> bool:
    set_env(c, "DYN_KVBM_CPU_CACHE_GB", "100")
    set_env(c, "DYN_KVBM_DISK_CACHE_GB", "50")
    return True


@fault("IF-MEM-010", "all of the GPU's memory")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--gpu-memory-utilization", "0.99")
    return True


@fault("IF-MEM-012", "no shared memory")
def _(c: Tree, a: Tree) -> bool:
    mounts = c.get("volumeMounts") or []
    c["volumeMounts"] = [m for m in mounts if m["mountPath"] != "/dev/shm"]
    split = value(c, "--tensor-parallel-size") or value(c, "-tp") or "1"
    return len(mounts) != len(c["volumeMounts"]) and split.isdigit() and int(split) > 1 and gpus(c, a) > 1


@fault("IF-POD-001", "a moving tag in a graph")
def _(c: Tree, a: Tree) -> bool:
    image = str(c["image"])
    c["image"] = f"{image.split('@', maxsplit=1)[0].rsplit(':', 1)[0]}:latest"
    return "ai-dynamo" in image


@fault("IF-POD-002", "a moving engine image")
def _(c: Tree, a: Tree) -> bool:
    image = str(c["image"])
    c["image"] = f"{image.rsplit(':', 1)[0]}:latest"
    return "ai-dynamo" not in image


@fault("IF-POD-003", "a probe at another port")
def _(c: Tree, a: Tree) -> bool:
    for probe in ("readinessProbe", "startupProbe", "livenessProbe"):
        for kind in ("httpGet", "tcpSocket"):
            if kind in (c.get(probe) or {}):
                c[probe][kind]["port"] = 8999
                return True
    return False


@fault("IF-POD-003", "an engine at another port than its Service or pool sends to")
def _(c: Tree, a: Tree) -> bool:
    there = value(c, "--port") is not None and bool(c.get("readinessProbe"))
    set_flag(c, "--port", "8777")
    return there and "containerPort" in str(c)


@fault("IF-POD-004", "events on the engine's own port")
def _(c: Tree, a: Tree) -> bool:
    set_flag(c, "--kv-events-config", '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5600"}')
    config = transfer(c)
    return bool(config) and config["kv_connector"] == "NixlConnector"  # type: ignore[index]


@fault("IF-POD-006", "a mount without its volume")
def _(c: Tree, a: Tree) -> bool:
    c["volumeMounts"] = [*(c.get("volumeMounts") or []), {"name": "forgotten", "mountPath": "/x"}]
    return True


@fault("IF-POD-006", "offline without the model")
def _(c: Tree, a: Tree) -> bool:
    set_env(c, "HF_HUB_OFFLINE", "1")
    c["volumeMounts"] = [m for m in c.get("volumeMounts") or [] if m["mountPath"] == "/dev/shm"]
    remove_env(c, "HF_HOME")
    a.pop("volumes", None) if "volumes" in a and not c["volumeMounts"] else None
    alpha = "mainContainer" in a
    return not alpha and "/mnt/models" not in text_of(c) and "$MODEL" not in text_of(c)


@fault("IF-POD-008", "a request that is not its limit")
def _(c: Tree, a: Tree) -> bool:
    resources = c.get("resources") or {}
    if "nvidia.com/gpu" not in (resources.get("limits") or {}):
        return False
    resources.setdefault("requests", {})["nvidia.com/gpu"] = 7
    return True


def _of_kind(documents: Documents, *kinds: str) -> Iterator[Tree]:
    for document in documents:
        for one in document.get("items", [document]) if isinstance(document, dict) else ():
            if isinstance(one, dict) and one.get("kind") in kinds:
                yield one


@whole("IF-POD-003", "a Service to a closed port")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "Service"):
        one["spec"]["ports"][0]["targetPort"] = 8123
        yield one["metadata"]["name"]


@whole("IF-POD-003", "a pool to a closed port")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "InferencePool"):
        one["spec"]["targetPorts"] = [{"number": 9999}]
        yield one["metadata"]["name"]


@whole("IF-POD-005", "a selector that is not the pods'")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "Deployment", "StatefulSet", "InferencePool"):
        one["spec"]["selector"]["matchLabels"] = {"app": "another"}
        yield one["metadata"]["name"]


@whole("IF-POD-007", "a volume for one node")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "PersistentVolumeClaim"):
        one["spec"]["accessModes"] = ["ReadWriteOnce"]
        for other in _of_kind(documents, "Deployment"):
            other["spec"]["replicas"] = 3
        yield one["metadata"]["name"]


def _components(documents: Documents) -> Iterator[tuple[Tree, Tree]]:
    for one in _of_kind(documents, "DynamoGraphDeployment"):
        for component in one["spec"].get("components", []):
            yield one, component


@whole("IF-NAM-001", "a graph's name over Grove's budget")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "DynamoGraphDeployment"):
        one["metadata"]["name"] = "a-name-that-is-long-enough-to-be-too-much-here"
        yield "graph"


@whole("IF-POD-009", "a frontend over two nodes")
def _(documents: Documents) -> Iterator[str]:
    for _, component in _components(documents):
        if component["type"] == "frontend":
            component["multinode"] = {"nodeCount": 2}
            yield component["name"]


@whole("IF-POD-009", "a container that is not called main")
def _(documents: Documents) -> Iterator[str]:
    for _, component in _components(documents):
        component["podTemplate"]["spec"]["containers"][0]["name"] = "engine"
        yield component["name"]


@whole("IF-POD-009", "services under v1beta1")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "DynamoGraphDeployment"):
        wrong = "v1alpha1" if "components" in one["spec"] else "v1beta1"
        one["apiVersion"] = f"nvidia.com/{wrong}"
        yield "graph"


@whole("IF-FAB-014", "a weight with `required`")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "DynamoGraphDeployment"):
        policy = one["spec"].get("experimental", {}).get("kvTransferPolicy")
        if policy:
            policy["enforcement"] = "required"
            yield "graph"


@whole("IF-FAB-014", "no label")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "DynamoGraphDeployment"):
        policy = one["spec"].get("experimental", {}).get("kvTransferPolicy")
        if policy:
            del policy["labelKey"]
            yield "graph"


@whole("IF-SCL-001", "bounds the wrong way round")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "ScaledObject"):
        one["spec"] |= {"minReplicaCount": 9, "maxReplicaCount": 4}
        yield "scaler"


@whole("IF-PLC-007", "workers that may be none")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "ScaledObject"):
        one["spec"]["minReplicaCount"] = 0
        yield "scaler"


@whole("IF-SCL-002", "two owners of the replicas")
def _(documents: Documents) -> Iterator[str]:
    for one in list(_of_kind(documents, "Deployment")):
        for number in range(2):
            documents.append({
                "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": f"hpa-{number}", "namespace": one["metadata"].get("namespace", "")},
                "spec": {"scaleTargetRef": {"kind": "Deployment", "name": one["metadata"]["name"]},
                         "minReplicas": 1, "maxReplicas": 2},
            })  # fmt: skip
        yield one["metadata"]["name"]


def _planner(documents: Documents) -> Iterator[tuple[Tree, dict[str, Any], list[Any]]]:
    for _, component in _components(documents):
        if component["type"] == "planner":
            container = component["podTemplate"]["spec"]["containers"][0]
            yield container, json.loads(container["args"][1]), container["args"]


@whole("IF-SCL-003", "a planner setting that nothing reads")
def _(documents: Documents) -> Iterator[str]:
    for _, config, args in _planner(documents):
        args[1] = json.dumps({**config, "adjustment_interval": 60})
        yield "planner"


@whole("IF-SCL-003", "a latency target that is ignored")
def _(documents: Documents) -> Iterator[str]:
    for _, config, args in _planner(documents):
        args[1] = json.dumps({**config, "optimization_target": "throughput"})
        yield "planner"


@whole("IF-SCL-001", "a planner budget below its graph")
def _(documents: Documents) -> Iterator[str]:
    for _, config, args in _planner(documents):
        args[1] = json.dumps({**config, "max_gpu_budget": 4})
        yield "planner"


@whole("IF-SCL-004", "a planner without Prometheus")
def _(documents: Documents) -> Iterator[str]:
    for container, _, _ in _planner(documents):
        remove_env(container, "PROMETHEUS_ENDPOINT")
        yield "planner"


@whole("IF-ENG-020", "a parallelism that the operator does not read")
def _(documents: Documents) -> Iterator[str]:
    for _, component in _components(documents):
        if "multinode" in component:
            container = component["podTemplate"]["spec"]["containers"][0]
            remove_flag(container, "--tensor-parallel-size")
            container["args"].append("--tensor-parallel-size=16")
            yield component["name"]


@whole("IF-PLC-012", "a roll-out that needs a spare GPU")
def _(documents: Documents) -> Iterator[str]:
    for one in _of_kind(documents, "Deployment"):
        one["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        yield one["metadata"]["name"]


def _vllm_list(container: Tree) -> bool:
    """Its own server, started by a list of words, of a release whose flags are known."""
    return pinned(container) and script(container) is None and "dynamo" not in text_of(container)


@fault("IF-ENG-001", "a value behind a switch")
def _(c: Tree, a: Tree) -> bool:
    if not _vllm_list(c):
        return False
    set_flag(c, "--enable-prefix-caching", None)
    c["args"].append("true")
    return True


@fault("IF-ENG-001", "a line that does not go on")
def _(c: Tree, a: Tree) -> bool:
    where = script(c)
    if where is None:
        return False
    words, position = where
    broken, count = re.subn(r"(vllm serve|dynamo\.vllm)([^\n]*?)[ \t]*\\\n(\s+--)", r"\1\2\n\3", str(words[position]))
    words[position] = broken
    return count > 0


@fault("IF-ENG-012", "a store on one side")
def _(c: Tree, a: Tree) -> bool:
    config = transfer(c)
    if config is None or config["kv_connector"] not in ("NixlConnector", "MooncakeConnector") or role(c) != "decode":
        return False
    set_transfer(c, {"kv_connector": "LMCacheConnectorV1", "kv_role": config["kv_role"]})
    return _paired(c)


@fault("IF-ENG-013", "another mode than the type")
def _(c: Tree, a: Tree) -> bool:
    mode = value(c, "--disaggregation-mode")
    if mode is None:
        return False
    set_flag(c, "--disaggregation-mode", "decode" if mode == "prefill" else "prefill")
    return True


@fault("IF-ENG-013", "a type without its mode")
def _(c: Tree, a: Tree) -> bool:
    if not has(c, "--disaggregation-mode"):
        return False
    remove_flag(c, "--disaggregation-mode")
    return pinned(c)


@fault("IF-FAB-008", "transports that are left out")
def _(c: Tree, a: Tree) -> bool:
    tls = env(c, "UCX_TLS")
    if tls is None or "rdma/ib" not in json.dumps(c.get("resources") or {}):
        return False
    set_env(c, "UCX_TLS", "^ib")
    return True


@fault("IF-POD-010", "a number among the words")
def _(c: Tree, a: Tree) -> bool:
    for key in ("command", "args"):
        for position, word in enumerate(c.get(key) or []):
            if str(word).isdigit():
                c[key][position] = int(word)
                return True
    return False


@whole("IF-CHK-004", "an acceptance without a reason")
def _(documents: Documents) -> Iterator[str]:
    for number, each in enumerate(documents):
        if isinstance(each, dict) and each.get("kind") in ("Deployment", "DynamoGraphDeployment", "LeaderWorkerSet"):
            each["metadata"].setdefault("annotations", {})["inferfab/accept.IF-ENG-016"] = "later"
            yield f"object {number}"
