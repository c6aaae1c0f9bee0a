"""Scaling by metrics, for components that the Dynamo planner does not scale."""

from inferfab.record import Record
from inferfab.render.values import Value, Values


class ScalableKind(Record):
    """A kind of object, beside Deployments and StatefulSets, whose scale KEDA may set."""

    api_group: str
    kind: str


class KedaSpec(Record):
    """What KEDA gets."""

    scalable: tuple[ScalableKind, ...] = (
        ScalableKind(api_group="nvidia.com", kind="DynamoGraphDeploymentScalingAdapter"),
    )
    """Default: Dynamo's scaling adapters only; the chart's own default is every kind of every group."""

    def values(self) -> Values:
        kinds: list[Value] = [{"apiGroup": one.api_group, "kind": one.kind} for one in self.scalable]
        monitored: Value = {"enabled": True, "serviceMonitor": {"enabled": True}}
        return {
            "crds": {"install": True},
            "image": {"pullPolicy": "IfNotPresent"},
            # An empty list would mean everything.
            "rbac": {"enabledCustomScaledRefKinds": bool(kinds), "scaledRefKinds": kinds},
            "prometheus": {"operator": monitored, "metricServer": monitored, "webhooks": monitored},
        }
