"""The Dynamo operator, with Grove."""

from typing import Literal

from inferfab.record import Record
from inferfab.render.values import Value, Values


class DynamoPlatformSpec(Record):
    """What the Dynamo platform gets."""

    prometheus_url: str
    """Prometheus that the planner reads; without it each planner looks at an address of its own."""
    grove: Literal["bundled", "external", "none"] = "bundled"
    """Default: the version that this chart was released with. ``external``: another release brings it, and has to move
    in lockstep. ``none``: no worker spans nodes.
    """

    def values(self) -> Values:
        no: Value = {"install": False}
        return {
            "global": {
                # Requests go over TCP and events over ZMQ, so neither is needed; said, so that a default cannot.
                "nats": no,
                "etcd": no,
                "kai-scheduler": {"install": False, "enabled": False},
                "grove": {"install": self.grove == "bundled", "enabled": self.grove != "none"},
            },
            "dynamo-operator": {
                "upgradeCRD": True,
                "dynamo": {
                    "metrics": {
                        "prometheusEndpoint": self.prometheus_url,
                        # Ours take their place (the observability release): both would count everything twice.
                        "podMonitors": {"enabled": False},
                    }
                },
                "webhook": {"failurePolicy": "Fail"},
            },
        }
