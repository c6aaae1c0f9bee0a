"""From resource changes to GPU groups on both sides."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from inferfab.review.changes import ResourceChange
from inferfab.review.gpus import aws, google, karpenter
from inferfab.review.gpus.group import GpuGroup, Machines, gpu_group, unresolved_of
from inferfab.review.gpus.templates import TEMPLATES, Side, Templates
from inferfab.review.gpus.values import Values

_READERS: dict[str, tuple[aws.Read, tuple[str, ...]]] = {
    "aws_eks_node_group": (aws.node_group, aws.NODE_GROUP),
    "aws_autoscaling_group": (aws.autoscaling_group, aws.AUTOSCALING),
    "aws_instance": (aws.instance, aws.INSTANCE),
    "aws_spot_instance_request": (aws.instance, aws.INSTANCE),
    "aws_ec2_fleet": (aws.fleet, aws.FLEET),
    "google_container_node_pool": (google.node_pool, google.NODE_POOL),
    "google_compute_instance": (google.instance, google.INSTANCE),
    "google_compute_instance_from_template": (google.from_template, google.FROM_TEMPLATE),
    "google_compute_resize_request": (google.resize_request, google.RESIZE),
    "google_compute_region_resize_request": (google.resize_request, google.RESIZE),
    "google_tpu_node": (google.tpu, google.TPU),
    "google_tpu_v2_vm": (google.tpu, google.TPU),
    "google_tpu_v2_queued_resource": (google.tpu, google.TPU),
    "google_compute_instance_group_manager": (google.instance_group, google.INSTANCE_GROUP),
    "google_compute_region_instance_group_manager": (google.instance_group, google.INSTANCE_GROUP),
}
_CLUSTER = "google_container_cluster"
HOLDERS = frozenset({*_READERS, *karpenter.MANIFESTS, _CLUSTER})
"""Types whose resources may hold GPUs, as far as the review understands them."""
WANTED: Mapping[str, tuple[str, ...]] = {
    **{type_: wanted for type_, (_, wanted) in _READERS.items()},
    **karpenter.MANIFESTS,
    _CLUSTER: google.CLUSTER,
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
    if change.type in karpenter.MANIFESTS or change.type == _CLUSTER:
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
        unseen.update(dict.fromkeys(() if change.no_op else (*notes, *unresolved_of(read))))
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
    found: list[dict[str, Machines]] = []
    unseen: list[tuple[str, ...]] = []
    for values in (change.before, change.after):
        inside = google.cluster_pools if change.type == _CLUSTER else partial(karpenter.node_pools, change)
        found.append(dict(inside(values)) if values else {})
        manifest = values is not None and change.type in karpenter.MANIFESTS
        unseen.append(tuple(dict.fromkeys(karpenter.unreadable(change, values))) if manifest and values else ())
    for name in dict.fromkeys([*found[0], *found[1]]):
        read = [machines for side in found if (machines := side.get(name)) is not None]
        before, after = (gpu_group(side[name], region) if name in side else None for side in found)
        notes = dict.fromkeys(n for group in (before, after) if group for n in group.notes)
        # What could not be seen before either, and is the same, is nothing that changes.
        same = found[0].get(name) == found[1].get(name)
        notes.update(dict.fromkeys(() if same else (n for machines in read for n in unresolved_of(machines))))
        notes = {} if change.no_op else notes
        if before is not None or after is not None or notes:
            yield from _kept(Holder(change, name, before, after, tuple(notes)))
    if not change.no_op and (unseen[0] or unseen[1]):
        yield Holder(change, "", None, None, tuple(dict.fromkeys((*unseen[0], *unseen[1]))))
