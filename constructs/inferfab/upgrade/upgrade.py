"""From two plans and their stacks to the steps between them."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from inferfab.catalog.charts import Chart, chart_problems, charts
from inferfab.catalog.engines import engine_pairs
from inferfab.catalog.kubernetes import kubernetes_versions, minor
from inferfab.plan.difference import difference
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.placement import NodeGroupPlan
from inferfab.synthesis import synthesize
from inferfab.upgrade.change import After, changed, has_generations
from inferfab.upgrade.commands import Resources, folder, is_fixed, minutes, traffic_away, traffic_back
from inferfab.upgrade.commands import target as target_word
from inferfab.upgrade.direction import backwards, repeated, there_already
from inferfab.upgrade.generations import generation_steps
from inferfab.upgrade.nodes import node_steps
from inferfab.upgrade.steps import Step, Upgrade
from inferfab.upgrade.target import Target

_PINNED = (
    "charts are pinned by inferfab's releases, not by the environment: what it writes into a chart was tested against "
    "that version; in a checkout of inferfab the pin is in catalog/data/charts.yaml, and its tests say what breaks"
)
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
        other = [cell for cell in fleet.cells if cell.kubernetes != target.version]
        if all(cell.cloud == "gcp" for cell in other):
            yield from (_channel_words(cell, target.version) for cell in other)
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


def _resources(fleet: FleetPlan) -> dict[str, Resources]:
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


def _steps(before: FleetPlan, after: FleetPlan, target: Target, stacks: dict[str, Resources]) -> Iterator[Step]:
    name = after.ownership.name
    if there_already(before, target):
        return
    if target.kind in ("kubernetes", "ami", "generation"):
        for cell in _by_traffic(after):
            if target.kind == "kubernetes" and cell.cloud == "gcp" and cell.kubernetes != target.version:
                yield _by_channel(after, cell, target)
                continue
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


def _of_cell(fleet: FleetPlan, was: CellPlan, cell: CellPlan, target: Target, resources: Resources) -> Iterator[Step]:
    if target.kind == "kubernetes":
        yield _control_plane(fleet, was, cell, target, resources)
        if cell.cloud == "aws":
            if not cell.cluster_exists:
                yield _addons(fleet, cell, resources)
            yield _platform(fleet, cell)
    if target.kind == "generation":
        yield from generation_steps(fleet, was, cell, target.name, resources)
    else:
        addons = target.kind == "kubernetes" and cell.cloud == "aws" and not cell.cluster_exists
        edit = f"cells.{cell.name}.cluster.ami_release: {target.version}" if target.kind == "ami" else ""
        groups = _least_important_first(fleet, cell)
        if target.kind == "ami":
            # Owned servers have a system of their own.
            groups = [group for group in groups if group.capacity.kind != "owned"]
        yield from node_steps(fleet, was, cell, groups, resources, edit)
        yield Step(
            where=cell.name,
            title="The rest of the stack: system nodes"
            + (", then the add-ons for DNS, disks and monitoring" if addons else ""),
            edit="" if groups else edit,
            commands=(
                *((f"inferfab synth {fleet.ownership.name}",) if edit and not groups else ()),
                f"terraform -chdir={folder(fleet, cell, 'foundation')} apply",
            ),
            notes=(
                f"read its plan: nothing is left in it but system nodes{', those add-ons' if addons else ''} and tags",
            ),
        )
    yield Step(
        where=cell.name,
        title="Look, before the next cell",
        commands=(f"inferfab verify {fleet.ownership.name} --cell {cell.name}",),
    )


def _channel_words(cell: CellPlan, version: str) -> str:
    """What to do instead, in one line."""
    assert cell.gcp is not None
    return (
        f"{cell.name} is in Google's channel, which raises control plane and nodes; to have {version} sooner: gcloud "
        f"container clusters upgrade {cell.gcp.cluster} --zone {cell.zone} --master --cluster-version {version}, "
        f'then write cells.{cell.name}.cluster.kubernetes: "{version}"'
    )


def _by_channel(fleet: FleetPlan, cell: CellPlan, target: Target) -> Step:
    return Step(
        where=cell.name,
        title=f"Nothing by Terraform: Google's channel takes it to {target.version}",
        notes=(
            _channel_words(cell, target.version),
            "its node pools follow by themselves, a node at a time, in the cluster's maintenance window "
            "(docs/upgrades.md, Google Cloud)",
        ),
    )


def _control_plane(fleet: FleetPlan, was: CellPlan, cell: CellPlan, target: Target, resources: Resources) -> Step:
    commands = [
        f"inferfab synth {fleet.ownership.name}",
        f"terraform -chdir={folder(fleet, cell, 'foundation')} apply"
        + "".join(target_word(kind, key) for kind in ("aws_eks_cluster",) for key in resources.get(kind, ())),
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
    if was.addon_versions:
        pinned = ", ".join(f"{name} {version}" for name, version in was.addon_versions.items())
        notes.append(f"take cluster.addons ({pinned}) out, or pin versions for {target.version}")
    if cell.cluster_exists:
        notes.append(f"the cluster {cell.cluster} is somebody else's: its owner upgrades it, this step is theirs")
    return Step(
        where=cell.name,
        title=f"Control plane to {target.version}",
        edit=f'cells.{cell.name}.cluster.kubernetes: "{target.version}"',
        commands=tuple(commands),
        minutes=minutes("control_plane"),
        notes=tuple(notes),
    )


_AFTER_NODES = ("coredns", "aws-ebs-csi-driver", "eks-node-monitoring-agent")
"""Add-ons that wait for system nodes in the stack: naming one would roll those first."""


def _addons(fleet: FleetPlan, cell: CellPlan, resources: Resources) -> Step:
    """Those that nodes need; the others come with the system nodes, at the end."""
    words = "".join(
        target_word("aws_eks_addon", key)
        for key, body in resources.get("aws_eks_addon", {}).items()
        if body["addon_name"] not in _AFTER_NODES
    )
    return Step(
        where=cell.name,
        title="Add-ons that nodes need: network, kube-proxy, Pod Identity",
        commands=(f"terraform -chdir={folder(fleet, cell, 'foundation')} apply{words}",),
        minutes=minutes("addons"),
        notes=(
            f"to EKS's defaults for {cell.kubernetes}, or what `cluster.addons` pins; the plan shows from what to what",
            "DNS, disks and node monitoring come with the system nodes below",
        ),
    )


def _platform(fleet: FleetPlan, cell: CellPlan) -> Step:
    return Step(
        where=cell.name,
        title="Platform: the cluster autoscaler's minor is the cluster's",
        commands=(f"terraform -chdir={folder(fleet, cell, 'platform')} apply",),
        minutes=minutes("charts"),
    )


def _least_important_first(fleet: FleetPlan, cell: CellPlan) -> list[NodeGroupPlan]:
    rank = {tier.name: tier.rank for tier in fleet.tiers}
    tier = {pool.name: pool.tier for pool in cell.pools}
    return sorted(cell.node_groups, key=lambda g: (-rank[tier[g.pool]], g.name))


def _chart_steps(fleet: FleetPlan, chart: Chart, target: Target) -> Iterator[Step]:
    name = fleet.ownership.name
    yield Step(
        where=name,
        title=f"Install a release of inferfab that pins {target.name} {target.version} (this one has {chart.version})",
        commands=(f"inferfab images {name} --format json --out images.json", f"inferfab synth {name}"),
        notes=(
            _PINNED,
            f"installed because: {chart.why}",
            *chart.traps,
        ),
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
            commands=(f"terraform -chdir={folder(fleet, cell, 'platform')} apply",),
            minutes=minutes("charts"),
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
            commands=(f"terraform -chdir={folder(after, cell, 'platform')} apply",),
            minutes=minutes("charts"),
            notes=("an operator serves graphs of the version before it",),
        )
        was = next(c for c in before.cells if c.name == cell.name)
        old = {g.name for g in was.serving.graphs}
        new = [g for g in cell.serving.graphs if g.name not in old]
        fixed = {g.name: g.nodes.desired for g in cell.node_groups if is_fixed(g)}
        moving = {part.node_group for g in new for part in g.components if part.node_group}
        lost = {group: nodes for group, nodes in fixed.items() if group in moving}
        if lost:
            yield traffic_away(after, cell, lost, "new graphs need the machines that the old ones hold")
        yield Step(
            where=cell.name,
            title=f"Graphs: {len(new)} new beside the old, {len(cell.serving.graphs) - len(new)} in place",
            commands=(f"terraform -chdir={folder(after, cell, 'serving')} apply",),
            minutes=minutes("cold_start", 1),
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
        if lost:
            yield from traffic_back(after, cell)
