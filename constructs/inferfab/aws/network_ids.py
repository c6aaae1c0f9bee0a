"""What a cell's other constructs need of its network, whoever owns it."""

from typing import Protocol

from inferfab.terraform import ITerraformDependable


class NetworkIds(Protocol):
    """The ids of a cell's network; ``CellNetwork`` and ``ExistingNetwork`` both have them."""

    @property
    def vpc_id(self) -> str: ...

    @property
    def cidr(self) -> str:
        """The network's range."""

    @property
    def public_subnet_ids(self) -> tuple[str, ...]:
        """Subnets of an internet-facing load balancer; empty where there is none."""

    @property
    def system_subnet_ids(self) -> tuple[str, ...]:
        """Subnets of the system nodes, and of an internal load balancer."""

    @property
    def control_plane_subnet_ids(self) -> tuple[str, ...]:
        """Subnets, in two zones, of the interfaces through which the EKS control plane reaches the nodes."""

    @property
    def inference_subnet_id(self) -> str:
        """The one subnet of the GPU nodes: EFA does not leave its zone."""

    @property
    def ready(self) -> tuple[ITerraformDependable, ...]:
        """What nodes depend on, so that they come after the ways out of their subnets and, on destroy, drain and leave
        before them: the last resource of each chain.
        """

    @property
    def public_ready(self) -> tuple[ITerraformDependable, ...]:
        """What an internet-facing load balancer depends on: AWS makes none without an internet gateway, and detaches
        no gateway while one has public addresses.
        """

    @property
    def s3_prefix_list_id(self) -> str | None:
        """The ranges of S3, for security group rules; None where the network has no S3 endpoint of ours."""
