"""What a pod needs so that KV cache moves over the fabric and not, silently, over TCP.

Each kind of fabric is one bundle: devices, environment, memory and privileges together. A bundle with a part
missing still starts, and then every transfer falls back to TCP (about 98 s to the first token instead of 0.2
to 0.5 s, ai-dynamo disaggregated communication guide), so it is decided whole or not at all.
"""

from typing import Literal

from pydantic import NonNegativeInt

from inferfab.record import Record

FabricKind = Literal["efa", "roce", "tcp"]

EFA_HUGEPAGES_MIB = 5120
"""2 MiB huge pages of each EFA pod. Source: EKS user guide, device-management-efa; Dynamo EKS EFA guide."""


class EnvValue(Record):
    """One environment variable: a text, or a field that the pod's own status gives."""

    name: str
    value: str | None = None
    field_ref: str | None = None


class Transport(Record):
    """How a worker's pod reaches the fabric."""

    kind: FabricKind
    nixl_backend: Literal["LIBFABRIC", "UCX"]
    env: tuple[EnvValue, ...]
    resources: dict[str, int]
    """Extended resources of the pod, equal in requests and limits."""
    hugepages_2mi_mib: NonNegativeInt
    privileged: bool
    capabilities: tuple[str, ...]
    image_suffix: str


def _env(**values: str) -> tuple[EnvValue, ...]:
    return tuple(EnvValue(name=name, value=value) for name, value in values.items())


_SIDE_CHANNEL = EnvValue(name="VLLM_NIXL_SIDE_CHANNEL_HOST", field_ref="status.podIP")
"""The default is localhost, and a fixed address breaks workers of several nodes (dynamo#2706).

dynamo.vllm would find an address itself, but not for NIXL inside a MultiConnector (dynamo/vllm/args.py
``_uses_nixl_connector``).
"""


def efa_transport(efa_interfaces: int, *, dranet: bool, image_suffix: str) -> Transport:
    """EFA: NIXL over libfabric. Source: Dynamo docs/kubernetes/cloud-providers/eks/efa.md."""
    return Transport(
        kind="efa",
        nixl_backend="LIBFABRIC",
        env=(
            _SIDE_CHANNEL,
            *_env(
                FI_PROVIDER="efa",
                FI_EFA_USE_DEVICE_RDMA="1",
                FI_EFA_ENABLE_SHM="0",
                FI_EFA_ENABLE_SHM_TRANSFER="0",
                FI_EFA_FORK_SAFE="0",
                FI_EFA_USE_HUGE_PAGE="1",
            ),
        ),
        resources={} if dranet else {"vpc.amazonaws.com/efa": efa_interfaces},
        hugepages_2mi_mib=EFA_HUGEPAGES_MIB,
        privileged=not dranet,
        capabilities=("IPC_LOCK",) if dranet else (),
        image_suffix=image_suffix,
    )


def roce_transport(
    *, traffic_class: int | None, nic_resources: dict[str, int], devices: tuple[str, ...] = ()
) -> Transport:
    """RoCE v2: NIXL over UCX. No GID index is set: inside a pod it differs from the host's, UCX picks it.

    NIXL reads UCX's configuration from the environment and sets what it needs unless the variable is there:
    ``UCX_RNDV_THRESH=inf``, ``UCX_MAX_RMA_RAILS=2`` (ai-dynamo/nixl src/plugins/ucx/ucx_utils.cpp
    nixlUcxContext and config.cpp config::modify, read near 1.4.1; its wheel's plugin has the same strings).
    So ``UCX_RNDV_THRESH=0`` and ``UCX_RNDV_SCHEME`` of older Dynamo guides are left out, they would undo
    that; and their ``UCX_IB_REG_METHODS``, because no library of that wheel (UCX 1.22) knows it.

    :param traffic_class: ToS byte of the marking plan; None where the fabric's owner does the marking. None
        is not unmarked: UCX then takes the port's own RoCE traffic class, or else 106 (DSCP 26, ECN-capable),
        and NCCL takes 0 (libuct_ib of the wheel, "TRAFFIC_CLASS"; NVIDIA/nccl net_ib.cc
        ``NCCL_PARAM(IbTc)``, read in copies of several releases, unproven for the image's).
    :param nic_resources: extended resources that carry the NICs; none where a claim brings them.
    :param devices: RDMA devices of the rails, where they are known: nothing else of the host is taken for one.
    """
    marking = {}
    if traffic_class is not None:
        marking = {"UCX_IB_TRAFFIC_CLASS": str(traffic_class), "NCCL_IB_TC": str(traffic_class)}
    rails = {}
    if devices:
        # One port a device. NCCL's "=" asks for exactly these names: mlx5_1 would also be mlx5_10.
        rails = {
            "UCX_NET_DEVICES": ",".join(f"{device}:1" for device in devices),
            "NCCL_IB_HCA": "=" + ",".join(devices),
        }
    return Transport(
        kind="roce",
        nixl_backend="UCX",
        env=(
            _SIDE_CHANNEL,
            *_env(
                # Without tcp: a broken fabric then fails instead of serving at a hundredth of the speed.
                UCX_TLS="rc_x,rc,dc_x,dc,cuda_copy,cuda_ipc",
                UCX_IB_ADDR_TYPE="eth",
                **marking,
                **rails,
            ),
        ),
        resources=nic_resources,
        hugepages_2mi_mib=0,
        privileged=False,
        capabilities=("IPC_LOCK",),
        image_suffix="",
    )


def tcp_transport() -> Transport:
    """No RDMA: NIXL over UCX and TCP, only where it was asked for or nothing is moved."""
    return Transport(
        kind="tcp",
        nixl_backend="UCX",
        env=(_SIDE_CHANNEL, *_env(UCX_TLS="tcp,cuda_copy,cuda_ipc")),
        resources={},
        hugepages_2mi_mib=0,
        privileged=False,
        capabilities=(),
        image_suffix="",
    )
