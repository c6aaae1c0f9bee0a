"""Google Cloud: how pods reach RDMA NICs, and what is not built there."""

from collections.abc import Iterator

from inferfab.catalog.kubernetes import minor
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.cells import RoceFabric


@rule(
    "IF-GCP-001",
    "RDMA networks for part of a node",
    joins=("cloud", "fabric", "pod"),
    why="a network that a pod asks for by annotation is a NIC of the node, which one pod holds alone; further pods of "
    "the node stay pending.",
    do="use `attach: dranet`, which gives each pod the NICs beside its GPUs, or workers that fill a node.",
    source="GKE: multi-network support for pods (type Device)",
)
def networks_fill_nodes(facts: Facts) -> Iterator[Problem]:
    for at in facts.roles():
        asked = facts.environment.cells[at.cell.name].fabric
        if not isinstance(asked, RoceFabric) or asked.attach != "networks" or at.cell.cloud != "gcp":
            continue
        if at.role.fabric.kind == "roce" and at.group.workers_per_node > 1:
            yield Problem(
                ("cells", at.cell.name, "fabric", "attach"),
                f"{at.where} has {at.group.workers_per_node} workers on a node, which has each NIC once",
                f"remove `attach`, or use {at.group.gpus_per_node} GPUs a worker",
            )


@rule(
    "IF-GCP-002",
    "DRANET before its time",
    stage="reference",
    joins=("cloud", "fabric", "cluster"),
    why="GKE's managed DRANET hands RDMA NICs out from 1.34.1-gke.1829001 on.",
    do='use Kubernetes "1.35" or newer, or `attach: networks`.',
    source="Google Cloud: allocate network resources by using GKE managed DRANET",
)
def dranet_is_there(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        by_networks = isinstance(cell.fabric, RoceFabric) and cell.fabric.attach == "networks"
        if cell.cloud == "gcp" and not by_networks and minor(cell.cluster.kubernetes) < (1, 34):
            yield Problem(
                ("cells", name, "cluster", "kubernetes"),
                f"Kubernetes {cell.cluster.kubernetes} has no managed DRANET",
                'write "1.36", or leave it out',
            )


@rule(
    "IF-GCP-003",
    "something of somebody else's on Google Cloud",
    stage="reference",
    joins=("environment", "cloud"),
    why="stacks for existing networks and clusters are built for AWS only.",
    do="let us make network and cluster.",
    source="inferfab's stacks",
)
def google_is_made_whole(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        if cell.cloud != "gcp":
            continue
        if cell.network.kind == "existing":
            yield Problem(
                ("cells", name, "network"),
                f"cell `{name}` is in a network that is there already",
                "give it a network of its own, `{kind: new, cidr: …}`",
                of_key=True,
            )
        if cell.cluster.existing is not None:
            yield Problem(
                ("cells", name, "cluster", "existing"),
                f"cell `{name}` is in cluster `{cell.cluster.existing}`, which is there already",
                "remove `existing`",
                of_key=True,
            )


@rule(
    "IF-GCP-004",
    "names without a place for them",
    severity="info",
    stage="reference",
    joins=("environment", "cloud"),
    why="names in DNS are made in Route 53, which needs an AWS account; without one each cell answers under its own "
    "address only.",
    do="add `accounts.aws`, or enter the addresses into your own DNS.",
    source="inferfab's stacks",
)
def names_have_a_zone(facts: Facts) -> Iterator[Problem]:
    environment = facts.environment
    google = [name for name, cell in environment.cells.items() if cell.cloud == "gcp"]
    if environment.routing is not None and environment.accounts.aws is None and google:
        yield Problem(
            ("routing", "domain"),
            f"no AWS account, so no stack makes names under `{environment.routing.domain}`",
            "add `accounts.aws`, or leave `routing` out",
        )


@rule(
    "IF-GCP-005",
    "download tokens on Google Cloud",
    joins=("environment", "cloud", "cluster"),
    why="tokens come from AWS Secrets Manager by External Secrets, which is not installed in clusters on Google; the "
    "release that serves would not install.",
    do="name weights in a bucket of the project (`source: gs://…`), or a mirror that needs no token (`gated: false`).",
    source="inferfab's stacks",
)
def tokens_are_there(facts: Facts) -> Iterator[Problem]:
    said: set[str] = set()
    for cell in facts.fleet.cells:
        served = {model for pool in cell.pools for model in pool.models}
        for model in facts.fleet.models:
            if cell.cloud != "gcp" or model.name not in served or not model.token_secret or model.name in said:
                continue
            if "://" in model.source and not model.adapters:
                continue
            said.add(model.name)
            yield Problem(
                ("models", model.name, "token_secret"),
                f"`{model.name}` is downloaded with a token in `{cell.name}`",
                "remove `token_secret` and name `source: gs://…`",
                of_key=True,
            )
