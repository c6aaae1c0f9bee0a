"""From two plans and their stacks to the steps between them."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inferfab.catalog.charts import Chart, chart_problems, charts
from inferfab.catalog.engines import engine_pairs
from inferfab.catalog.kubernetes import kubernetes_versions, minor
from inferfab.catalog.upgrade_times import upgrade_times
from inferfab.plan.difference import difference
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.quantities import Range
from inferfab.synthesis import synthesize
from inferfab.upgrade.change import After, changed, has_generations
from inferfab.upgrade.direction import backwards, repeated, there_already
from inferfab.upgrade.keeps import keeps
from inferfab.upgrade.steps import Step, Upgrade
from inferfab.upgrade.target import Target

_OUT = "cdktf.out"
_UNPROVEN = (
    "no step was taken against a cloud here: orders are those of EKS's and the charts' own documents",
    "minutes are estimates but for the cold start, which was measured once",
)


def upgrade(text: str, fleet: FleetPlan, targets: tuple[Target, ...]) -> Upgrade:
    """
    :param text: the environment file.
    :raises inferfab.synthesis.SynthesisError: if the stacks cannot be built.
    """
    blocked = [reason for target in targets for reason in _blocked(fleet, target)]
    blocked += [*repeated(targets), *(reason for target in targets for reason in backwards(fleet, target))]
    after: FleetPlan | None = None
    if not blocked:
        result = After(changed(text, targets, fleet))
        blocked += result.errors
        after = result.plan
    if blocked or after is None:
        return Upgrade(
            environment=fleet.ownership.name, targets=tuple(map(str, targets)), blocked=tuple(blocked), changes=(),
            new_graphs=(), steps=(), unproven=_UNPROVEN,
        )  # fmt: skip
    stacks = _resources(after)
    steps = [step for target in targets for step in _steps(fleet, after, target, stacks)]
    new = _new_graphs(fleet, after)
    return Upgrade(
        environment=fleet.ownership.name,
        targets=tuple(map(str, targets)),
        blocked=(),
        changes=tuple(
            f"{change.subject} {change.what}: {change.before or '-'} → {change.after or '-'}"
            for change in difference(fleet, after).changes
        ),
        new_graphs=new,
        steps=tuple(steps),
        unproven=_UNPROVEN,
    )


def _blocked(fleet: FleetPlan, target: Target) -> Iterator[str]:
    """What forbids a target: version skew, charts that do not support it, facts that nobody has."""
    if target.kind == "kubernetes":
        for cell in fleet.cells:
            now, then = minor(cell.kubernetes), minor(target.version)
            if then < now:
                yield f"{cell.name} runs {cell.kubernetes}: a control plane never goes back (EKS: within 7 days only)"
            elif then[1] - now[1] > 1:
                yield (
                    f"{cell.name} runs {cell.kubernetes}: a control plane goes one minor version at a time, so first "
                    f"to {now[0]}.{now[1] + 1}"
                )
        if target.version not in kubernetes_versions():
            yield (
                f"the catalog does not know Kubernetes {target.version} (catalog/data/kubernetes.yaml): neither its "
                "end of support nor its cluster autoscaler"
            )
        installed = [name for name in charts() if name != "gateway-crds"]
        yield from (f"{one}: raise the chart first" for one in _unsupported(installed, target.version))
    elif target.kind == "ami":
        for cell in fleet.cells:
            if cell.cloud == "aws" and not target.version.startswith(f"{cell.kubernetes}."):
                yield f"{cell.name} runs Kubernetes {cell.kubernetes}: the release {target.version} belongs to another"
    elif target.kind == "dynamo" and target.version not in engine_pairs():
        yield (
            f"the catalog has no engine pair of Dynamo {target.version}, only {', '.join(engine_pairs())}: add its "
            "vLLM, its flag lists and its templates first (docs/serving.md, another engine pair)"
        )
    elif target.kind == "chart":
        if target.name not in charts():
            yield f"the catalog has no chart {target.name}, only {', '.join(charts())}"
        elif target.name == "dynamo-platform" and target.version != fleet.engine.dynamo:
            yield "dynamo-platform moves with the engine pair: operator and runtimes are released together, so dynamo=…"
    elif target.kind == "generation" and target.name not in {pool.name for pool in fleet.pools}:
        yield f"there is no pool {target.name}"
    elif target.kind == "generation" and not any(has_generations(cell, target.name) for cell in fleet.cells):
        yield f"{target.name} stands on no EKS node group, and only these have generations"


def _unsupported(names: list[str], version: str) -> list[str]:
    return [problem for name in names for problem in chart_problems([name], version)]


def _resources(fleet: FleetPlan) -> dict[str, dict[str, dict[str, Any]]]:
    """Resources of every stack by type and name."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        return {
            stack.name: json.loads((out / stack.path).read_bytes()).get("resource", {})
            for stack in synthesize(fleet, out)
        }


def _new_graphs(before: FleetPlan, after: FleetPlan) -> tuple[str, ...]:
    old = {(c.name, g.name) for c in before.cells for g in c.serving.graphs}
    return tuple(f"{c.name}/{g.name}" for c in after.cells for g in c.serving.graphs if (c.name, g.name) not in old)


def _by_traffic(fleet: FleetPlan) -> list[CellPlan]:
    """The cell with the least traffic first: what goes wrong there hurts least."""
    return sorted(fleet.cells, key=lambda cell: (cell.traffic_share, cell.name))


def _steps(
    before: FleetPlan, after: FleetPlan, target: Target, stacks: dict[str, dict[str, dict[str, Any]]]
) -> Iterator[Step]:
    name = after.ownership.name
    if there_already(before, target):
        return
    if target.kind in ("kubernetes", "ami", "generation"):
        for cell in _by_traffic(after):
            was = next(c for c in before.cells if c.name == cell.name)
            if target.kind == "kubernetes" and was.kubernetes == cell.kubernetes:
                continue
            if target.kind == "ami" and (was.ami_release == cell.ami_release or cell.cloud != "aws"):
                continue
            if target.kind == "generation" and not has_generations(cell, target.name):
                continue
            yield from _of_cell(after, was, cell, target, stacks[f"{name}-{cell.name}-foundation"])
    elif target.kind == "chart":
        yield from _chart_steps(after, charts()[target.name], target)
    else:
        yield from _engine_steps(before, after, target)


def _of_cell(
    fleet: FleetPlan, was: CellPlan, cell: CellPlan, target: Target, resources: dict[str, dict[str, Any]]
) -> Iterator[Step]:
    if target.kind == "kubernetes":
        yield _control_plane(fleet, was, cell, target, resources)
        if cell.cloud == "aws":
            yield _addons(fleet, cell, resources)
            yield _platform(fleet, cell)
    if target.kind == "generation":
        yield from _generation(fleet, cell, target, resources)
    else:
        edit = f"cells.{cell.name}.cluster.ami_release: {target.version}" if target.kind == "ami" else ""
        groups = _least_important_first(fleet, cell)
        if target.kind == "ami":
            # Owned servers have a system of their own.
            groups = [group for group in groups if group.capacity.kind != "owned"]
        for number, group in enumerate(groups):
            yield _nodes(fleet, cell, group, resources, edit if number == 0 else "")
        yield Step(
            where=cell.name,
            title="The rest of the stack: system nodes, and what nobody named",
            edit="" if groups else edit,
            commands=(
                *((f"inferfab synth {fleet.ownership.name}",) if edit and not groups else ()),
                f"terraform -chdir={_folder(fleet, cell, 'foundation')} apply",
            ),
            notes=("read its plan: nothing is left in it but system nodes and tags",),
        )
    yield Step(
        where=cell.name,
        title="Look, before the next cell",
        commands=(f"inferfab verify {fleet.ownership.name} --cell {cell.name}",),
    )


def _control_plane(
    fleet: FleetPlan, was: CellPlan, cell: CellPlan, target: Target, resources: dict[str, dict[str, Any]]
) -> Step:
    commands = [
        f"inferfab synth {fleet.ownership.name}",
        f"terraform -chdir={_folder(fleet, cell, 'foundation')} apply"
        + "".join(
            _target(kind, key)
            for kind in ("aws_eks_cluster", "google_container_cluster")
            for key in resources.get(kind, ())
        ),
    ]
    if cell.cloud == "aws":
        commands.insert(0, f"aws eks list-insights --cluster-name {cell.cluster} --region {cell.region}")
    notes = [
        "the API server answers throughout; nodes of up to three older minors keep working (Kubernetes version skew)"
    ]
    if was.ami_release and not cell.ami_release:
        notes.append(
            f"take ami_release ({was.ami_release}) out, or pin one of {target.version}: it belongs to a version"
        )
    if cell.cluster_exists:
        notes.append(f"the cluster {cell.cluster} is somebody else's: its owner upgrades it, this step is theirs")
    return Step(
        where=cell.name,
        title=f"Control plane to {target.version}",
        edit=f'cells.{cell.name}.cluster.kubernetes: "{target.version}"',
        commands=tuple(commands),
        minutes=_minutes("control_plane"),
        notes=tuple(notes),
    )


def _addons(fleet: FleetPlan, cell: CellPlan, resources: dict[str, dict[str, Any]]) -> Step:
    names = sorted(resources.get("aws_eks_addon", ()), key=lambda key: (not key.startswith("network"), key))
    words = "".join(_target("aws_eks_addon", key) for key in names)
    return Step(
        where=cell.name,
        title="Add-ons: network first, then DNS and disks",
        commands=(f"terraform -chdir={_folder(fleet, cell, 'foundation')} apply{words}",),
        minutes=_minutes("addons"),
    )


def _platform(fleet: FleetPlan, cell: CellPlan) -> Step:
    return Step(
        where=cell.name,
        title="Platform: the cluster autoscaler's minor is the cluster's",
        commands=(f"terraform -chdir={_folder(fleet, cell, 'platform')} apply",),
        minutes=_minutes("charts"),
    )


def _least_important_first(fleet: FleetPlan, cell: CellPlan) -> list[NodeGroupPlan]:
    rank = {tier.name: tier.rank for tier in fleet.tiers}
    tier = {pool.name: pool.tier for pool in cell.pools}
    return sorted(cell.node_groups, key=lambda g: (-rank[tier[g.pool]], g.name))


def _is_fixed(group: NodeGroupPlan) -> bool:
    return group.capacity.kind in ("reservation", "capacity_block", "owned")


def _nodes(
    fleet: FleetPlan, cell: CellPlan, group: NodeGroupPlan, resources: dict[str, dict[str, Any]], edit: str
) -> Step:
    """One node at a time: beside the old one where there is capacity, in its place where there is none."""
    fixed = _is_fixed(group)
    notes = []
    if group.capacity.kind == "owned":
        notes.append("owned servers: drain, reinstall and join one at a time; Terraform does not reach them")
    elif fixed:
        notes.append(
            f"{group.capacity.kind.replace('_', ' ')} with exactly its machines: no surge, so each node is drained "
            "before its successor starts; blue/green has no machine to stand on"
        )
    else:
        notes.append("the new node is there before the old one is drained; that needs quota and capacity for one more")
    if not group.nodes.desired:
        notes.append("no node at the desired size: only what the autoscaler started is replaced")
    words = "".join(
        _target("aws_eks_node_group", key)
        for key, body in resources.get("aws_eks_node_group", {}).items()
        if body.get("node_group_name") == group.cloud_name
    )
    # A worker over several nodes is gone with each of them in turn: it comes back once all are there.
    return Step(
        where=cell.name,
        title=f"Nodes of {group.cloud_name} ({group.nodes.desired}, one at a time)",
        edit=edit,
        commands=() if group.capacity.kind == "owned" else (
            *((f"inferfab synth {fleet.ownership.name}",) if edit else ()),
            f"terraform -chdir={_folder(fleet, cell, 'foundation')} apply{words}",
        ),
        keeps=keeps(fleet, cell, {group.name: 1}) if fixed and group.nodes.desired else (),
        minutes=_minutes("cold_start", max(1, group.nodes.desired)),
        notes=tuple(notes),
    )  # fmt: skip


def _generation(
    fleet: FleetPlan, cell: CellPlan, target: Target, resources: dict[str, dict[str, Any]]
) -> Iterator[Step]:
    """A new group beside the old one, then the old one's pods, then the old one."""
    groups = [g for g in cell.node_groups if g.pool == target.name]
    first = groups[0]
    folder = _folder(fleet, cell, "foundation")
    path = f"cells.{cell.name}.pools.{target.name}"
    fixed = [g for g in groups if _is_fixed(g)]
    if fixed:
        yield Step(
            where=cell.name,
            title=f"Take the traffic of {target.name} away: its capacity is exactly reserved",
            edit=f"routing: the weight of {cell.name} to 0 (or let the tier spill)",
            commands=tuple(
                f"aws eks update-nodegroup-config --cluster-name {cell.cluster} --region {cell.region} "
                f"--nodegroup-name {g.former_name} --scaling-config minSize=0,maxSize={g.nodes.max},desiredSize=0"
                for g in fixed
            ),
            keeps=keeps(fleet, cell, {g.name: g.nodes.desired for g in fixed}),
            notes=("blue/green is impossible: the machines of the old group are the new one's",),
        )
    words = "".join(
        _target("aws_eks_node_group", key)
        for key, body in resources.get("aws_eks_node_group", {}).items()
        if body.get("node_group_name") in {g.cloud_name for g in groups}
    )
    yield Step(
        where=cell.name,
        title=f"New group {', '.join(g.cloud_name for g in groups)} beside "
        f"{', '.join(str(g.former_name) for g in groups)}",
        edit=f"{path}: {{generation: {first.generation}, former_generation: {first.former_generation}}}",
        commands=(f"inferfab synth {fleet.ownership.name}", f"terraform -chdir={folder} apply{words}"),
        minutes=_minutes("cold_start", 1),
        notes=() if fixed else (
            f"{sum(g.nodes.desired for g in groups)} more nodes until the old ones are gone: quota, capacity and money",
        ),
    )  # fmt: skip
    yield Step(
        where=cell.name,
        title="Taint the old group, then move its pods, one node at a time",
        commands=(
            f"terraform -chdir={folder} apply",
            *(
                f"kubectl drain --ignore-daemonsets --delete-emptydir-data --timeout=45m "
                f"--selector eks.amazonaws.com/nodegroup={g.former_name}"
                for g in groups
            ),
        ),
        keeps=() if fixed else keeps(fleet, cell, {g.name: 1 for g in groups}),
        minutes=_minutes("cold_start", max(1, *(g.nodes.desired for g in groups))),
        notes=("budgets let one pod of a component go at a time; requests in flight end first",),
    )
    yield Step(
        where=cell.name,
        title="Take the old group away",
        edit=f"{path}: {{generation: {first.generation}}}",
        commands=(
            *(f"kubectl get nodes --selector eks.amazonaws.com/nodegroup={g.former_name}" for g in groups),
            f"inferfab synth {fleet.ownership.name}",
            f"terraform -chdir={folder} apply",
        ),
        notes=("a deleted node group is destroyed: the review of that change needs the label inferfab:allow-destroy",),
    )


def _chart_steps(fleet: FleetPlan, chart: Chart, target: Target) -> Iterator[Step]:
    name = fleet.ownership.name
    pin = f"catalog/data/charts.yaml: {target.name}.version: {target.version} (now {chart.version})"
    yield Step(
        where=name,
        title="Pin the version, read what it changes",
        edit=pin,
        commands=(f"inferfab images {name} --format json --out images.json", f"inferfab synth {name}"),
        notes=(f"installed because: {chart.why}", *chart.traps),
    )
    for cell in _by_traffic(fleet):
        if chart.crds and chart.crds.upgraded == "by hand":
            repository = chart.repository
            pull = (
                f"{repository}/{chart.chart}"
                if repository.startswith("oci://")
                else f"{chart.chart} --repo {repository}"
            )
            yield Step(
                where=cell.name,
                title=f"CRDs of {', '.join(chart.crds.groups)} before the operator: Helm never upgrades them",
                commands=(
                    f"helm show crds {pull} --version {target.version} | kubectl apply --server-side --force-conflicts "
                    "--filename -",
                ),
            )
        yield Step(
            where=cell.name,
            title=f"Release {chart.release}" + (f", whose CRDs come {chart.crds.upgraded}" if chart.crds else ""),
            commands=(f"terraform -chdir={_folder(fleet, cell, 'platform')} apply",),
            minutes=_minutes("charts"),
            notes=("GPU nodes are not recreated; their pods of this chart are replaced",),
        )
        yield Step(
            where=cell.name,
            title="Look, before the next cell",
            commands=(f"inferfab verify {name} --cell {cell.name}",),
        )


def _engine_steps(before: FleetPlan, after: FleetPlan, target: Target) -> Iterator[Step]:
    """CRDs and operator first, then each cell's graphs, new beside old where admission or hand-over asks for it."""
    name = after.ownership.name
    yield Step(
        where=name,
        title=f"The pair {after.engine.dynamo} / vLLM {after.engine.vllm}",
        edit=f'engine.dynamo: "{target.version}"',
        commands=(f"inferfab check {name} --against BEFORE.json", f"inferfab synth {name}"),
        notes=(f"`inferfab plan {name} --format json --out BEFORE.json` before the edit",),
    )
    for cell in _by_traffic(after):
        yield Step(
            where=cell.name,
            title="Operator of Dynamo, whose CRDs come with it",
            commands=(f"terraform -chdir={_folder(after, cell, 'platform')} apply",),
            minutes=_minutes("charts"),
            notes=("an operator serves graphs of the version before it",),
        )
        was = next(c for c in before.cells if c.name == cell.name)
        old = {g.name for g in was.serving.graphs}
        new = [g for g in cell.serving.graphs if g.name not in old]
        fixed = {g.name: g.nodes.desired for g in cell.node_groups if _is_fixed(g)}
        moving = {part.node_group for g in new for part in g.components if part.node_group}
        lost = {group: nodes for group, nodes in fixed.items() if group in moving}
        if lost:
            yield Step(
                where=cell.name,
                title="Take the cell's traffic away: new graphs need the machines that the old ones hold",
                edit=f"routing: the weight of {cell.name} to 0",
                commands=(f"terraform -chdir={_OUT}/stacks/{name}-global apply",),
                keeps=keeps(after, cell, lost),
            )
        yield Step(
            where=cell.name,
            title=f"Graphs: {len(new)} new beside the old, {len(cell.serving.graphs) - len(new)} in place",
            commands=(f"terraform -chdir={_folder(after, cell, 'serving')} apply",),
            minutes=_minutes("cold_start", 1),
            notes=("a new graph's frontends join the Service only when they can answer",),
        )
        gone = sorted(old - {g.name for g in cell.serving.graphs})
        if gone:
            yield Step(
                where=cell.name,
                title="Drain and delete the old graphs, when the new ones answer",
                commands=(
                    f"inferfab verify {name} --cell {cell.name}",
                    *(f"kubectl delete dynamographdeployment --namespace {SERVING_NAMESPACE} {one}" for one in gone),
                ),
            )


def _folder(fleet: FleetPlan, cell: CellPlan, part: str) -> str:
    return f"{_OUT}/stacks/{fleet.ownership.name}-{cell.name}-{part}"


def _target(kind: str, key: str) -> str:
    return f" -target={kind}.{key}"


def _minutes(row: str, times: int = 1) -> Range:
    found = upgrade_times()[row]
    return Range(low=found.low_minutes * times, high=found.high_minutes * times)
