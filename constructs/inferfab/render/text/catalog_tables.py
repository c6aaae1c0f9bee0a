"""What the catalog has, for people."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import Cloud, instances
from inferfab.catalog.models import models
from inferfab.catalog.switches import platforms, switch_file
from inferfab.plan.kv_cache import bytes_per_token
from inferfab.record import Record
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console


def entries(kind: str) -> Mapping[str, Record]:
    """Catalog entries by id: ``models``, ``gpus``, or a cloud's machine types."""
    if kind == "models":
        return models()
    if kind == "gpus":
        return gpus()
    if kind == "leaves":
        return platforms()
    return instances(_CLOUDS[kind])


def print_catalog(console: "Console", kind: str) -> None:
    console.print({"models": _models, "gpus": _gpus, "leaves": _leaves}.get(kind, lambda: _machines(kind))())


_CLOUDS: dict[str, Cloud] = {"aws": "aws", "gcp": "gcp", "racks": "racks"}


def _leaves() -> object:
    table = table_of("Leaf switches (SONiC)", "platform", "model", "ports", "buffers without a table")
    for name, model in platforms().items():
        known = f"formula, {model.asic}" if model.asic else "not known"
        table.add_row(name, model.title, f"{model.ports} × {model.port_gbps}G", known)
    table.caption = f"Hardware SKUs with a vendor's table: {', '.join(switch_file().skus)}"
    return table


def _models() -> object:
    table = table_of("Models", "id", "parameters", "active", "KV a token (16 bit)", "context", "checkpoints", "licence",
                     right=("parameters", "active", "KV a token (16 bit)", "context"))  # fmt: skip
    for name, model in models().items():
        shape = model.shape
        precisions = ", ".join(c.quantization + (" (gated)" if c.gated else "") for c in model.checkpoints)
        table.add_row(
            name,
            f"{shape.parameters / 1e9:,.1f} B",
            f"{shape.active_parameters / 1e9:,.1f} B",
            f"{bytes_per_token(shape, 'bf16'):,.0f} B",
            f"{shape.max_context_tokens:,}",
            precisions,
            plain(model.licence),
        )
    return table


def _gpus() -> object:
    table = table_of("GPUs", "id", "name", "memory", "bandwidth", "dense TFLOPS", "MIG", right=("memory", "bandwidth"))
    for name, gpu in gpus().items():
        flops = ", ".join(f"{p} {v:,.0f}" for p, v in gpu.dense_tflops.items())
        table.add_row(
            name,
            gpu.title,
            f"{gpu.memory_mib / 1024:,.1f} GiB",
            f"{gpu.memory_gb_per_second:,.0f} GB/s",
            flops,
            "yes" if gpu.mig_profiles else "-",
        )
    return table


def _machines(cloud: str) -> object:
    table = table_of(
        f"{cloud} machine types",
        "name",
        "GPUs",
        "vCPU",
        "memory",
        "NVMe",
        "network",
        "RDMA",
        right=("vCPU", "memory", "NVMe", "network"),
    )
    for machine in instances(_CLOUDS[cloud]).values():
        rdma = (
            f"{machine.nics.kind} × {machine.rdma_nic_count}, {machine.rdma_gbps:,.0f} Gbit/s"
            if machine.rdma_gbps
            else "-"
        )
        table.add_row(
            machine.name,
            f"{machine.gpu_count} × {machine.gpu}",
            str(machine.vcpus or "?"),
            f"{machine.memory_mib / 1024:,.0f} GiB" if machine.memory_mib else "?",
            f"{machine.local_nvme_gb:,} GB",
            f"{machine.network_gbps:,.0f} Gbit/s",
            rdma,
        )
    return table
