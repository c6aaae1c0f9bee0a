"""What changes between two fleets: GPUs, nodes, dollars, flags, promises."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

from inferfab.plan.cost import CostPlan
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.quantities import Bounds, Range
from inferfab.record import Record

Section = Literal[
    "environment", "models", "promises", "workload", "cells", "nodes", "serving", "fabric", "flags", "routing",
    "prices", "other",
]  # fmt: skip


class Amount(Record):
    """A number of GPUs or nodes before and after."""

    before: Bounds
    after: Bounds

    @property
    def changed(self) -> bool:
        return self.before != self.after


class Dollars(Record):
    """Dollars a month before and after, at one size."""

    before: Range
    after: Range


class Change(Record):
    """One decided value that differs. ``before`` is None for what is new, ``after`` for what is gone."""

    section: Section
    subject: str
    """What it belongs to: a pool's role, a tier, a cell."""
    what: str
    before: str | None
    after: str | None


class FleetDifference(Record):
    """From one plan to another."""

    before: str
    after: str
    gpus_by_type: dict[str, Amount]
    gpus_by_tier: dict[str, Amount]
    gpus_by_cell: dict[str, Amount]
    nodes: Amount
    usd_per_month_at_desired: Dollars
    usd_per_month_at_max: Dollars
    usd_per_month_by_tier: dict[str, Dollars]
    changes: tuple[Change, ...]
    """Section ``other`` holds what no section names, where nothing else differs: only equal plans have no change."""

    @property
    def titles(self) -> tuple[str, str]:
        """Names that tell both sides apart."""
        if self.before == self.after:
            return f"{self.before} (before)", f"{self.after} (after)"
        return self.before, self.after

    @property
    def empty(self) -> bool:
        amounts = [self.nodes, *self.gpus_by_type.values(), *self.gpus_by_tier.values(), *self.gpus_by_cell.values()]
        dollars = [self.usd_per_month_at_desired, self.usd_per_month_at_max]
        return not self.changes and not any(a.changed for a in amounts) and all(d.before == d.after for d in dollars)


_NONE = Bounds(min=0, desired=0, max=0)


def difference(before: FleetPlan, after: FleetPlan) -> FleetDifference:
    """Compare two plans. What was observed in an account is left out: it is not decided.

    So is which fields the file left open: a default that is written out plans the same fleet.
    """
    nothing = Range.exact(0.0)
    tiers = _union(before.cost.by_tier, after.cost.by_tier)
    return FleetDifference(
        before=before.ownership.name,
        after=after.ownership.name,
        gpus_by_type=_amounts(before, after, lambda f, g: g.gpu),
        gpus_by_tier=_amounts(before, after, _tier_of),
        gpus_by_cell=_amounts(before, after, lambda f, g: g.cell),
        nodes=Amount(
            before=Bounds.total(g.nodes for g in before.node_groups),
            after=Bounds.total(g.nodes for g in after.node_groups),
        ),
        usd_per_month_at_desired=Dollars(
            before=before.cost.total.desired.usd_per_month, after=after.cost.total.desired.usd_per_month
        ),
        usd_per_month_at_max=Dollars(
            before=before.cost.total.maximum.usd_per_month, after=after.cost.total.maximum.usd_per_month
        ),
        usd_per_month_by_tier={
            t: Dollars(
                before=_monthly(before.cost.by_tier.get(t)) or nothing,
                after=_monthly(after.cost.by_tier.get(t)) or nothing,
            )
            for t in tiers
        },
        changes=tuple(_changes(before, after)),
    )


def _monthly(cost: CostPlan | None) -> Range | None:
    return cost.desired.usd_per_month if cost else None


def _tier_of(fleet: FleetPlan, group: NodeGroupPlan) -> str:
    return next(p.tier for p in fleet.pools if (p.cell, p.name) == (group.cell, group.pool))


def _amounts(before: FleetPlan, after: FleetPlan, key: Callable[[FleetPlan, NodeGroupPlan], str]) -> dict[str, Amount]:
    sums: list[dict[str, Bounds]] = []
    for fleet in (before, after):
        found: dict[str, Bounds] = {}
        for group in fleet.node_groups:
            name = key(fleet, group)
            found[name] = found.get(name, _NONE).plus(group.gpus)
        sums.append(found)
    return {name: Amount(before=sums[0].get(name, _NONE), after=sums[1].get(name, _NONE)) for name in _union(*sums)}


def _union(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys([*a, *b]))


def _changes(before: FleetPlan, after: FleetPlan) -> Iterator[Change]:
    views: tuple[tuple[Section, Callable[[FleetPlan], dict[tuple[str, str], str]]], ...] = (
        ("environment", _environment),
        ("models", _models),
        ("promises", _promises),
        ("workload", _workload),
        ("cells", _cells),
        ("nodes", _nodes),
        ("serving", _serving),
        ("fabric", _fabric),
        ("flags", _flags),
        ("routing", _routing),
        ("routing", _gateways),
        ("prices", _prices),
    )
    differs = False
    for section, view in views:
        for change in _differing(section, view(before), view(after)):
            differs = True
            yield change
    if not differs:
        yield from _differing("other", _leaves(before), _leaves(after))


View = dict[tuple[str, str], str]


def _differing(section: Section, old: View, new: View) -> Iterator[Change]:
    for subject, what in dict.fromkeys([*old, *new]):
        was, is_ = old.get((subject, what)), new.get((subject, what))
        if was != is_:
            yield Change(section=section, subject=subject, what=what, before=was, after=is_)


def _leaves(fleet: FleetPlan) -> View:
    """Every value of the plan by its place."""

    def walk(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
        if items is None:
            yield path, str(value)
            return
        for key, item in items:
            yield from walk(item, (*path, str(key)))

    tree = fleet.model_dump(mode="json", exclude={"observed", "defaults"})
    return {(path[0], ".".join(path[1:])): value for path, value in walk(tree, ())}


def _environment(fleet: FleetPlan) -> View:
    own = fleet.ownership
    found = {
        ("environment", "owner"): own.owner,
        ("engine", "Dynamo"): fleet.engine.dynamo,
        ("engine", "vLLM"): fleet.engine.vllm,
    }
    found |= {("tags", key): value for key, value in own.tags.items()}
    found[("environment", "protected")] = str(own.protected)
    if own.state:
        found[("environment", "state")] = f"{own.state.bucket}/{own.state.key_prefix} in {own.state.region}"
    for name, part in (("access", own.access), ("accounts", own.accounts)):
        found |= {(name, path): value for path, value in _named(part.model_dump(mode="json"))}
    if fleet.cost.budget:
        found[("budget", "usd_per_month")] = f"{fleet.cost.budget.usd_per_month:,.0f}"
    return found


def _named(tree: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Fields by dotted path; a list is one value, and what is not set is none."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _named(value, f"{above}{name}.")
        elif value not in (None, []):
            yield f"{above}{name}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _models(fleet: FleetPlan) -> View:
    fields = ("source", "revision", "quantization", "kv_precision", "context_tokens", "prefix_caching", "speculative",
              "weights_bytes", "cpu_tier_bytes_per_gpu", "nvme_tier_bytes_per_gpu")  # fmt: skip
    return {
        (m.name, field): str(getattr(m, field))
        for m in fleet.models
        for field in fields
        if getattr(m, field) is not None
    }


def _promises(fleet: FleetPlan) -> View:
    found: View = {}
    for tier in fleet.tiers:
        for promise in tier.promises:
            upto = f" up to {promise.answers_up_to_tokens} tokens" if promise.answers_up_to_tokens else ""
            found[(tier.name, f"{promise.metric} p{promise.percentile:g}{upto}")] = f"{promise.at_most_ms:,.0f} ms"
        if tier.availability_target_percent is not None:
            found[(tier.name, "availability target")] = f"{tier.availability_target_percent:g} %"
        found[(tier.name, "spill")] = tier.spill
    for figure in fleet.availability:
        found[(figure.tier, f"availability of {figure.model}")] = f"{figure.percent:.4f} %"
    return found


def _workload(fleet: FleetPlan) -> View:
    """What pools are sized for and serve."""
    values: list[tuple[str, str, str, str]] = []
    for pool in fleet.pools:
        asked = pool.workload
        shown = {
            "prompt tokens": f"{asked.prompt_tokens:,}",
            "output tokens": f"{asked.output_tokens:,}",
            "planned busy": f"{asked.utilization:.4g}",
        }
        if pool.roles:
            shown["requests a second, busy"] = _range(pool.requests_per_second)
        values += [(pool.cell, pool.name, what, value) for what, value in shown.items()]
    return _once(values)


def _range(value: Range) -> str:
    low, high = f"{value.low:.4g}", "unknown" if value.high is None else f"{value.high:.4g}"
    return low if value.known else f"{low} to {high}"


def _once(values: Iterable[tuple[str, str, str, str]]) -> View:
    """(cell, subject, what, value): what is the same in every cell stands once, the rest by cell."""
    everywhere: dict[tuple[str, str], dict[str, str]] = {}
    for cell, subject, what, value in values:
        everywhere.setdefault((subject, what), {})[cell] = value
    found: View = {}
    for (subject, what), by_cell in everywhere.items():
        if len(set(by_cell.values())) == 1:
            found[(subject, what)] = next(iter(by_cell.values()))
        else:
            found |= {(f"{cell}/{subject}", what): value for cell, value in by_cell.items()}
    return found


def _cells(fleet: FleetPlan) -> View:
    fields = (
        "cloud",
        "region",
        "zone",
        "cluster",
        "kubernetes",
        "ami_release",
        "system_instance",
        "system_nodes",
    )
    found = {(c.name, field): str(getattr(c, field)) for c in fleet.cells for field in fields}
    for cell in fleet.cells:
        found[(cell.name, "network")] = cell.network.existing_id or cell.network.cidr
        found[(cell.name, "egress")] = cell.network.egress or "-"
        if cell.images.mirror:
            found[(cell.name, "images")] = cell.images.mirror
        second = [s.zone for s in cell.network.subnets if s.purpose == "control-plane" and s.zone != cell.zone]
        found[(cell.name, "second zone")] = ", ".join(second) or "-"
        found[(cell.name, "gateways")] = f"{cell.gateway.replicas}, {'public' if cell.gateway.public else 'internal'}"
    return found


def _gateways(fleet: FleetPlan) -> View:
    """Who comes in, how much of what, and how long."""
    found: View = {}
    for cell in fleet.cells:
        gateway, subject = cell.gateway, f"gateways of {cell.name}"
        if not gateway.groups:
            continue
        found[(subject, "certificates")] = gateway.tls.kind
        found[(subject, "authentication")] = gateway.authentication.kind
        found[(subject, "limits counted")] = gateway.limits.kind
        found[(subject, "largest request")] = f"{gateway.body_limit_bytes:,} bytes"
        found[(subject, "connections an instance")] = f"{gateway.connections_per_instance:,}"
        for tier in gateway.tiers:
            found[(subject, f"{tier.tier}: longest request")] = f"{tier.timeout_seconds} s"
            found[(subject, f"{tier.tier}: refused for")] = f"{tier.retry_after_seconds} s"
        for tenant in gateway.tenants:
            for part in tenant.tiers:
                limits = (part.tokens_per_minute, part.requests_per_minute)
                words = ("tokens", "requests")
                stated = [f"{n:,} {word} a minute" for n, word in zip(limits, words, strict=True) if n is not None]
                found[(subject, f"tenant {tenant.name} in {part.tier}")] = ", ".join(stated) or "not limited"
    return found


def _nodes(fleet: FleetPlan) -> View:
    found: View = {}
    for group in fleet.node_groups:
        subject = f"{group.cell}/{group.name}"
        found[(subject, "instance")] = group.instance
        if group.generation > 1:
            found[(subject, "generation")] = str(group.generation)
        if group.former:
            found[(subject, "generation beside it")] = (
                f"{group.former.generation}: {group.former.instance}, {_bought(group.former)}"
            )
        found[(subject, "nodes min/desired/max")] = f"{group.nodes.min}/{group.nodes.desired}/{group.nodes.max}"
        found[(subject, "capacity")] = _bought(group)
    for pool in fleet.pools:
        for role in pool.roles:
            subject = f"{pool.cell}/{pool.name}/{role.role}"
            found[(subject, "workers min/desired/max")] = (
                f"{role.workers.min}/{role.workers.desired}/{role.workers.max}"
            )
            found[(subject, "GPUs a worker")] = str(role.parallelism.gpus)
        if pool.shared:
            for model, count in pool.shared.packing.instances.items():
                found[(f"{pool.cell}/{pool.name}", f"instances of {model}")] = str(count)
    return found


def _bought(group: NodeGroupPlan) -> str:
    return group.capacity.kind + (f" {group.capacity.id}" if hasattr(group.capacity, "id") else "")


def _serving(fleet: FleetPlan) -> View:
    """Graphs: another name is a new graph beside the old one."""
    found: View = {}
    for cell in fleet.cells:
        for graph in cell.serving.graphs:
            subject = f"{cell.name}/{graph.route}"
            found[(subject, "graph")] = graph.name
            for part in graph.components:
                if part.node_group is None:
                    found[(subject, f"{part.name}s")] = str(part.replicas)
            if graph.kv_transfer_policy:
                found[(subject, "locality")] = graph.kv_transfer_policy.enforcement
            for target in graph.global_router.targets if graph.global_router else ():
                found[(subject, f"targets of {target.tier}")] = f"{target.ttft_ms:g} / {target.itl_ms:g} ms"
    return found | _once(_scaling(fleet))


def _scaling(fleet: FleetPlan) -> Iterator[tuple[str, str, str, str]]:
    """Who owns the workers, and by what they follow demand."""
    for cell in fleet.cells:
        for pool in cell.pools:
            advised = ", planner advises" if pool.scaling.advisory_planner else ""
            yield cell.name, pool.name, "workers belong to", pool.scaling.replicas_owner + advised
        for scaled in cell.autoscaling.pools if cell.autoscaling else ():
            settings = scaled.forecast
            if settings is None or scaled.mode == "fixed":
                continue
            yield (
                cell.name,
                scaled.pool,
                "forecast",
                f"p{100 * settings.quantile:g} over {settings.window_s / 3600:g} h, {settings.horizon_s / 60:g} min "
                f"ahead, else x {settings.headroom:g}",
            )
            room = "; ".join(f"{r.most} x {r.gpus} GPUs for {r.role}" for r in scaled.placeholders)
            yield cell.name, scaled.pool, "room kept at most", room or "-"
            yield cell.name, scaled.pool, "scale-in after", f"{scaled.scale_in_seconds / 60:g} min"


def _fabric(fleet: FleetPlan) -> View:
    found: View = {(c.name, "fabric"): c.fabric.kind for c in fleet.cells}
    for pool in fleet.pools:
        if pool.kv_transfer:
            subject = f"{pool.cell}/{pool.name}"
            found[(subject, "KV transfer available")] = f"{pool.kv_transfer.available_gbps:,.0f} Gbit/s"
            if pool.kv_transfer.needed_gbps is not None:
                found[(subject, "KV transfer needed")] = f"{pool.kv_transfer.needed_gbps:,.0f} Gbit/s"
    return found


def _flags(fleet: FleetPlan) -> View:
    """By pool and role; a value that is the same in every cell stands once."""
    values: list[tuple[str, str, str, str]] = []
    for pool in fleet.pools:
        for subject, engine in _engines(pool):
            shown = {a.flag: a.value if a.value is not None else "on" for a in engine.arguments}
            shown |= {f"env {e.name}": e.value if e.value is not None else f"field {e.field_ref}" for e in engine.env}
            shown["image"] = engine.image
            values += [(pool.cell, subject, what, value) for what, value in shown.items()]
    return _once(values)


def _engines(pool: PoolPlan) -> Iterator[tuple[str, Any]]:
    for role in pool.roles:
        yield f"{pool.name}/{role.role}", role.engine
    for instance in pool.shared.instances if pool.shared else ():
        yield f"{pool.name}/{instance.model}", instance.engine


def _routing(fleet: FleetPlan) -> View:
    found: View = {("routing", "policy"): fleet.routing.policy}
    for route in fleet.routing.routes:
        found[(route.tier, "hostname")] = route.hostname or "none"
        found |= {(route.tier, f"share of {r.cell}"): f"{r.share:.1%}" for r in route.cells}
    return found


def _prices(fleet: FleetPlan) -> View:
    found: View = {}
    for pool in fleet.pools:
        subject, price = f"{pool.cell}/{pool.name}", pool.price
        found[(subject, f"{price.instance} {price.kind}, USD an hour")] = _range(price.usd)
        if pool.token_cost:
            cost = pool.token_cost
            found[(subject, "USD per million output tokens")] = _range(cost.usd_per_million_output_tokens)
            found[(subject, "USD per million tokens, prompt and output")] = _range(cost.usd_per_million_total_tokens)
    return found
