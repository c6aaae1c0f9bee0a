"""One Google cell's networks, cluster and node pools: plannable before anything exists."""

from inferfab.aws.optional import optional
from inferfab.gcp.cluster import GkeCluster, GkeClusterSpec
from inferfab.gcp.cluster_key import ClusterKey, ClusterKeySpec
from inferfab.gcp.gpu_node_pool import GpuNodePool
from inferfab.gcp.model_reader import ModelReader, ModelReaderSpec
from inferfab.gcp.network import CellNetwork
from inferfab.gcp.node_account import NodeAccount, NodeAccountSpec
from inferfab.gcp.projection import by_networks, gpu_node_pool_spec, names_of, network_spec, rdma_network_spec
from inferfab.gcp.rdma_network import RdmaNetwork
from inferfab.gcp.system_node_pool import SystemNodePool, SystemNodePoolSpec
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.groups import SYSTEM_LABELS
from inferfab.plan.quotas import SYSTEM_GROWTH
from inferfab.plan.service_accounts import service_accounts
from inferfab.terraform import App, ITerraformDependable
from inferfab.terraform.google.compute import ComputeAddress

from .google_base import GoogleStack


class GoogleFoundationStack(GoogleStack):
    """What a cell stands on."""

    def __init__(self, app: App, fleet: FleetPlan, cell: CellPlan) -> None:
        super().__init__(app, f"{fleet.ownership.name}-{cell.name}-foundation", fleet, cell.region)
        self._fleet, self._cell, names = fleet, cell, names_of(cell)
        self._key = ClusterKey(
            self,
            "key",
            ClusterKeySpec(project=self.project, region=cell.region, key_ring=names.key_ring, key=names.cluster_key),
        )
        network = CellNetwork(self, "network", network_spec(cell, self.project))
        networks = list(network.gvnic_networks)
        ready: list[ITerraformDependable] = list(network.ready)
        if by_networks(cell):
            rdma = RdmaNetwork(self, "rdma", rdma_network_spec(cell, self.project))
            networks += [(rdma.name, subnet) for subnet in rdma.subnet_names]
            ready += rdma.ready
        ComputeAddress(
            self,
            "gateway",
            name=names.address,
            project=self.project,
            region=cell.region,
            address_type="EXTERNAL" if cell.gateway.public else "INTERNAL",
            subnetwork=optional(None if cell.gateway.public else network.system_subnet),
        )
        cluster = self._cluster(network)
        self._nodes(cluster, tuple(networks), (*ready, *self._key.ready))
        self._models(cluster)

    def _cluster(self, network: CellNetwork) -> GkeCluster:
        cell, own = self._cell, self._fleet.ownership
        public = own.access.kind == "public"
        ranges = own.access.allowed_cidrs if own.access.kind == "public" else own.access.runner_cidrs
        return GkeCluster(
            self,
            "cluster",
            GkeClusterSpec(
                name=names_of(cell).cluster,
                project=self.project,
                zone=cell.zone,
                kubernetes_version=cell.kubernetes,
                network=network.id,
                subnet=network.system_subnet,
                kms_key=self._key.id,
                authorized_cidrs=(*ranges, cell.network.cidr),
                public_endpoint=public,
                labels=self.labels,
                protected=own.protected,
            ),
            after=(*network.ready, *self._key.ready),
        )

    def _nodes(
        self, cluster: GkeCluster, networks: tuple[tuple[str, str], ...], after: tuple[ITerraformDependable, ...]
    ) -> None:
        cell = self._cell
        account = NodeAccount(
            self, "node", NodeAccountSpec(account_id=names_of(cell).node_account, project=self.project)
        )
        after = (*after, *account.ready)
        SystemNodePool(
            self,
            "system",
            SystemNodePoolSpec(
                project=self.project,
                zone=cell.zone,
                cluster=cluster.id,
                machine_type=cell.system_instance,
                nodes=cell.system_nodes,
                max_nodes=cell.system_nodes * SYSTEM_GROWTH,
                service_account=account.email,
                kms_key=self._key.id,
                labels=SYSTEM_LABELS,
            ),
            after=after,
        )
        for group in cell.node_groups:
            spec = gpu_node_pool_spec(
                cell,
                group,
                project=self.project,
                cluster=cluster.id,
                service_account=account.email,
                kms_key=self._key.id,
                networks=networks,
            )
            GpuNodePool(self, group.name, spec, after=after)

    def _models(self, cluster: GkeCluster) -> None:
        """Who fetches models to the nodes."""
        names, account = names_of(self._cell), service_accounts().model_cache
        stores = {s.store_uri for h in self._cell.serving.cache.holders for s in h.sources if s.store_uri}
        buckets = sorted({uri.removeprefix("gs://").partition("/")[0] for uri in stores if uri.startswith("gs://")})
        ModelReader(
            self,
            "model-reader",
            ModelReaderSpec(
                account_id=names.model_reader_account,
                project=self.project,
                buckets=tuple(buckets),
                namespace=account.namespace,
                service_account=account.name,
            ),
            after=cluster.ready,
        )
