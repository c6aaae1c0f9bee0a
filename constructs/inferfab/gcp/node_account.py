"""Who nodes are: a service account that may write logs and metrics and pull images, and nothing else."""

from typing import Annotated

from pydantic import Field

from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.google import iam

_ROLES = ("container.defaultNodeServiceAccount", "artifactregistry.reader")


class NodeAccountSpec(Record):
    """What :class:`NodeAccount` needs."""

    account_id: Annotated[str, Field(pattern=r"^[a-z][-a-z0-9]{4,28}[a-z0-9]$")]
    project: str


class NodeAccount(Construct):
    """Not Compute Engine's default account, which may edit the whole project.

    Example::

        from inferfab.gcp.node_account import NodeAccount, NodeAccountSpec

        NodeAccount(stack, "node", NodeAccountSpec(account_id="prod-usc1-c-node", project="example-inference"))
    """

    def __init__(self, scope: Construct, construct_id: str, spec: NodeAccountSpec) -> None:
        super().__init__(scope, construct_id)
        account = iam.ServiceAccount(
            self, "account", account_id=spec.account_id, project=spec.project, display_name="Nodes of the cell"
        )
        self.ready = tuple(
            iam.ProjectIamMember(
                self,
                role.rpartition(".")[2].lower(),
                project=spec.project,
                role=f"roles/{role}",
                member=f"serviceAccount:{account.email}",
            )
            for role in _ROLES
        )
        self.email = account.email
