"""What a cell's other constructs need of its cluster, whoever owns it."""

from typing import Annotated, Protocol

from pydantic import Field

ClusterName = Annotated[str, Field(pattern=r"^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$")]


class ClusterIds(Protocol):
    """Names and ids of a cluster, which may be references; ``EksCluster`` and ``ExistingCluster`` both have them."""

    @property
    def name(self) -> str: ...

    @property
    def arn(self) -> str: ...

    @property
    def endpoint(self) -> str: ...

    @property
    def certificate_authority(self) -> str:
        """Base64."""

    @property
    def security_group_id(self) -> str:
        """The group that EKS makes, through which control plane and nodes talk."""

    @property
    def version(self) -> str: ...
