"""An EKS cluster that somebody else made."""

from inferfab.aws.cluster_ids import ClusterName
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.aws import eks


class ExistingClusterSpec(Record):
    """What :class:`ExistingCluster` needs."""

    name: ClusterName


class ExistingCluster(Construct):
    """A cluster that is already there, looked up by name.

    Example::

        cluster = ExistingCluster(stack, "cluster", ExistingClusterSpec(name="shared"))
    """

    def __init__(self, scope: Construct, construct_id: str, spec: ExistingClusterSpec) -> None:
        super().__init__(scope, construct_id)
        found = eks.DataEksCluster(self, "cluster", name=spec.name)
        self.name = spec.name
        self.arn = found.arn
        self.endpoint = found.endpoint
        self.certificate_authority = found.certificate_authority_data
        self.security_group_id = found.cluster_security_group_id
        self.version = found.version
