"""GPUs on Google Cloud: GKE node pools, instances, managed instance groups."""

from collections.abc import Iterator
from dataclasses import replace

from inferfab.catalog.accelerators import accelerators
from inferfab.catalog.regions import regions
from inferfab.plan.quantities import Range
from inferfab.review.changes import ResourceChange
from inferfab.review.gpus.group import Buys, Machines, Part
from inferfab.review.gpus.templates import Side, Templates
from inferfab.review.gpus.values import Values, block, blocks, count, hidden, place, text
from inferfab.review.span import Span, product

NODE_POOL = (
    "name",
    "node_config",
    "node_count",
    "initial_node_count",
    "autoscaling",
    "node_locations",
    "location",
    "version",
)
CLUSTER = (
    "node_pool", "node_config", "initial_node_count", "node_locations", "location", "remove_default_node_pool",
    "cluster_autoscaling",
)  # fmt: skip
INSTANCE = ("machine_type", "guest_accelerator", "scheduling", "reservation_affinity", "zone")
FROM_TEMPLATE = ("source_instance_template", *INSTANCE)
RESIZE = ("resize_by",)
TPU = ("accelerator_type",)
INSTANCE_GROUP = ("version", "target_size", "zone", "region")
_NO_TEMPLATE = "its instance template is not in the plan, so its machines cannot be seen"
TEMPLATE = ("id", "name", "self_link", "self_link_unique", *INSTANCE)


def node_pool(change: ResourceChange, side: Side, values: Values, templates: Templates) -> Machines:
    """Counts are a zone's; a regional pool has them in each of its ``node_locations``."""
    location = place(values.get("location"))
    zones = _zones(values.get("node_locations"), location)
    return _pool("GKE node pool", block(values.get("node_config")), values, zones, location)


def cluster_pools(values: Values) -> Iterator[tuple[str, Machines]]:
    """(name, machines) of each node pool that stands in the cluster itself; its default pool if none does."""
    location = place(values.get("location"))
    zones = _zones(values.get("node_locations"), location)
    inline = list(blocks(values.get("node_pool")))
    names = [text(pool.get("name")) for pool in inline]
    for number, pool in enumerate(inline):
        own = pool.get("node_locations")
        here = _zones(own, location) if own else zones
        name = names[number] if names[number] and names.count(names[number]) == 1 else f"node_pool[{number}]"
        yield name, _pool("GKE node pool in the cluster", block(pool.get("node_config")), pool, here, location)
    if not inline and values.get("remove_default_node_pool") is not True:
        yield "", _pool("GKE cluster", block(values.get("node_config")), values, zones, location)
    limits = [
        f"{text(one.get('resource_type'))} up to {_number(one.get('maximum'))}"
        for one in blocks(block(values.get("cluster_autoscaling")).get("resource_limits"))
        if text(one.get("resource_type")).lower() not in ("cpu", "memory", "")
    ]
    if limits:
        what = f"node auto-provisioning may add accelerators ({', '.join(limits)}): its nodes are in no plan"
        yield "auto-provisioning", Machines(kind="GKE cluster", cloud="gcp", names=(), parts=(), unresolved=(what,))


def _number(value: object) -> str:
    found = count(value)
    return f"{found.low:,.0f}" if found.known else "an unknown number"


def _zones(named: object, location: str) -> Range:
    if isinstance(named, list) and named and not hidden(named):
        return Range.exact(len(named))
    if location.count("-") == 2:
        return Range.exact(1)
    # Google picks three zones of a region by default, fewer where the machine is not sold in three.
    return Range(low=1, high=3) if location else Range(low=1, high=None)


def _pool(kind: str, config: Values, values: Values, zones: Range, location: str) -> Machines:
    desired = count(
        values.get("node_count") if values.get("node_count") is not None else values.get("initial_node_count")
    )
    if values.get("node_count") is None and values.get("initial_node_count") is None:
        desired = count(None)
    scaling = block(values.get("autoscaling"))
    if hidden(values.get("autoscaling")):
        nodes = Span(min=count(None), desired=product(desired, zones), max=count(None))
    elif scaling.get("total_max_node_count"):
        low, high = (count(scaling.get(f"total_{end}_node_count"), Range.exact(0)) for end in ("min", "max"))
        nodes = Span(min=low, desired=product(desired, zones), max=high)
    elif scaling:
        low, high = (product(count(scaling.get(f"{end}_node_count"), Range.exact(0)), zones) for end in ("min", "max"))
        nodes = Span(min=low, desired=product(desired, zones), max=high)
    else:
        each = product(desired, zones)
        nodes = Span(min=each, desired=each, max=each)
    regional = location.count("-") == 1 and zones != Range.exact(1)
    labels = config.get("labels")
    return _machines(
        kind,
        config,
        nodes,
        location,
        notes=("node counts hold for each zone of the region",) if regional and not zones.known else (),
        labels={k: v for k, v in labels.items() if isinstance(v, str)} if isinstance(labels, dict) else {},
    )


def _machines(
    kind: str,
    config: Values,
    nodes: Span,
    location: str,
    notes: tuple[str, ...] = (),
    labels: dict[str, str] | None = None,
) -> Machines:
    name = text(config.get("machine_type"))
    accelerator = block(config.get("guest_accelerator"))
    attached = None
    type_ = text(accelerator.get("type")).rsplit("/", 1)[-1]
    if type_ and accelerator.get("count") not in (0, "0"):
        attached = (accelerators().google.get(type_) or "", count(accelerator.get("count")))
    return Machines(
        kind=kind,
        cloud="gcp",
        names=(name,) if name else (),
        parts=(Part(_buys(config), nodes),),
        region=_region(location),
        attached=attached,
        labels=labels or {},
        certainly_gpus=hidden(config.get("guest_accelerator")) and not name,
        notes=notes,
    )


def _buys(config: Values) -> Buys:
    scheduling = block(config.get("scheduling"))
    spot = (config.get("spot"), config.get("preemptible"), scheduling.get("preemptible"))
    if True in spot or text(scheduling.get("provisioning_model")) == "SPOT":
        return "spot"
    affinity = block(config.get("reservation_affinity"))
    specific = text(affinity.get("consume_reservation_type")) or text(affinity.get("type"))
    return "reservation" if specific == "SPECIFIC_RESERVATION" else "on demand"


def _region(location: str) -> str:
    if f"gcp:{location}" in regions():
        return location
    return location.rsplit("-", 1)[0] if location.count("-") == 2 else location


def instance(change: ResourceChange, side: Side, values: Values, templates: Templates) -> Machines:
    return _machines("instance", values, Span.exact(1), place(values.get("zone")))


def from_template(change: ResourceChange, side: Side, values: Values, templates: Templates) -> Machines:
    """An instance whose own fields, where it has any, go before its template's."""
    template = templates.find(change, side, (values.get("source_instance_template"),)) or {}
    own = {name: value for name, value in values.items() if value not in (None, [], "")}
    found = _machines("instance", {**template, **own}, Span.exact(1), place(values.get("zone")))
    return found if found.names else replace(found, unresolved=(_NO_TEMPLATE,))


def resize_request(change: ResourceChange, side: Side, values: Values, templates: Templates) -> Machines:
    what = f"asks for {_number(values.get('resize_by'))} machines of its instance group: they are not counted"
    return Machines(kind="resize request", cloud="gcp", names=(), parts=(), unresolved=(what,))


def tpu(change: ResourceChange, side: Side, values: Values, templates: Templates) -> Machines:
    what = "TPUs: neither they nor their cost are counted"
    return Machines(kind="TPU", cloud="gcp", names=(), parts=(), unresolved=(what,))


def instance_group(change: ResourceChange, side: Side, values: Values, templates: Templates) -> Machines:
    """Several versions are a canary: any of their templates may hold the machines."""
    size = count(values.get("target_size"))
    nodes = Span(min=size, desired=size, max=size)
    location = place(values.get("zone")) or place(values.get("region"))
    names = [one.get("instance_template") for one in blocks(values.get("version"))]
    template = templates.find(change, side, names)
    if template is None:
        parts = (Part("on demand", nodes),)
        return Machines(kind="instance group", cloud="gcp", names=(), parts=parts, unresolved=(_NO_TEMPLATE,))
    return _machines("instance group", template, nodes, location)
