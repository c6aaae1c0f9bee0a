"""Devices that a manifest names, against the machine that it asks for."""

import re
from collections.abc import Iterator

from inferfab.catalog.gpu_labels import machine_of
from inferfab.catalog.instances import EfaNics
from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.register import of_manifests
from inferfab.checks.serving.transport import EFA, efa_of
from inferfab.checks.serving.views import EngineView
from inferfab.manifests.model import Manifests


@manifest_rule(
    "IF-FAB-012",
    "devices that the machine does not have",
    joins=("cloud", "fabric", "pod"),
    why="a pod that asks for more than one node has stays pending; a device that is not there, or a bond, makes NIXL "
    "fail or fall back to TCP (dynamo#979).",
    do="ask for what the machine type has, and name the RDMA devices below a bond.",
    source="instance tables in the catalog; dynamo#979",
)
def devices_are_there(manifests: Manifests) -> Iterator[Problem]:
    for serving in of_manifests(manifests):
        for engine in serving.engines:
            yield from _named(engine)
            yield from _counted(engine)


def _named(engine: EngineView) -> Iterator[Problem]:
    for name in ("UCX_NET_DEVICES", "NCCL_IB_HCA"):
        variable = engine.env.get(name)
        for device in (variable.value or "").lstrip("=^").split(",") if variable else ():
            device = device.strip().split(":")[0]  # noqa: PLW2901
            if variable is not None and "bond" in device:
                yield variable.spot.problem(
                    f"{engine.name}: {name} names the bond `{device}`", "name the devices below it, or leave it out"
                )


def _counted(engine: EngineView) -> Iterator[Problem]:
    workload = engine.workload
    machine = machine_of(workload.pod.node_selector) if workload is not None else None
    if machine is None or engine.process is None:
        return
    limits = {**engine.process.container.requests, **engine.process.container.limits}
    if engine.gpus > machine.gpu_count and (amount := limits.get("nvidia.com/gpu")) is not None:
        spot = type(engine.spot)(amount.ref.path, amount.ref.at)
        yield spot.problem(
            f"{engine.name} asks for {engine.gpus} GPUs, and a {machine.name} has {machine.gpu_count}",
            f"write at most {machine.gpu_count}, or spread it over nodes",
            value=str(engine.gpus),
        )
    efa, amount = efa_of(engine), limits.get(EFA)
    if efa and amount is not None:
        has = machine.nics.efa_interfaces if isinstance(machine.nics, EfaNics) else 0
        if has is not None and efa > has:
            spot = type(engine.spot)(amount.ref.path, amount.ref.at)
            what = f"{engine.name} asks for {efa} EFA interfaces, and a {machine.name} has {has}"
            yield spot.problem(what, f"write at most {has}" if has else "remove it", value=str(efa))
    for name in ("UCX_NET_DEVICES",):
        variable = engine.env.get(name)
        numbers = [int(n) for n in re.findall(r"mlx5_(\d+)", (variable.value or "") if variable else "")]
        nics = machine.rdma_nic_count if not isinstance(machine.nics, EfaNics) else 0
        # A machine has an RDMA device for each of its other NICs too.
        if variable is not None and numbers and nics and max(numbers) >= nics + 2:
            yield variable.spot.problem(
                f"{engine.name}: {name} names mlx5_{max(numbers)}, and a {machine.name} has {nics} RDMA NICs",
                "name devices that it has",
            )
