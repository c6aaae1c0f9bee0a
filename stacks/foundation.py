"""One cell's network, cluster, node groups and load balancer: plannable before anything exists."""

from inferfab.aws.access import AccessEntry, ClusterAccess, ClusterAccessSpec
from inferfab.aws.cluster import EksCluster, EksClusterSpec
from inferfab.aws.cluster_ids import ClusterIds
from inferfab.aws.cluster_key import ClusterKey, ClusterKeySpec
from inferfab.aws.controllers import CellControllers, CellControllersSpec, Controller
from inferfab.aws.core_addons import CoreAddons, CoreAddonsSpec
from inferfab.aws.existing_cluster import ExistingCluster, ExistingClusterSpec
from inferfab.aws.existing_network import ExistingNetwork
from inferfab.aws.gpu_node_group import GpuNodeGroup
from inferfab.aws.health_check import HealthCheck
from inferfab.aws.hybrid_nodes import (
    HybridNodes,
    HybridNodesSpec,
    RemoteAccess,
    RemoteAccessSpec,
    RemoteNetworks,
    RemoteRule,
)
from inferfab.aws.iam import ClusterRole, ClusterRoleSpec, NodeRole, NodeRoleSpec
from inferfab.aws.inference_security_group import InferenceSecurityGroup, InferenceSecurityGroupSpec
from inferfab.aws.load_balancer import CellLoadBalancer, CellLoadBalancerSpec
from inferfab.aws.load_balancer_security_group import LoadBalancerSecurityGroup, LoadBalancerSecurityGroupSpec
from inferfab.aws.model_reader import ModelReader, ModelReaderSpec
from inferfab.aws.model_reader import ServiceAccount as ModelAccount
from inferfab.aws.network import CellNetwork
from inferfab.aws.network_addons import NetworkAddons, NetworkAddonsSpec
from inferfab.aws.network_ids import NetworkIds
from inferfab.aws.projection import (
    addon_versions,
    existing_network_spec,
    gpu_node_group_spec,
    launchers,
    names_of,
    network_spec,
    node_version,
)
from inferfab.aws.system_node_group import SystemNodeGroup, SystemNodeGroupSpec
from inferfab.aws.values import Ports
from inferfab.plan.draining import deregistration_seconds
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.groups import SYSTEM_LABELS
from inferfab.plan.quotas import SYSTEM_GROWTH
from inferfab.plan.racks.racks import RacksPlan
from inferfab.plan.racks.traffic import rack_traffic
from inferfab.plan.service_accounts import ServiceAccount, service_accounts
from inferfab.terraform import App, ITerraformDependable
from inferfab.terraform.aws.cloudwatch import CloudwatchLogGroup

from .base import AwsStack


class FoundationStack(AwsStack):
    """What a cell stands on."""

    def __init__(self, app: App, fleet: FleetPlan, cell: CellPlan) -> None:
        super().__init__(app, f"{fleet.ownership.name}-{cell.name}-foundation", fleet, cell.region)
        self._fleet, self._cell, self._names = fleet, cell, names_of(cell)
        self._key = self._cluster_key()
        network = self._network()
        cluster, ready = self._cluster(network)
        balancer = self._load_balancer(network, cluster)
        nodes = NodeRole(
            self, "node-role", NodeRoleSpec(name=self._names.node_role, permissions_boundary_arn=self.boundary_arn)
        )
        if not cell.cluster_exists:
            addons = NetworkAddons(
                self,
                "network-addons",
                NetworkAddonsSpec(
                    account_id=self.account_id,
                    region=self.region,
                    cluster_name=cluster.name,
                    kubernetes_version=cell.kubernetes,
                    versions=addon_versions(cell),
                    cni_role_name=self._names.cni_role,
                    hybrid=cell.racks is not None,
                    permissions_boundary_arn=self.boundary_arn,
                ),
            )
            ready = (*ready, *addons.ready)
        # Servers in racks stand in no security group.
        fabric = self._inference_group(network, cluster) if cell.racks is None else None
        # On destroy nodes leave first: they drain while network and rules still stand.
        after = (*ready, *nodes.ready, *network.ready, *(fabric.ready if fabric else ()))
        self._system_nodes(network, cluster, nodes.arn, after)
        if fabric is not None:
            self._gpu_nodes(network, fabric, nodes.arn, after)
        if cell.racks is not None:
            HybridNodes(
                self,
                "hybrid-nodes",
                HybridNodesSpec(
                    account_id=self.account_id,
                    region=self.region,
                    name=self._names.hybrid_node_role,
                    cluster_name=cluster.name,
                    trust_anchor_arn=cell.racks.trust_anchor_arn,
                    permissions_boundary_arn=self.boundary_arn,
                ),
            )
            self._from_racks(cluster, cell.racks)
        self._controllers(cluster, balancer)
        self._models(cluster)

    def _from_racks(self, cluster: ClusterIds, racks: RacksPlan) -> None:
        rules = tuple(
            RemoteRule(name=t.name, ports=Ports(first=t.first, last=t.last, protocol=t.protocol), why=t.why)
            for t in rack_traffic(self._cell.serving, self._cell.gateway)
            # The cluster itself lets the ranges in to its endpoint.
            if t.name != "api"
        )
        spec = RemoteAccessSpec(
            security_group_id=cluster.security_group_id, sources=(racks.node_cidr, racks.pod_cidr), rules=rules
        )
        RemoteAccess(self, "from-racks", spec)

    def _cluster_key(self) -> ClusterKey:
        cell, names = self._cell, self._names
        logs = (f"/aws/eks/{cell.cluster}/cluster", names.flow_log_group, names.capacity_log_group)
        return ClusterKey(
            self,
            "key",
            ClusterKeySpec(
                account_id=self.account_id,
                region=self.region,
                alias=names.cluster_key,
                log_group_names=logs,
                launched_by=launchers(cell),
                protected=self._fleet.ownership.protected,
            ),
        )

    def _network(self) -> NetworkIds:
        if self._cell.network.existing is not None:
            return ExistingNetwork(self, "network", existing_network_spec(self._cell))
        return CellNetwork(self, "network", network_spec(self._cell, self.boundary_arn, self._key.arn))

    def _cluster(self, network: NetworkIds) -> tuple[ClusterIds, tuple[ITerraformDependable, ...]]:
        cell, own = self._cell, self._fleet.ownership
        if cell.cluster_exists:
            return ExistingCluster(self, "cluster", ExistingClusterSpec(name=cell.cluster)), ()
        role = ClusterRole(
            self,
            "cluster-role",
            ClusterRoleSpec(
                account_id=self.account_id,
                region=self.region,
                name=self._names.cluster_role,
                cluster_name=cell.cluster,
                permissions_boundary_arn=self.boundary_arn,
            ),
        )
        cluster = EksCluster(
            self,
            "cluster",
            EksClusterSpec(
                name=cell.cluster,
                kubernetes_version=cell.kubernetes,
                role_arn=role.arn,
                kms_key_arn=self._key.arn,
                subnet_ids=network.control_plane_subnet_ids,
                public_access_cidrs=own.access.allowed_cidrs if own.access.kind == "public" else (),
                private_access_cidrs=(
                    *(own.access.runner_cidrs if own.access.kind == "private" else ()),
                    *((cell.racks.node_cidr, cell.racks.pod_cidr) if cell.racks else ()),
                ),
                remote=RemoteNetworks(node_cidr=cell.racks.node_cidr, pod_cidr=cell.racks.pod_cidr)
                if cell.racks
                else None,
                protected=own.protected,
            ),
            after=tuple(role.ready),
        )
        account = own.accounts.aws
        assert account is not None
        admins = dict.fromkeys((account.deploy_role, *account.admin_roles))
        access = ClusterAccess(
            self,
            "access",
            ClusterAccessSpec(
                cluster_name=cluster.name,
                entries=tuple(
                    AccessEntry(
                        name="".join(c if c.isalnum() else "-" for c in name.lower()),
                        principal_arn=f"arn:aws:iam::{self.account_id}:role/{name}",
                        may="cluster-admin",
                    )
                    for name in admins
                ),
            ),
        )
        return cluster, tuple(access.ready)

    def _system_nodes(
        self, network: NetworkIds, cluster: ClusterIds, node_role_arn: str, after: tuple[ITerraformDependable, ...]
    ) -> None:
        cell = self._cell
        group = SystemNodeGroup(
            self,
            "system",
            SystemNodeGroupSpec(
                name=self._names.system_node_group,
                cluster_name=cluster.name,
                node_role_arn=node_role_arn,
                template_name=f"{self._names.prefix}-system",
                instance_type=cell.system_instance,
                subnet_ids=network.system_subnet_ids,
                min_nodes=cell.system_nodes,
                desired_nodes=cell.system_nodes,
                max_nodes=cell.system_nodes * SYSTEM_GROWTH,
                kms_key_arn=self._key.arn,
                kubernetes_version=node_version(cell),
                release_version=cell.ami_release,
                labels=SYSTEM_LABELS,
                scaled_by=self._names.autoscaler_tag or None,
                tags=self._node_tags(),
            ),
            after=after,
        )
        if not cell.cluster_exists:
            CoreAddons(
                self,
                "core-addons",
                CoreAddonsSpec(
                    account_id=self.account_id,
                    region=self.region,
                    cluster_name=cluster.name,
                    kubernetes_version=cell.kubernetes,
                    versions=addon_versions(cell),
                    ebs_csi_role_name=self._names.ebs_csi_role,
                    kms_key_arn=self._key.arn,
                    node_selector=SYSTEM_LABELS,
                    hybrid_dns=cell.racks is not None,
                    volume_tags=self._node_tags(),
                    permissions_boundary_arn=self.boundary_arn,
                ),
                after=group.ready,
            )

    def _inference_group(self, network: NetworkIds, cluster: ClusterIds) -> InferenceSecurityGroup:
        apart = self._fleet.ownership.kept_apart
        within = self._cell.network.egress == "none"
        return InferenceSecurityGroup(
            self,
            "inference",
            InferenceSecurityGroupSpec(
                name=self._names.prefix,
                vpc_id=network.vpc_id,
                cluster_security_group_id=cluster.security_group_id,
                cluster_shared=self._cell.cluster_exists,
                # Without a way out, registries and AWS answer through the endpoints only.
                **({"https_to": (self._cell.network.cidr,)} if within else {}),
                https_to_prefix_lists=(network.s3_prefix_list_id,) if within and network.s3_prefix_list_id else (),
                storage=apart.storage,
                storage_ports=tuple(Ports(first=port) for port in apart.storage_ports),
                training=apart.training,
            ),
        )

    def _gpu_nodes(
        self,
        network: NetworkIds,
        fabric: InferenceSecurityGroup,
        node_role_arn: str,
        after: tuple[ITerraformDependable, ...],
    ) -> None:
        tiers = {pool.name: pool.tier for pool in self._cell.pools}
        standing = [(group, False) for group in self._cell.node_groups]
        standing += [(group.former, True) for group in self._cell.node_groups if group.former is not None]
        for group, former in standing:
            GpuNodeGroup(
                self,
                group.cloud_name,
                gpu_node_group_spec(
                    self._cell,
                    group,
                    node_role_arn=node_role_arn,
                    kms_key_arn=self._key.arn,
                    subnet_id=network.inference_subnet_id,
                    security_group_ids=(fabric.security_group_id,),
                    tags={
                        **self._node_tags(),
                        "inferfab-pool": group.pool,
                        "inferfab-role": group.role,
                        "inferfab-tier": tiers[group.pool],
                    },
                    former=former,
                ),
                after=after,
            )

    def _load_balancer(self, network: NetworkIds, cluster: ClusterIds) -> CellLoadBalancer:
        cell, gateway = self._cell, self._cell.gateway
        public = gateway.public and bool(network.public_subnet_ids)
        # Gateways of a cell with racks stand there, all of them.
        outside = (cell.racks.pod_cidr,) if cell.racks else ()
        group = LoadBalancerSecurityGroup(
            self,
            "load-balancer-group",
            LoadBalancerSecurityGroupSpec(
                name=self._names.prefix,
                vpc_id=network.vpc_id,
                targets={} if outside else {"cluster": cluster.security_group_id},
                target_cidrs=outside,
                target_port=gateway.port,
                health_check_port=gateway.health_port,
                public=public,
                clients=() if public else (cell.network.cidr,),
            ),
        )
        subnets = network.public_subnet_ids if public else network.system_subnet_ids
        return CellLoadBalancer(
            self,
            "load-balancer",
            CellLoadBalancerSpec(
                name=self._names.load_balancer,
                target_group_name=self._names.target_group,
                vpc_id=network.vpc_id,
                subnet_ids=subnets,
                security_group_id=group.security_group_id,
                target_port=gateway.port,
                health_check=HealthCheck(port=gateway.health_port, path=gateway.health_path),
                targets_outside=bool(outside),
                internal=not public,
                deletion_protection=self._fleet.ownership.protected,
                deregistration_delay_seconds=deregistration_seconds(self._cell.drain_seconds),
            ),
            after=network.public_ready if public else (),
        )

    def _controllers(self, cluster: ClusterIds, balancer: CellLoadBalancer) -> None:
        names, accounts = self._names, service_accounts()
        CloudwatchLogGroup(
            self,
            "capacity-log",
            name=names.capacity_log_group,
            retention_in_days=365,
            kms_key_id=self._key.arn,
            tags={"Name": names.capacity_log_group},
        )
        CellControllers(
            self,
            "controllers",
            CellControllersSpec(
                account_id=self.account_id,
                region=self.region,
                cluster_name=cluster.name,
                autoscaler=_controller(names.autoscaler_role, accounts.autoscaler),
                autoscaler_tag=names.autoscaler_tag or None,
                load_balancer_controller=_controller(
                    names.load_balancer_controller_role, accounts.load_balancer_controller
                ),
                target_group_name=balancer.target_group_name,
                capacity_publisher=_controller(names.capacity_publisher_role, accounts.capacity_publisher),
                capacity_log_group=names.capacity_log_group,
                external_secrets=_controller(names.external_secrets_role, accounts.external_secrets),
                secret_arns=tuple(
                    f"arn:aws:secretsmanager:{self.region}:{self.account_id}:secret:{name}-??????"
                    for name in self._fleet.secrets
                ),
                cert_manager=_controller(names.cert_manager_role, accounts.cert_manager)
                if self._cell.gateway.tls.kind == "acme"
                else None,
                certificate_hostnames=self._cell.gateway.hostnames,
                certificate_role_arn=self._cell.gateway.tls.role,
                permissions_boundary_arn=self.boundary_arn,
            ),
        )

    def _models(self, cluster: ClusterIds) -> None:
        """Who fetches models to the nodes."""
        names, account = self._names, service_accounts().model_cache
        cache = self._cell.serving.cache
        ModelReader(
            self,
            "model-reader",
            ModelReaderSpec(
                account_id=self.account_id,
                region=self.region,
                name=names.model_reader_role,
                bucket=names.model_bucket,
                key_alias=names.models_key if names.model_bucket_made else None,
                key_arn=names.model_bucket_key_arn,
                prefixes=cache.store_prefixes(names.model_bucket),
                other_sources=cache.other_sources(names.model_bucket),
                cluster=cluster.name,
                service_accounts=(ModelAccount(namespace=account.namespace, name=account.name),),
                permissions_boundary_arn=self.boundary_arn,
            ),
        )

    def _node_tags(self) -> dict[str, str]:
        return {**self.environment_tags, "inferfab-cell": self._cell.name}


def _controller(role_name: str, account: ServiceAccount) -> Controller:
    return Controller(role_name=role_name, namespace=account.namespace, service_account=account.name)
