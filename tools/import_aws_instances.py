"""Turn the collected table of AWS GPU instance types into the catalog's fact file.

    python tools/import_aws_instances.py SOURCE.json constructs/inferfab/catalog/data/aws_instances.json

The result depends on nothing but the input, so a second run changes nothing.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import EfaNics, InstanceFile, InstanceType

GPU_IDS = {"rtx-pro-server-6000": "rtx-pro-6000"}
"""AWS's names of GPUs that the catalog calls otherwise."""
A100_BY_FAMILY = {"p4d": "a100-40gb", "p4de": "a100-80gb"}
"""AWS writes ``a100`` for both memory sizes."""
CAPACITY_BLOCK_ONLY = frozenset({"p6e-gb200.36xlarge"})
SHORT_COMMIT = 12


def quota_family(family: str) -> str | None:
    """The EC2 service quota that counts the vCPUs of on-demand instances of this family."""
    if family.startswith("p"):
        return "Running On-Demand P instances"
    return "Running On-Demand G and VT instances" if family.startswith("g") else None


def short_source(source: str) -> str:
    """A source without its remarks in brackets and with a shorter commit; repository and path stay."""
    bare = source.split(" (", 1)[0].strip()
    if "@" not in bare or ":" not in bare:
        return bare
    repository, rest = bare.split("@", 1)
    commit, path = rest.split(":", 1)
    return f"{repository}@{commit[:SHORT_COMMIT]}:{path}"


def nics(row: dict[str, Any]) -> EfaNics:
    per_card = row["enis_per_card"]
    layout = row["efa_layout_ip_optimised"]
    if layout == []:
        layout = [[0, 0, "interface"]]
    return EfaNics(
        cards=row["network_cards"],
        efa_interfaces=row["efa_max_interfaces"],
        card0_can_efa=row["card0_supports_efa"],
        enis_per_card=None if per_card is None else per_card["0"],
        ipv4_per_eni=row["ipv4_per_eni"],
        layout=None if layout is None else tuple((card, device, kind) for card, device, kind in layout),
    )


def instance(row: dict[str, Any]) -> InstanceType:
    name: str = row["instance_type"]
    gpu = A100_BY_FAMILY.get(row["family"], GPU_IDS.get(row["gpu_name"], row["gpu_name"]))
    return InstanceType(
        cloud="aws",
        name=name,
        gpu=gpu,
        gpu_count=row["gpu_count"],
        vcpus=row["vcpus"],
        memory_mib=row["memory_mib"],
        local_nvme_gb=row["local_nvme_gb"] or 0,
        arch=row["arch"],
        network_gbps=row["network_bandwidth_mbps"] / 1000,
        nics=nics(row),
        locality_layers=row["instance_topology_layers"],
        max_pods=row["max_pods_eni_mode"],
        max_pods_with_rdma=row["max_pods_eni_mode_with_efa_only_on_card0"],
        capacity_block_only=name in CAPACITY_BLOCK_ONLY,
        quota_family=quota_family(row["family"]),
        note=row.get("notes", ""),
        sources=tuple(short_source(source) for source in row["sources"]),
    )


def convert(table: dict[str, Any]) -> InstanceFile:
    """Whole-GPU types whose GPU the catalog knows, in order of name."""
    kept: list[InstanceType] = []
    left_out: list[str] = []
    for row in sorted(table["rows"], key=lambda r: str(r["instance_type"])):
        known = {*gpus(), "a100", *GPU_IDS}
        if row["gpu_count"] >= 1 and row["gpu_name"] in known:
            kept.append(instance(row))
        else:
            left_out.append(row["instance_type"])
    note = (
        "Interface layouts follow the rule of the EC2 guide (plain interface on card 0 device 0, efa-only "
        "elsewhere), they are not published per type. Pod limits are for ENI mode on card 0: (interfaces - "
        "efa-only) x (addresses - 1) + 2. Types that sell a fraction of a GPU are not in this file"
        + (f" ({', '.join(left_out)} left out)." if left_out else "; the source table holds none.")
    )
    provenance = {
        "source": "aws/karpenter-provider-aws@1d927085dd81 tables and the AWS documentation, per row",
        "retrieved": table["generated"],
        "note": note,
    }
    return InstanceFile.model_validate({"provenance": provenance, "instances": kept})


def write(file: InstanceFile, output: Path) -> None:
    """One instance type per line, so that a change of one fact is a change of one line."""
    body = file.model_dump(mode="json")
    rows = ",\n".join(json.dumps(row) for row in body["instances"])
    head = json.dumps(body["provenance"])
    output.write_text(f'{{"provenance": {head},\n"instances": [\n{rows}\n]}}\n', encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("source", type=Path, help="the collected table (JSON)")
    parser.add_argument("output", type=Path, help="fact file to write")
    arguments = parser.parse_args()
    file = convert(json.loads(arguments.source.read_text(encoding="utf-8")))
    write(file, arguments.output)
    print(f"{len(file.instances)} instance types written to {arguments.output.name}")


if __name__ == "__main__":
    main()
