"""Names in Google Cloud. Stacks meet each other through them, not through each other's state."""

from inferfab.catalog.regions import round_trips_ms
from inferfab.plan.aws_names import fit
from inferfab.record import Record

NAME_LENGTH = 63
"""Of Compute Engine resources (RFC 1035)."""
_CLUSTER_LENGTH = 40
"""Of clusters and node pools. Source: GKE API reference, Cluster.name and NodePool.name."""
_ACCOUNT_LENGTH = 30
"""Of service accounts' ids. Source: IAM API reference, CreateServiceAccountRequest.accountId."""


class GcpCellNames(Record):
    """Names of one cell's resources."""

    prefix: str
    cluster: str
    network: str
    rdma_network: str
    router: str
    address: str
    """Static address of the cell's gateway: stacks of names look it up."""
    key_ring: str
    cluster_key: str
    placement_prefix: str
    node_account: str
    """Service account of the nodes: the least that a node needs, and no models."""
    model_reader_account: str
    model_reader_email: str
    aws_region: str
    """The AWS region next to it: Route 53 measures latency to AWS's regions only."""
    model_bucket: str
    """One a region and environment; cells of a region share it."""


class GcpGlobalNames(Record):
    """Names of what an environment has once in Google Cloud."""

    project: str
    deploy_service_account: str
    state_bucket: str
    """Made beforehand (docs/fabrics.md): Google's stacks keep their state in Google's own storage."""


def gcp_cell_names(environment: str, cell: str, region: str, project: str) -> GcpCellNames:
    prefix = f"{environment}-{cell}"

    def name(purpose: str, most: int = NAME_LENGTH) -> str:
        return fit(f"{prefix}-{purpose}", most)

    return GcpCellNames(
        prefix=prefix,
        cluster=fit(prefix, _CLUSTER_LENGTH),
        network=fit(prefix, NAME_LENGTH),
        rdma_network=name("rdma"),
        router=name("router"),
        address=name("gateway"),
        key_ring=name("keys"),
        cluster_key=name("cluster"),
        placement_prefix=prefix,
        node_account=name("node", _ACCOUNT_LENGTH),
        model_reader_account=name("models", _ACCOUNT_LENGTH),
        model_reader_email=f"{name('models', _ACCOUNT_LENGTH)}@{project}.iam.gserviceaccount.com",
        aws_region=nearest_aws_region(region),
        model_bucket=model_bucket(environment, region, project),
    )


def nearest_aws_region(region: str) -> str:
    """By measured round trips; us-east-1 where the catalog has none."""
    here, found = f"gcp:{region}", {}
    for pair, rtt in round_trips_ms().items():
        other = next(iter(pair - {here}), "")
        if here in pair and other.startswith("aws:"):
            found[other.removeprefix("aws:")] = rtt
    return min(found, key=lambda name: (found[name], name), default="us-east-1")


def model_bucket(environment: str, region: str, project: str) -> str:
    return fit(f"{environment}-models-{project}-{region}", NAME_LENGTH)


def gcp_global_names(environment: str, project: str, deploy_service_account: str) -> GcpGlobalNames:
    return GcpGlobalNames(
        project=project,
        deploy_service_account=deploy_service_account,
        state_bucket=fit(f"inferfab-state-{project}-{environment}", NAME_LENGTH),
    )
