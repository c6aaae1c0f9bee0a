"""EFA interfaces for pods: the device plugin, or dynamic resource allocation. Never both in a cluster."""

from inferfab.kubernetes.scheduling import GPU_NODES, Toleration
from inferfab.record import Record
from inferfab.render.values import Value, Values


class EfaSpec(Record):
    """What either of the two gets."""

    instance_types: tuple[str, ...] = ()
    """Instance types of the nodes that have EFA. Default: the chart's own list, which may lack the newest."""
    image_repository: str | None = None
    """Default: the chart's, which is in us-west-2; name your region's where nodes must not leave their region."""
    tolerations: tuple[Toleration, ...] = GPU_NODES

    def values(self) -> Values:
        tolerations: list[Value] = [one.values() for one in self.tolerations]
        values: Values = {"tolerations": tolerations}
        if self.instance_types:
            types: list[Value] = [*sorted(set(self.instance_types))]
            values["supportedInstanceLabels"] = {"values": types}
        if self.image_repository:
            values["image"] = {"repository": self.image_repository}
        return values
