"""What joins the cluster to AWS: the gateway's pods to the target group, secrets to Secrets Manager."""

from typing import Annotated

from pydantic import Field

from inferfab.plan.names import SECRET_STORE
from inferfab.record import Record
from inferfab.render.templates import render

Port = Annotated[int, Field(ge=1, le=65535)]


class GatewayBinding(Record):
    """Puts the pods behind a Service into a target group that Terraform owns."""

    namespace: str
    service: str
    """The gateway's Service; of type ClusterIP, for nothing else may make a load balancer."""
    port: Port = 443
    """Port of the Service. Default: 443."""
    target_group_name: str

    def files(self) -> dict[str, str]:
        binding = render(
            "chart/target_group_binding.yaml.j2",
            name=self.service,
            namespace=self.namespace,
            target_group_name=self.target_group_name,
            service=self.service,
            port=self.port,
        )
        return {"target_group_binding.yaml": binding}


class SecretStore(Record):
    """The store that secrets are taken from by name."""

    name: str = SECRET_STORE
    region: str
    namespaces: Annotated[tuple[str, ...], Field(min_length=1)]
    """Where it may be used. Its role reads keys of all tenants and tokens of all models, so nowhere else."""

    def files(self) -> dict[str, str]:
        text = render("chart/secret_store.yaml.j2", name=self.name, region=self.region, namespaces=self.namespaces)
        return {"secret_store.yaml": text}
