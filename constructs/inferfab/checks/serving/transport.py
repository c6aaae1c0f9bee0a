"""What a pod needs so that KV cache moves over RDMA: each fabric is a bundle, and a bundle with a part missing runs
over TCP without a word.

Sources: ai-dynamo disaggregated communication guide and EKS EFA guide; NVIDIA/nvcf#1349, ofiwg/libfabric#9739,
vllm#27055, dynamo#1314, #2706, #6370.
"""

import re
from collections.abc import Iterator

import inferfab.checks.fabric  # noqa: F401 - enters IF-FAB-003, which judges manifests too
from inferfab.checks.registry import Problem
from inferfab.checks.serving.kv_transfer import FLAG, transfer_of
from inferfab.checks.serving.register import judges_manifests, serving_rule
from inferfab.checks.serving.views import EngineView, Serving, Spot

EFA = "vpc.amazonaws.com/efa"
_RDMA = re.compile(r"^rdma/|rdma|roce|infiniband|hca|hostdev|/ib$|mlnx|mellanox|sriov", re.IGNORECASE)
_UCX_RDMA = {"rc", "rc_x", "rc_v", "rc_mlx5", "rc_verbs", "dc", "dc_x", "dc_mlx5", "ud", "ud_x", "ud_v", "ib", "all"}

_UCX_FAMILIES = ({"rc", "rc_x", "rc_mlx5"}, {"dc", "dc_x", "dc_mlx5"}, {"ud", "ud_x", "ud_mlx5"})
"""Each of them carries RDMA; `^ib` leaves out all of them. Source: UCX documentation, UCX_TLS and its aliases."""
_OF_GPUS = ("cuda", "rocm", "ze", "gaudi")
"""Transports that read the memory of NVIDIA's, AMD's and Intel's GPUs."""


def efa_of(engine: EngineView) -> int:
    return int(engine.resources.get(EFA, 0))


def rdma_of(engine: EngineView) -> bool:
    """RDMA devices of another kind than EFA."""
    return any(_RDMA.search(name) for name in engine.resources if name != EFA)


def _env(engine: EngineView, name: str) -> str | None:
    variable = engine.env.get(name)
    return variable.value if variable else None


def _spot(engine: EngineView, *names: str) -> Spot:
    return next((engine.env[n].spot for n in names if n in engine.env), engine.spot)


def moving(serving: Serving) -> Iterator[EngineView]:
    """Engines that send or receive KV cache by NIXL."""
    for engine in serving.engines:
        transfer = transfer_of(engine)
        if transfer is not None and transfer.nixl is not None and engine.role != "worker":
            yield engine


@judges_manifests("IF-FAB-003")
def disaggregation_has_rdma(serving: Serving) -> Iterator[Problem]:
    for engine in moving(serving):
        if not (efa_of(engine) or rdma_of(engine) or engine.networked or engine.privileged):
            yield engine.spot.problem(
                f"{engine.name} moves KV cache to other pods and asks for no RDMA device",
                "ask for the device of your fabric (`vpc.amazonaws.com/efa`, `rdma/ib`), or serve aggregated",
                severity="warning",
            )


@serving_rule(
    "IF-FAB-008",
    "an RDMA bundle with a part missing",
    joins=("fabric", "pod", "engine"),
    why="the pod starts, and every transfer goes over TCP or through host memory instead: some 98 s to the first "
    "token where 0.2 to 0.5 s are usual.",
    do="take the whole bundle of the fabric: device, backend, environment, memory lock, huge pages and image.",
    source="ai-dynamo disaggregated communication guide and EKS EFA guide; vllm#27055, dynamo#1314, NVIDIA/nvcf#1349, "
    "ofiwg/libfabric#9739",
)
def bundles_are_whole(serving: Serving) -> Iterator[Problem]:
    for engine in moving(serving):
        if efa_of(engine):
            yield from _efa(engine)
        elif _wants_efa(engine):
            yield from _no_efa(engine)
        elif rdma_of(engine) or engine.networked:
            yield from _ucx(engine)
        if efa_of(engine) or rdma_of(engine):
            yield from _memory_lock(engine)


def _backends(engine: EngineView) -> tuple[str, ...]:
    transfer = transfer_of(engine)
    return transfer.backends if transfer else ()


def _wants_efa(engine: EngineView) -> bool:
    provider = _env(engine, "FI_PROVIDER")
    if (engine.json(FLAG) or {}).get("kv_buffer_device") == "cpu":
        return False  # libfabric over TCP, and said so
    return "LIBFABRIC" in _backends(engine) if provider is None else provider.startswith("efa")


def _efa(engine: EngineView) -> Iterator[Problem]:
    backends = _backends(engine)
    if "LIBFABRIC" not in backends:
        yield engine.at(FLAG).problem(
            f"{engine.name} has EFA and moves KV cache by {' and '.join(backends)}, which knows no EFA",
            'add `"kv_connector_extra_config":{"backends":["LIBFABRIC"]}` to NixlConnector',
        )
    provider = _env(engine, "FI_PROVIDER")
    if provider is not None and "efa" not in provider:
        yield _spot(engine, "FI_PROVIDER").problem(
            f"{engine.name} has EFA and FI_PROVIDER is `{provider}`", "write `efa`"
        )
    if not any(name.startswith("hugepages-2Mi") for name in engine.resources):
        asks = _env(engine, "FI_EFA_USE_HUGE_PAGE") == "1"
        yield _spot(engine, "FI_EFA_USE_HUGE_PAGE").problem(
            f"{engine.name} has EFA and no huge pages" + (", and FI_EFA_USE_HUGE_PAGE asks for them" if asks else ""),
            "add `hugepages-2Mi: 5120Mi` to limits",
            severity="warning",
        )
    image = engine.process.image if engine.process else None
    if image is not None and image.is_dynamo and image.known and image.tag and "efa" not in image.tag:
        ref = engine.process.container.image_ref if engine.process else None
        assert ref is not None
        yield Spot(ref.path, ref.at).problem(
            f"{engine.name} has EFA, and the image `{image.name}:{image.tag}` has no EFA userland",
            f"use the tag `{image.tag}-efa`",
            severity="error" if image.repository.startswith("nvcr.io/") else "warning",
        )


def _no_efa(engine: EngineView) -> Iterator[Problem]:
    if engine.networked or engine.privileged:
        return
    where = _spot(engine, "FI_PROVIDER") if "LIBFABRIC" not in _backends(engine) else engine.at(FLAG)
    yield where.problem(
        f"{engine.name} is set up for EFA and asks for no `{EFA}`", f"add `{EFA}` to requests and limits"
    )


def _ucx(engine: EngineView) -> Iterator[Problem]:
    tls = _env(engine, "UCX_TLS")
    if tls is not None and tls.startswith("^"):
        without = {part.strip() for part in tls.lstrip("^").split(",")}
        where = _spot(engine, "UCX_TLS")
        if rdma_of(engine) and ("ib" in without or all(without & family for family in _UCX_FAMILIES)):
            yield where.problem(
                f"{engine.name} has RDMA devices, and UCX_TLS (`{tls}`) leaves out every RDMA transport",
                "leave UCX_TLS out",
            )
        elif without & {"cuda", "cuda_copy"}:
            yield where.problem(f"UCX_TLS of {engine.name} (`{tls}`) cannot read GPU memory", "leave UCX_TLS out")
    elif tls is not None:
        names = {part.strip() for part in tls.split(",")}
        where = _spot(engine, "UCX_TLS")
        if rdma_of(engine) and not names & _UCX_RDMA:
            yield where.problem(
                f"{engine.name} has RDMA devices, and UCX_TLS (`{tls}`) names no RDMA transport",
                "add `rc,dc`, or leave UCX_TLS out",
            )
        elif names & _UCX_RDMA and "all" not in names and not any(n.startswith(_OF_GPUS) for n in names):
            yield where.problem(
                f"UCX_TLS of {engine.name} (`{tls}`) cannot read GPU memory", "add `cuda_copy,cuda_ipc`"
            )
    devices = _env(engine, "UCX_NET_DEVICES")
    if devices and rdma_of(engine) and all(re.match(r"(eth|ens|enp|bond|lo)", d.strip()) for d in devices.split(",")):
        yield _spot(engine, "UCX_NET_DEVICES").problem(
            f"{engine.name} has RDMA devices, and UCX_NET_DEVICES (`{devices}`) names Ethernet interfaces only",
            "name the RDMA devices (`mlx5_0:1`), or leave UCX_NET_DEVICES out",
        )


def _memory_lock(engine: EngineView) -> Iterator[Problem]:
    if not engine.privileged and not {"IPC_LOCK", "ALL", "SYS_ADMIN"} & set(engine.capabilities):
        yield engine.spot.problem(
            f"{engine.name} has RDMA devices and may not lock memory for them",
            "add the capability IPC_LOCK",
            severity="warning",
        )


@serving_rule(
    "IF-FAB-009",
    "a GID index that is written down",
    severity="warning",
    joins=("fabric", "pod"),
    why="inside of a pod the index differs from the host's and from pod to pod (the table is sparse), so traffic fails "
    "or leaves by the wrong address.",
    do="leave the index out; UCX and NCCL choose by type and address family.",
    source="NVIDIA/nccl#1573, #1587; k8snetworkplumbingwg/multus-cni#1100; uccl-project/uccl#301, #711",
)
def no_gid_index(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        for name in ("UCX_IB_GID_INDEX", "NCCL_IB_GID_INDEX"):
            value = _env(engine, name)
            host = engine.workload is not None and engine.workload.pod.host_network
            if value not in (None, "", "auto") and not host:
                yield _spot(engine, name).problem(f"{engine.name} sets {name} to `{value}`", f"remove {name}")


@serving_rule(
    "IF-FAB-010",
    "NCCL and UCX on different devices or classes",
    severity="warning",
    joins=("fabric", "pod", "engine"),
    why="collectives of a worker and its KV transfers then use other NICs, or other queues of the switches, than was "
    "planned: one of the two is slow, and the marking of one is not the switches'.",
    do="name the same devices, and the same traffic class, for both.",
    source="ai-dynamo disaggregated communication guide (NCCL variables act on collectives only); NCCL and UCX "
    "environment references",
)
def same_devices(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        ucx, nccl = _env(engine, "UCX_NET_DEVICES"), _env(engine, "NCCL_IB_HCA")
        if ucx and nccl and not nccl.startswith("^") and ucx != "all" and not _cover(ucx, nccl):
            yield _spot(engine, "UCX_NET_DEVICES").problem(
                f"{engine.name}: UCX_NET_DEVICES is `{ucx}` and NCCL_IB_HCA `{nccl}`", "name the same devices"
            )
        for one, other in (("UCX_IB_TRAFFIC_CLASS", "NCCL_IB_TC"), ("UCX_IB_GID_INDEX", "NCCL_IB_GID_INDEX"),
                           ("UCX_IB_SL", "NCCL_IB_SL")):  # fmt: skip
            a, b = _env(engine, one), _env(engine, other)
            if a and b and a != b:
                yield _spot(engine, one).problem(
                    f"{engine.name}: {one} is `{a}` and {other} `{b}`", "write the same value for both"
                )


def _cover(ucx: str, nccl: str) -> bool:
    """NCCL's names are beginnings unless ``=`` stands before them; ports are left aside."""
    exact = nccl.startswith("=")
    asked = {part.strip().split(":")[0] for part in nccl.lstrip("=").split(",") if part.strip()}
    here = {part.strip().split(":")[0] for part in ucx.split(",") if part.strip()}
    if exact:
        return asked == here
    return all(any(device.startswith(a) for a in asked) for device in here) and all(
        any(device.startswith(a) for device in here) for a in asked
    )


@serving_rule(
    "IF-FAB-011",
    "a side channel that other pods cannot reach",
    joins=("fabric", "pod", "engine"),
    why="decode asks prefill's side channel for the addresses of its KV cache; at localhost, or at a fixed address, it "
    "finds its own pod or a leader instead (dynamo#2706).",
    do="set VLLM_NIXL_SIDE_CHANNEL_HOST from `status.podIP`.",
    source="vLLM 0.31.0 vllm/envs.py (default localhost); ai-dynamo 1.6.1 dynamo/vllm/args.py (finds the address "
    "itself, but not inside of a MultiConnector); dynamo#2706",
)
def side_channel_reaches(serving: Serving) -> Iterator[Problem]:
    name = "VLLM_NIXL_SIDE_CHANNEL_HOST"
    for engine in moving(serving):
        variable, transfer = engine.env.get(name), transfer_of(engine)
        if variable is not None:
            if variable.value is not None and not re.search(r"[$({]", variable.value):
                yield variable.spot.problem(
                    f"{engine.name} sets {name} to `{variable.value}`",
                    "write `valueFrom: {fieldRef: {fieldPath: status.podIP}}`",
                )
            elif variable.field not in (None, "status.podIP", "status.podIPs", "status.hostIP"):
                yield variable.spot.problem(f"{engine.name} takes {name} from `{variable.field}`", "write `status."
                                            "podIP`")  # fmt: skip
            continue
        nested = transfer is not None and bool(transfer.children)
        alone = engine.program == "vllm" or nested
        if alone and engine.role == "prefill" and not engine.env_hidden and not _exported(engine, name):
            yield engine.spot.problem(
                f"{engine.name} sends KV cache and does not set {name}, which is localhost then",
                f"add {name} from `status.podIP`",
                severity="warning" if engine.workload is not None and engine.workload.pod.host_network else "error",
            )


def _exported(engine: EngineView, name: str) -> bool:
    """A shell script of the container sets the variable itself."""
    container = engine.process.container if engine.process else None
    texts = [i.text or "" for n in (container.command, container.args) for i in n.items()] if container else []
    return any(f"{name}=" in text for text in texts)
