"""From resource changes to GPU groups on both sides."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from inferfab.review.changes import ResourceChange
from inferfab.review.gpus import aws, google, karpenter
from inferfab.review.gpus.group import GpuGroup, gpu_group
from inferfab.review.gpus.templates import TEMPLATES, Side, Templates
from inferfab.review.gpus.values import Values

_READERS: dict[str, tuple[aws.Read, tuple[str, ...]]] = {
    "aws_eks_node_group": (aws.node_group, aws.NODE_GROUP),
    "aws_autoscaling_group": (aws.autoscaling_group, aws.AUTOSCALING),
    "aws_instance": (aws.instance, aws.INSTANCE),
    "aws_spot_instance_request": (aws.instance, aws.INSTANCE),
    "aws_ec2_fleet": (aws.fleet, aws.FLEET),
    "google_container_node_pool": (google.node_pool, google.NODE_POOL),
    "google_container_cluster": (google.cluster, google.CLUSTER),
    "google_compute_instance": (google.instance, google.INSTANCE),
    "google_compute_instance_group_manager": (google.instance_group, google.INSTANCE_GROUP),
    "google_compute_region_instance_group_manager": (google.instance_group, google.INSTANCE_GROUP),
}
HOLDERS = frozenset({*_READERS, *karpenter.MANIFESTS})
"""Types whose resources may hold GPUs, as far as the review understands them."""
WANTED: Mapping[str, tuple[str, ...]] = {
    **{type_: wanted for type_, (_, wanted) in _READERS.items()},
    **karpenter.MANIFESTS,
    **{type_: google.TEMPLATE if type_.startswith("google") else aws.TEMPLATE for type_ in TEMPLATES},
}
"""Attributes to keep, by type."""


@dataclass(frozen=True)
class Holder:
    """One thing with GPUs on either side; a change of a Helm release may hold several."""

    change: ResourceChange
    name: str
    """Of the NodePool; empty where the resource is the group itself."""
    before: GpuGroup | None
    after: GpuGroup | None
    unseen: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        return f"{self.change.address} ({self.name})" if self.name else self.change.address


RegionOf = Callable[[ResourceChange], str]


def holders(change: ResourceChange, templates: Templates, region_of: RegionOf) -> Iterator[Holder]:
    """GPU groups of one change."""
    if change.mode != "managed" or change.deposed:
        return
    if change.type in karpenter.MANIFESTS:
        yield from _pools(change, region_of(change))
        return
    reader = _READERS.get(change.type)
    if reader is None:
        return
    sides: list[GpuGroup | None] = []
    unseen: dict[str, None] = {}
    both: tuple[tuple[Side, Values | None], ...] = (("before", change.before), ("after", change.after))
    for side, values in both:
        if values is None:
            sides.append(None)
            continue
        read = reader[0](change, side, values, templates)
        own = aws.region_of(values) if read.cloud == "aws" else ""
        group = gpu_group(read, own or region_of(change))
        sides.append(group)
        notes = group.notes if group else read.notes if not read.names else ()
        # A group that nothing happens to was seen when it was made.
        unseen.update(dict.fromkeys(() if change.no_op else notes))
    if sides[0] is not None or sides[1] is not None or unseen:
        yield from _kept(Holder(change, "", sides[0], sides[1], tuple(unseen)))


def _kept(holder: Holder) -> Iterator[Holder]:
    """What is only forgotten runs on and costs on, beside what takes its place."""
    if not holder.change.forgets:
        yield holder
        return
    yield replace(holder, after=holder.before)
    if holder.after is not None:
        yield replace(holder, before=None, unseen=())


def _pools(change: ResourceChange, region: str) -> Iterator[Holder]:
    found: list[dict[str, GpuGroup]] = []
    for values in (change.before, change.after):
        groups: dict[str, GpuGroup] = {}
        for name, machines in karpenter.node_pools(change, values) if values else ():
            group = gpu_group(machines, region)
            if group is not None:
                groups[name] = group
        found.append(groups)
    for name in dict.fromkeys([*found[0], *found[1]]):
        sides = (found[0].get(name), found[1].get(name))
        notes = dict.fromkeys(n for side in sides if side and not change.no_op for n in side.notes)
        yield from _kept(Holder(change, name, *sides, tuple(notes)))
