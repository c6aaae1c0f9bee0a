"""What a cloud offers: machines, fabrics, ways to buy capacity."""

import re
from collections.abc import Iterator

from inferfab.catalog.gpus import gpus
from inferfab.catalog.instances import Cloud, InstanceType, instances
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.pools import DisaggregatedPool, Pool
from inferfab.environment.problems import meant
from inferfab.findings import YamlPath
from inferfab.plan.placement import choose_instance

OFFERS: dict[Cloud, str] = {
    "aws": "EFA (libfabric) on P and larger G machines; AWS sells no RoCE. Its secondary RDMA networks are opt-in "
        "with a commitment and not supported here yet",
    "racks": "RoCE on the rails of owned servers; EFA is an AWS network",
    "gcp": "RoCE on A3 Ultra, A4 and A4X; EFA is an AWS network",
}  # fmt: skip


TITLES = {"efa": "EFA", "roce": "RoCE"}


def machines_with_rdma(cloud: Cloud, gpu: str, gpus_per_worker: int) -> list[str]:
    """Machine types with that GPU and RDMA that hold a worker (any, if none does), smallest first."""
    able = [i for i in instances(cloud).values() if i.gpu == gpu and i.rdma_gbps > 0]
    able = [i for i in able if i.gpu_count >= gpus_per_worker] or able
    return [i.name for i in sorted(able, key=lambda i: (i.gpu_count, i.memory_mib or 0, i.name))]


def placements(facts: Facts) -> Iterator[tuple[str, Cloud, str, str, Pool]]:
    """(cell, cloud, region, pool name, pool) for every pool that is declared and placed."""
    for name, cell in facts.environment.cells.items():
        for pool_name in cell.pools:
            pool = facts.environment.pools.get(pool_name)
            if pool is not None:
                yield name, cell.machines, cell.region, pool_name, pool


def largest_worker(pool: Pool) -> int:
    """GPUs of the pool's largest worker."""
    workers = (
        [pool.prefill, pool.decode]
        if isinstance(pool, DisaggregatedPool)
        else [pool.worker]
        if pool.topology == "aggregated"
        else []
    )
    return max((w.tensor_parallel * w.pipeline_parallel * w.data_parallel for w in workers), default=1)


def machine_of(cloud: Cloud, region: str, pool: Pool) -> InstanceType | None:
    needs_rdma = pool.topology == "disaggregated" and pool.fabric != "tcp"
    return choose_instance(
        cloud, region, instance=pool.instance, gpu=pool.gpu, gpus_per_worker=largest_worker(pool), needs_rdma=needs_rdma
    )


@rule(
    "IF-CLD-001",
    "a machine type or GPU that the cloud does not have",
    stage="reference",
    joins=("environment", "cloud"),
    why="the node group could not be created, or its nodes would hold other GPUs than the model was planned for.",
    do="name a machine type of the cell's cloud, or a GPU and let the plan pick the machine.",
    source="instance tables in the catalog",
)
def machine_exists(facts: Facts) -> Iterator[Problem]:
    seen: set[tuple[str, Cloud]] = set()
    for cell, cloud, region, name, pool in placements(facts):
        here = facts.environment.cells[cell].pools[name]
        if here is not None and here.former is not None and cloud != "racks":
            old = here.former.instance
            if old not in instances(cloud):
                yield Problem(
                    ("cells", cell, "pools", name, "former", "instance"),
                    f"{cloud} has no GPU machine type `{old}` in the catalog",
                    meant(old, list(instances(cloud))),
                )
        # What a pool on racks asks for is held against the racks' own servers: IF-RCK-008.
        if cloud == "racks" or (name, cloud) in seen or machine_of(cloud, region, pool) is not None:
            continue
        seen.add((name, cloud))
        path: YamlPath = ("pools", name, "instance" if pool.instance else "gpu")
        if pool.instance is not None:
            elsewhere = next((c for c in ("aws", "gcp") if pool.instance in instances(c)), None)
            if elsewhere:
                what = f"`{pool.instance}` is a machine type of {elsewhere}, and cell `{cell}` is in {cloud}"
                yield Problem(
                    path,
                    what,
                    f"give `gpu: {instances(elsewhere)[pool.instance].gpu}` in its place, then each cloud has its own",
                )
            else:
                yield Problem(
                    path,
                    f"{cloud} has no GPU machine type `{pool.instance}` in the catalog",
                    meant(pool.instance, list(instances(cloud))),
                )
        elif pool.gpu not in gpus():
            yield Problem(path, f"there is no GPU `{pool.gpu}` in the catalog", meant(pool.gpu, list(gpus())))
        else:
            offered = sorted({i.gpu for i in instances(cloud).values()})
            if pool.gpu in offered:
                machines = [i.name for i in instances(cloud).values() if i.gpu == pool.gpu]
                what = f"no {cloud} machine with {pool.gpu} holds a worker of {largest_worker(pool)} GPUs" + (
                    " and has RDMA, which disaggregation needs" if pool.topology == "disaggregated" else ""
                )
                yield Problem(
                    path,
                    f"{what} ({', '.join(machines)})",
                    "use a smaller worker, another GPU, or `topology: aggregated`",
                )
            else:
                yield Problem(path, f"{cloud} sells no {pool.gpu} (cell `{cell}`)", f"one of: {', '.join(offered)}")


@rule(
    "IF-FAB-001",
    "a fabric that is not there",
    stage="reference",
    joins=("cloud", "fabric"),
    why="KV transfer would silently run over TCP: about 98 s to the first token instead of 0.2 to 0.5 s.",
    do="leave `fabric` out to get the cloud's own, or use a machine that has it.",
    source="AWS EFA and Google RoCE documentation; NVIDIA Dynamo EFA guide",
)
def fabric_offered(facts: Facts) -> Iterator[Problem]:
    wrong: dict[Cloud, str] = {"aws": "roce", "gcp": "efa", "racks": "efa"}
    for name, cell in facts.environment.cells.items():
        if cell.fabric and cell.fabric.kind == wrong[cell.machines]:
            yield Problem(
                ("cells", name, "fabric", "kind"),
                f"{cell.machines} does not offer {cell.fabric.kind}: it has {OFFERS[cell.machines]}",
                "leave `fabric` out, or write the cloud's own",
            )
    seen: set[tuple[str, str]] = set()
    for cell_name, cloud, region, name, pool in placements(facts):
        if pool.fabric in ("auto", "tcp") or (name, cloud) in seen:
            continue
        seen.add((name, cloud))
        machine = machine_of(cloud, region, pool)
        if pool.fabric == wrong[cloud]:
            yield Problem(
                ("pools", name, "fabric"),
                f"{cloud} does not offer {pool.fabric} (cell `{cell_name}`): it has {OFFERS[cloud]}",
                "write `fabric: auto`, or leave it out",
            )
        elif machine is not None and machine.rdma_gbps == 0:
            able = machines_with_rdma(cloud, machine.gpu, largest_worker(pool))
            yield Problem(
                ("pools", name, "fabric"),
                f"{machine.name} has no {TITLES[pool.fabric]}",
                f"use {' or '.join(able[:4])}"
                if able
                else "use another machine, or `fabric: tcp` for an aggregated pool",
            )


@rule(
    "IF-CLD-002",
    "capacity that the cloud does not sell this way",
    stage="reference",
    joins=("environment", "cloud"),
    why="the launch would fail, or instances would start on demand beside a reservation that is paid for.",
    do="use the cloud's own kind of capacity and its id.",
    source="EC2 Capacity Blocks and Capacity Reservations; Google reservations",
)
def capacity_offered(facts: Facts) -> Iterator[Problem]:
    for cell_name, cloud, region, name, pool in placements(facts):
        here = facts.environment.cells[cell_name].pools[name]
        overridden = here is not None and here.capacity is not None
        capacity = here.capacity if here is not None and here.capacity is not None else pool.capacity
        path: YamlPath = ("cells", cell_name, "pools", name, "capacity") if overridden else ("pools", name, "capacity")
        if capacity.kind == "capacity_block" and cloud != "aws":
            yield Problem(
                path, f"Capacity Blocks are AWS's; cell `{cell_name}` is in {cloud}", "use `kind: reservation`"
            )
        if capacity.kind == "reservation":
            if cloud == "aws" and not capacity.id.startswith("cr-"):
                yield Problem(
                    (*path, "id"), f"`{capacity.id}` is not an EC2 Capacity Reservation", "write its id, `cr-…`"
                )
            if cloud == "aws" and capacity.block is not None:
                yield Problem((*path, "block"), "reservation blocks are Google's", "remove `block`", of_key=True)
        machine = machine_of(cloud, region, pool)
        if machine is not None and machine.capacity_block_only and capacity.kind != "capacity_block":
            what = f"{machine.name} is sold through Capacity Blocks only, not {capacity.kind.replace('_', ' ')}"
            yield Problem(path, what, "write `capacity: {kind: capacity_block, …}`")


@rule(
    "IF-CLD-003",
    "one reservation for two node groups",
    stage="reference",
    joins=("environment", "cloud"),
    severity="warning",
    why="a reservation lies in one zone and holds a fixed number of instances; two groups would compete for it.",
    do="name one reservation a pool and cell, or make sure that it holds both at their maximum.",
    source="EC2 On-Demand Capacity Reservations",
)
def reservations_not_shared(facts: Facts) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for cell_name, _, _, name, pool in placements(facts):
        here = facts.environment.cells[cell_name].pools[name]
        capacity = here.capacity if here is not None and here.capacity is not None else pool.capacity
        if capacity.kind not in ("reservation", "capacity_block"):
            continue
        if capacity.id in first and first[capacity.id] != f"{cell_name}/{name}":
            yield Problem(
                ("cells", cell_name, "pools", name),
                f"`{capacity.id}` also serves {first[capacity.id]}",
                "name another reservation here",
                value=capacity.id,
                of_key=True,
            )
        first.setdefault(capacity.id, f"{cell_name}/{name}")


_VPC, _SUBNET = re.compile(r"vpc-([0-9a-f]{8}|[0-9a-f]{17})"), re.compile(r"subnet-([0-9a-f]{8}|[0-9a-f]{17})")


@rule(
    "IF-CLD-004",
    "not an id that AWS gives",
    stage="reference",
    joins=("environment", "cloud"),
    why="AWS finds networks and subnets by id only; Terraform would fail halfway.",
    do="copy the id from the AWS console or from `aws ec2 describe-subnets`.",
    source="EC2 user guide: resource IDs",
)
def aws_network_ids(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        network = cell.network
        if cell.cloud != "aws" or network.kind != "existing":
            continue
        at: YamlPath = ("cells", name, "network")
        subnets: list[tuple[YamlPath, str]] = [((*at, "inference_subnet_id"), network.inference_subnet_id)]
        for field in ("node_subnet_ids", "public_subnet_ids"):
            subnets += [((*at, field, position), each) for position, each in enumerate(getattr(network, field))]
        if not _VPC.fullmatch(network.vpc_id):
            fix = "write `vpc-` and 8 or 17 hexadecimal digits"
            yield Problem((*at, "vpc_id"), f"`{network.vpc_id}` is not the id of a VPC", fix)
        for path, each in subnets:
            if not _SUBNET.fullmatch(each):
                fix = "write `subnet-` and 8 or 17 hexadecimal digits"
                yield Problem(path, f"`{each}` is not the id of a subnet", fix)


@rule(
    "IF-CLD-005",
    "an owner that AWS takes as no tag",
    stage="reference",
    joins=("environment", "cloud"),
    why="every resource has the owner as a tag, and AWS refuses a resource whose tag has other characters.",
    do="write letters, digits, spaces and + - = . _ : / @.",
    source="AWS: tag naming limits and requirements",
)
def owner_is_a_tag(facts: Facts) -> Iterator[Problem]:
    environment = facts.environment
    if any(cell.cloud == "aws" for cell in environment.cells.values()):
        refused = "".join(dict.fromkeys(re.findall(r"[^\w .:/=+@-]", environment.owner)))
        if refused:
            yield Problem(
                ("owner",),
                f"`{environment.owner}` has {refused!r}, which AWS takes in no tag",
                "use letters, digits, spaces and + - = . _ : / @",
            )
