"""How a load balancer finds out that a target takes requests."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfab.record import Record
from inferfab.terraform.aws.elbv2 import LbTargetGroupHealthCheck

Port = Annotated[int, Field(ge=1, le=65535)]


class HealthCheck(Record):
    """How the load balancer finds out that a gateway pod takes requests."""

    port: Port
    """Port that answers probes; often another than that of the traffic, where a plain probe would meet TLS."""
    protocol: Literal["HTTP", "HTTPS", "TCP"] = "HTTP"
    """Certificates are not verified. Default: HTTP."""
    path: str = "/ready"
    """Not used with TCP. Default: ``/ready``, as Envoy has it."""
    interval_seconds: Annotated[int, Field(ge=5, le=300)] = 10
    timeout_seconds: Annotated[int, Field(ge=2, le=120)] = 5
    healthy_after: Annotated[int, Field(ge=2, le=10)] = 2
    unhealthy_after: Annotated[int, Field(ge=2, le=10)] = 3

    @model_validator(mode="after")
    def _can_work(self) -> "HealthCheck":
        if self.protocol != "TCP" and not self.path.startswith("/"):
            raise ValueError(f'path: "{self.path}" must begin with /')
        if self.timeout_seconds >= self.interval_seconds:
            raise ValueError("timeout_seconds must be less than interval_seconds")
        return self

    def arguments(self) -> LbTargetGroupHealthCheck:
        """As Terraform writes it."""
        rendered: LbTargetGroupHealthCheck = {
            "enabled": True,
            "protocol": self.protocol,
            "port": str(self.port),
            "interval": self.interval_seconds,
            "timeout": self.timeout_seconds,
            "healthy_threshold": self.healthy_after,
            "unhealthy_threshold": self.unhealthy_after,
        }
        if self.protocol != "TCP":
            rendered["path"] = self.path
            rendered["matcher"] = "200"
        return rendered
