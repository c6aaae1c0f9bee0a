"""The security group of a cell's GPU nodes: RDMA between them, their cluster, and little else."""

import itertools

from pydantic import model_validator

from inferfab.aws.rules import Peer, let_in, let_out, security_group
from inferfab.aws.values import (
    EVERYWHERE,
    Name,
    Ports,
    PrefixListId,
    Range,
    SecurityGroupId,
    VpcId,
    overlaps,
    range_id,
    without,
)
from inferfab.catalog.limits import limit
from inferfab.record import Record
from inferfab.terraform import Construct, ITerraformDependable, skip_check

HTTPS = Ports(first=443)
DNS = (Ports(first=53, protocol="udp"), Ports(first=53, protocol="tcp"))


class InferenceSecurityGroupSpec(Record):
    """What GPU nodes may talk to beside each other."""

    name: Name
    """The group is ``<name>-inference``."""
    vpc_id: VpcId
    cluster_security_group_id: SecurityGroupId
    """The group that EKS made for the control plane's interfaces and the system nodes."""
    cluster_shared: bool = False
    """Others have nodes in the cluster's group: GPU nodes reach it by TCP and for names, not by every protocol.
    Default: the cluster is the fleet's own.
    """
    https_to: tuple[Range, ...] = (EVERYWHERE,)
    """Ranges reached over HTTPS: registries, model hubs, AWS's APIs. Default: everywhere but the ranges kept apart.
    Without NAT, the VPC's range (its endpoints) is enough.
    """
    https_to_prefix_lists: tuple[PrefixListId, ...] = ()
    """AWS's own lists of ranges: S3's, where ``https_to`` does not cover it. Default: none."""
    dns_servers: tuple[Range, ...] = ()
    """Name servers of your own. Default: none; security groups do not filter Amazon's resolver, and cluster DNS is
    reached with the rest of the cluster.
    """
    storage: tuple[Range, ...] = ()
    """Ranges of storage, reached on ``storage_ports`` only; nothing comes in from them. Default: none."""
    storage_ports: tuple[Ports, ...] = ()
    """NFS: 2049. FSx for Lustre: 988 and 1018 to 1023. Default: none, so storage is out of reach."""
    training: tuple[Range, ...] = ()
    """Ranges of training, from which nothing comes in and to which nothing goes out. Default: none."""

    @property
    def https_ranges(self) -> tuple[str, ...]:
        """``https_to`` without the ranges kept apart: a security group cannot deny, so they are cut out."""
        return without(self.https_to, (*self.storage, *self.training))

    @property
    def egress_rules(self) -> int:
        """How many outbound rules this makes."""
        https = len(self.https_ranges) + len(self.https_to_prefix_lists)
        return 2 + https + len(DNS) * len(self.dns_servers) + len(self.storage) * len(self.storage_ports)

    @model_validator(mode="after")
    def _apart(self) -> "InferenceSecurityGroupSpec":
        for one, other in itertools.product(self.storage, self.training):
            if overlaps(one, other):
                raise ValueError(f"storage {one} and training {other} overlap: is it to be reached or not?")
        for server, training in itertools.product(self.dns_servers, self.training):
            if overlaps(server, training):
                raise ValueError(f"dns_servers: {server} is in the training range {training}")
        if self.https_to and not self.https_ranges:
            raise ValueError("https_to: nothing is left of it without the ranges of storage and training")
        if self.storage_ports and not self.storage:
            raise ValueError("storage_ports without storage: name the ranges that they are for")
        return self

    @model_validator(mode="after")
    def _fits(self) -> "InferenceSecurityGroupSpec":
        most = limit("aws_security_group_rules")
        if self.egress_rules > most:
            raise ValueError(
                f"{self.egress_rules} outbound rules; AWS takes {most} a group. Cutting storage ({len(self.storage)} "
                f"ranges) and training ({len(self.training)}) out of https_to leaves {len(self.https_ranges)} ranges: "
                f"name fewer, wider ranges, or a narrower https_to"
            )
        return self


class InferenceSecurityGroup(Construct):
    """The group for every network interface of the GPU nodes, and the rule that lets them reach their cluster.

    Use it alone. Beside it the cluster's own group, which lets everything out, would undo the separation from storage
    and training: rules of several groups add up. (EKS adds the cluster's group only to nodes whose launch template
    names none.)

    Example::

        from inferfab.aws.inference_security_group import InferenceSecurityGroup, InferenceSecurityGroupSpec
        from inferfab.aws.values import Ports

        InferenceSecurityGroup(
            stack,
            "inference-group",
            InferenceSecurityGroupSpec(
                name="prod-use1-a",
                vpc_id="vpc-0a1b2c3d4e5f60718",
                cluster_security_group_id="sg-0a1b2c3d4e5f60718",
                storage=("10.64.0.0/16",),
                storage_ports=(Ports(first=988), Ports(first=1018, last=1023)),
                training=("10.80.0.0/12",),
            ),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: InferenceSecurityGroupSpec) -> None:
        super().__init__(scope, id)
        group = security_group(self, f"{spec.name}-inference", spec.vpc_id, "GPU nodes of one cell")
        skip_check(group, "CKV2_AWS_5", "Attached to the network interfaces in the launch templates of GPU nodes")
        self._group_id = group.id
        self.security_group_id = group.id
        self.ready: tuple[ITerraformDependable, ...] = ()
        """Its rules: nodes depend on them, to join and, on destroy, to drain while the rules still stand."""
        self._fabric()
        self._cluster(spec.cluster_security_group_id, shared=spec.cluster_shared)
        self._https(spec)
        for server in spec.dns_servers:
            for ports in DNS:
                rule = f"dns-{range_id(server)}-{ports.protocol}"
                self._out(rule, group.id, ports, {"cidr_ipv4": server}, "Names from the network's own servers")
        for storage in spec.storage:
            for ports in spec.storage_ports:
                rule = f"storage-{range_id(storage)}-{ports}"
                self._out(rule, group.id, ports, {"cidr_ipv4": storage}, "Storage, on its own ports only")

    def _fabric(self) -> None:
        """EFA needs all traffic from and to the group itself; its peers have no address that a range would cover."""
        group = self._group_id
        why = "EFA and everything else between GPU nodes"
        self._in("fabric", group, None, {"referenced_security_group_id": group}, why)
        self._out("fabric", group, None, {"referenced_security_group_id": group}, why)

    def _cluster(self, cluster: str, *, shared: bool) -> None:
        """One cluster is one network: pods listen where they like, and network policies say who may call them."""
        group = self._group_id
        self._in(
            "cluster", group, None, {"referenced_security_group_id": cluster},
            "Control plane (kubelet, webhooks) and pods on system nodes",
        )  # fmt: skip
        self._out(
            "cluster", group, None, {"referenced_security_group_id": cluster},
            "Kubernetes API, cluster DNS and pods on system nodes",
        )  # fmt: skip
        why = "GPU nodes: Kubernetes API, cluster DNS and pods on system nodes"
        peer: Peer = {"referenced_security_group_id": group}
        if not shared:
            self._in("from-nodes", cluster, None, peer, why)
            return
        for ports in (Ports(first=1, last=65535), DNS[0]):
            self._in(f"from-nodes-{ports.protocol}", cluster, ports, peer, why)

    def _https(self, spec: InferenceSecurityGroupSpec) -> None:
        why = "HTTPS to registries, model hubs and AWS, past storage and training"
        for target in spec.https_ranges:
            self._out(f"https-{range_id(target)}", self._group_id, HTTPS, {"cidr_ipv4": target}, why)
        for position, prefix_list in enumerate(spec.https_to_prefix_lists):
            # Ids are references known only to Terraform, so their position has to name them.
            self._out(f"https-list-{position}", self._group_id, HTTPS, {"prefix_list_id": prefix_list}, why)

    def _in(self, rule: str, group: str, ports: Ports | None, peer: Peer, why: str) -> None:
        self.ready += (let_in(self, rule, group, ports, peer, why),)

    def _out(self, rule: str, group: str, ports: Ports | None, peer: Peer, why: str) -> None:
        self.ready += (let_out(self, rule, group, ports, peer, why),)
