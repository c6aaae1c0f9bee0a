"""`inferfab upgrade plan`: order, what each tier keeps, what is refused, and that nothing else changes."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from inferfab import check, load_text
from inferfab.catalog.charts import charts
from inferfab.plan.fleet import FleetPlan
from inferfab.synthesis import synthesize
from inferfab.upgrade.change import After, changed
from inferfab.upgrade.keeps import keeps
from inferfab.upgrade.steps import Upgrade
from inferfab.upgrade.target import BadTarget, target_of
from inferfab.upgrade.upgrade import upgrade

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[int, str, str]]
Resources = dict[str, dict[str, Any]]
AMI = "1.36.2-20261120"


@cache
def text_of(name: str, kubernetes: str = "") -> str:
    tree = yaml.safe_load((ROOT / "environments" / f"{name}.yaml").read_text(encoding="utf-8"))
    for cell in tree["cells"].values():
        if kubernetes:
            cell["cluster"] = {**cell.get("cluster", {}), "kubernetes": kubernetes}
            cell["cluster"].pop("ami_release", None)
    return yaml.safe_dump(tree, sort_keys=False)


@cache
def plan_of(text: str) -> FleetPlan:
    plan = check(load_text(text)).plan
    assert plan is not None
    return plan


@cache
def planned(name: str, target: str, kubernetes: str = "") -> Upgrade:
    text = text_of(name, kubernetes)
    return upgrade(text, plan_of(text), (target_of(target),))


def after_of(name: str, target: str, kubernetes: str = "") -> FleetPlan:
    text = text_of(name, kubernetes)
    after = After(changed(text, (target_of(target),), plan_of(text)))
    assert after.plan is not None, after.errors
    return after.plan


def resources_of(plan: FleetPlan) -> dict[str, Resources]:
    """Every resource of every stack by address."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        return {
            stack.name: {
                f"{kind}.{name}": body
                for kind, named in json.loads((out / stack.path).read_bytes()).get("resource", {}).items()
                for name, body in named.items()
            }
            for stack in synthesize(plan, out)
        }


def differing(before: FleetPlan, after: FleetPlan) -> dict[str, dict[str, Any]]:
    """By stack: addresses that differ, with the attributes that do; None for an address of one side alone."""
    old, new = resources_of(before), resources_of(after)
    assert set(old) == set(new)
    found: dict[str, dict[str, Any]] = {}
    for stack in old:
        for address in sorted({*old[stack], *new[stack]}):
            was, now = old[stack].get(address), new[stack].get(address)
            if was != now:
                keys = None if was is None or now is None else {
                    key for key in {*was, *now} if was.get(key) != now.get(key)
                }  # fmt: skip
                found.setdefault(stack, {})[address] = keys
    return found


@pytest.mark.parametrize(
    ("text", "kind", "name", "version"),
    [
        ("kubernetes=1.37", "kubernetes", "", "1.37"),
        (f"ami={AMI}", "ami", "", AMI),
        ("dynamo=1.7.0", "dynamo", "", "1.7.0"),
        ("chart:gpu-operator=v26.7.2", "chart", "gpu-operator", "v26.7.2"),
        ("generation:chat", "generation", "chat", ""),
    ],
)
def test_targets(text: str, kind: str, name: str, version: str) -> None:
    target = target_of(text)
    assert (target.kind, target.name, target.version) == (kind, name, version)
    assert str(target) == text


@pytest.mark.parametrize(
    "text", ["kubernetes", "kubernetes=latest", "ami=latest", "chart=1.0", "chart:x=", "generation:", "linux=7", ""]
)
def test_words_that_are_no_target(text: str) -> None:
    with pytest.raises(BadTarget, match=r"write one of kubernetes=1\.37"):
        target_of(text)


# What each tier keeps. prod: priority has chat-priority-decode on 6+2+… workers; worked out by hand below.


def test_what_a_tier_keeps_by_hand() -> None:
    """One node of eight GPUs with workers of TP 4 takes two of them; one of TP 2, four (prod.yaml)."""
    fleet = plan_of(text_of("prod"))
    cell = next(c for c in fleet.cells if c.name == "use1-b")
    for group_name, tier in (("chat-priority-decode", "priority"), ("chat-standard-decode", "standard")):
        group = cell.node_group(group_name)
        gpus = next(r for p in cell.pools for r in p.roles if r.node_group == group_name).parallelism.gpus
        taken = group.gpus_per_node // gpus
        same = [
            r.workers.desired for p in fleet.pools for r in p.roles
            if p.tier == tier and r.role == group.role
        ]  # fmt: skip
        (found,) = [k for k in keeps(fleet, cell, {group_name: 1}) if k.tier == tier]
        assert (found.workers, found.of) == (sum(same) - taken, sum(same))
        assert found.percent == pytest.approx(100 * (sum(same) - taken) / sum(same))
        assert found.cells_left == 2
    # priority has 12 decode workers in three cells and 2 a node: 10 of 12; the planned load takes 70 % of them or less.
    (priority,) = [k for k in keeps(fleet, cell, {"chat-priority-decode": 1}) if k.tier == "priority"]
    assert (priority.workers, priority.of, priority.left_in_cell) == (10, 12, 2)
    assert priority.kept == (priority.percent >= priority.needs_percent)
    # The one node of chat-standard-decode there is the cell's whole part of the tier.
    (standard,) = [k for k in keeps(fleet, cell, {"chat-standard-decode": 1}) if k.tier == "standard"]
    assert standard.left_in_cell == 0


def test_nothing_lost_is_nothing_said() -> None:
    fleet = plan_of(text_of("prod"))
    assert keeps(fleet, fleet.cells[0], {}) == ()


def test_all_nodes_at_once_leave_the_other_cells() -> None:
    """Never less than nothing."""
    fleet = plan_of(text_of("prod"))
    for cell in fleet.cells:
        for one in keeps(fleet, cell, {g.name: 10 * g.nodes.desired for g in cell.node_groups}):
            assert one.left_in_cell == 0
            assert 0 <= one.workers < one.of


# Order


def order(found: Upgrade, cell: str) -> list[str]:
    return [step.title for step in found.steps if step.where == cell]


def test_kubernetes_goes_control_plane_add_ons_nodes_cell_by_cell() -> None:
    """The cell with the least traffic first; within it the least important tier's nodes first; then a look."""
    found = planned("prod", "kubernetes=1.36", "1.35")
    assert not found.blocked
    fleet = plan_of(text_of("prod"))
    shares = {c.name: c.traffic_share for c in fleet.cells}
    cells = list(dict.fromkeys(step.where for step in found.steps))
    assert [shares[c] for c in cells] == sorted(shares.values())
    titles = order(found, cells[0])
    assert titles[0] == "Control plane to 1.36"
    assert titles[1].startswith("Add-ons") and titles[2].startswith("Platform")
    nodes = [t for t in titles if t.startswith("Nodes of")]
    assert titles[3 : 3 + len(nodes)] == nodes
    priorities = [i for i, t in enumerate(nodes) if "priority" in t]
    assert min(priorities) > max(i for i in range(len(nodes)) if i not in priorities)
    assert titles[-1] == "Look, before the next cell"


def test_fixed_capacity_has_no_surge() -> None:
    """A reservation loses a node at a time, and says so; on demand loses nothing."""
    found = planned("prod", f"ami={AMI}")
    for step in found.steps:
        if "chat-" in step.title:
            assert step.keeps and any("no surge" in note for note in step.notes)
        elif "documents" in step.title:
            assert not step.keeps and any("before the old one is drained" in note for note in step.notes)


def test_every_target_in_a_command_is_in_the_stack() -> None:
    """Addresses are those that `inferfab synth` writes."""
    for name, target, version in (("prod", f"ami={AMI}", ""), ("prod", "kubernetes=1.36", "1.35")):
        after = resources_of(after_of(name, target, version))
        targets = 0
        for step in planned(name, target, version).steps:
            for command in step.commands:
                if "-target=" in command:
                    stack = command.split("cdktf.out/stacks/")[1].split()[0]
                    for word in command.split():
                        if word.startswith("-target="):
                            targets += 1
                            assert word.removeprefix("-target=") in after[stack], command
        assert targets > 5


# What changes, and what does not


def test_an_image_changes_nodes_in_place_and_nothing_else() -> None:
    """Only the release of the node groups; no group is another group."""
    found = differing(plan_of(text_of("prod")), after_of("prod", f"ami={AMI}"))
    assert set(found) == {f"prod-{cell}-foundation" for cell in ("use1-a", "use1-b", "usw2-c")}
    for changes in found.values():
        assert all(address.startswith("aws_eks_node_group.") for address in changes)
        assert all(keys <= {"release_version", "lifecycle"} for keys in changes.values())


def test_a_version_of_kubernetes_recreates_no_node_group() -> None:
    """Cluster, node groups and autoscaler change by their version; each address stays."""
    found = differing(plan_of(text_of("prod", "1.35")), after_of("prod", "kubernetes=1.36", "1.35"))
    changed_kinds = {address.partition(".")[0]: keys for changes in found.values() for address, keys in changes.items()}
    assert changed_kinds["aws_eks_cluster"] == {"version"}
    assert changed_kinds["aws_eks_node_group"] == {"version"}
    assert changed_kinds["helm_release"] == {"values"}
    assert set(changed_kinds) == {"aws_eks_cluster", "aws_eks_node_group", "helm_release"}
    assert [a for changes in found.values() for a in changes if a.startswith("helm_release")] == [
        a for changes in found.values() for a in changes if "cluster-autoscaler" in a
    ]


def test_a_generation_stands_beside_the_old_group() -> None:
    """The old group keeps its address, is tainted and may become empty; nothing but the new one is made."""
    before, after = plan_of(text_of("dev")), after_of("dev", "generation:chat")
    found = differing(before, after)
    assert set(found) == {"dev-use1-a-foundation"}
    changes = found["dev-use1-a-foundation"]
    made = {address for address, keys in changes.items() if keys is None}
    # And the autoscaler learns of the old group's taint.
    assert [a for a in made if "chat-g2" not in a] == [a for a in made if "chat_autoscaler_taint-inferfab-former" in a]
    assert {a.partition(".")[0] for a in made} == {
        "aws_eks_node_group",
        "aws_launch_template",
        "aws_autoscaling_group_tag",
    }
    old = {a: k for a, k in changes.items() if k is not None}
    groups = {a: k for a, k in old.items() if a.startswith("aws_eks_node_group.")}
    # Its version, too, is let go: an upgrade of the cell is the new group's.
    assert list(groups.values()) == [{"taint", "scaling_config", "version"}]
    resources = resources_of(after)["dev-use1-a-foundation"]
    names = {b["node_group_name"] for a, b in resources.items() if a.startswith("aws_eks_node_group.chat")}
    assert names == {"chat", "chat-g2"}
    former = next(b for a, b in resources.items() if a.startswith("aws_eks_node_group.chat_"))
    assert {"key": "inferfab/former", "value": "true", "effect": "NO_SCHEDULE"} in former["taint"]
    assert former["scaling_config"]["min_size"] == 0
    new = next(b for a, b in resources.items() if a.startswith("aws_eks_node_group.chat-g2_"))
    assert new["labels"] == former["labels"]
    assert not any(t["key"] == "inferfab/former" for t in new["taint"])


def test_the_old_group_goes_alone_at_the_end() -> None:
    """Taking `former` away destroys that group and touches nothing else."""
    both = after_of("dev", "generation:chat")
    tree = yaml.safe_load(text_of("dev"))
    tree["cells"]["use1-a"]["pools"]["chat"] = {"generation": 2}
    found = differing(both, plan_of(yaml.safe_dump(tree)))["dev-use1-a-foundation"]
    assert all(keys is None and "chat-g2" not in address and "chat_" in address for address, keys in found.items())


# Graphs that stand beside each other


def test_a_new_graph_stands_beside_the_old_and_takes_its_place() -> None:
    """As another engine pair does behind a router over tiers; here another revision of a model.

    The operator first; on reserved machines the traffic goes before; the old graph is deleted last, after a look.
    """
    from inferfab.upgrade.upgrade import _engine_steps, _new_graphs

    before = plan_of(text_of("prod"))
    tree = yaml.safe_load(text_of("prod"))
    tree["models"]["llama-70b"]["revision"] = "f" * 40
    after = plan_of(yaml.safe_dump(tree))
    new = _new_graphs(before, after)
    assert new and all("chat" in name or "llama-70b" in name for name in new)
    steps = [s for s in _engine_steps(before, after, target_of("dynamo=1.6.1")) if s.where == "use1-b"]
    titles = [step.title for step in steps]
    assert titles[0].startswith("Operator of Dynamo")
    assert titles[1].startswith("Take the cell's traffic away")
    assert {k.tier for k in steps[1].keeps} == {"priority", "standard"} and not any(
        k.left_in_cell for k in steps[1].keeps
    )
    ours = [name for name in new if name.startswith("use1-b/")]
    assert titles[2].startswith(f"Graphs: {len(ours)} new beside the old")
    assert titles[3].startswith("Drain and delete")
    assert steps[3].commands[0] == "inferfab verify prod --cell use1-b"
    old = {g.name for c in before.cells if c.name == "use1-b" for g in c.serving.graphs}
    gone = {command.split()[-1] for command in steps[3].commands[1:]}
    assert gone <= old and len(gone) == len(ours)
    found = differing(before, after)
    # Serving alone changes in the cells; GPU nodes are not touched.
    assert not any(a.startswith("aws_eks_node_group") for changes in found.values() for a in changes)


# What is refused


@pytest.mark.parametrize(
    ("target", "kubernetes", "says"),
    [
        ("kubernetes=1.37", "", "does not know Kubernetes 1.37"),
        ("kubernetes=1.37", "", "gpu-operator v26.7.0 supports Kubernetes 1.33 to 1.36"),
        ("kubernetes=1.35", "", "never goes back"),
        ("kubernetes=1.36", "1.34", "so first to 1.35"),
        ("ami=1.35.1-20261101", "", "belongs to another"),
        ("dynamo=1.7.0", "", "no engine pair of Dynamo 1.7.0"),
        ("chart:nothing=1.0.0", "", "no chart nothing"),
        ("chart:dynamo-platform=1.7.0", "", "moves with the engine pair"),
        ("generation:nobody", "", "no pool nobody"),
        ("chart:gpu-operator=v1.0.0", "", "goes back from v26."),
        ("dynamo=1.0.0", "", "goes back from 1.6.1"),
        ("generation:chat", "gcp", "stands on no EKS node group"),
    ],
)
def test_what_must_not_be_begun(target: str, kubernetes: str, says: str) -> None:
    """Version skew, charts, facts that nobody has: each with its reason, and no step."""
    text = text_of("prod-gcp") if kubernetes == "gcp" else text_of("prod", kubernetes)
    found = upgrade(text, plan_of(text), (target_of(target),))
    assert not found.ok and not found.steps
    assert any(says in reason for reason in found.blocked), found.blocked


def test_an_older_image_is_not_gone_back_to() -> None:
    """By its number or by its day alone; the catalog's pin of prod-hybrid is 1.36.1 of 14 October 2026."""
    for target in ("ami=1.36.0-20250101", "ami=1.36.1-20261013"):
        found = planned("prod-hybrid", target)
        assert not found.steps and any("newer than" in reason for reason in found.blocked)
    assert planned("prod-hybrid", "ami=1.36.1-20261015").steps


@pytest.mark.parametrize("twice", [("generation:chat",) * 2, ("ami=1.36.2-20261120", "ami=1.36.3-20261201")])
def test_one_thing_is_named_once(twice: tuple[str, ...]) -> None:
    text = text_of("dev")
    found = upgrade(text, plan_of(text), tuple(target_of(one) for one in twice))
    assert not found.steps and any("named 2 times" in reason for reason in found.blocked)


def test_a_candidate_is_older_than_its_release() -> None:
    from inferfab.upgrade.direction import _older

    assert _older("v1.2.3-rc.1", "1.2.3") and not _older("1.2.3", "v1.2.3") and not _older("1.10.0", "1.9.0")


def test_what_is_there_already_is_nothing_to_do() -> None:
    """A cell at the version keeps the image that it has pinned; a cloud without EKS images has no step; nor has what
    is pinned already.
    """
    pinned = f"chart:gpu-operator={charts()['gpu-operator'].version}"
    for name, target in (
        ("prod-global", "kubernetes=1.36"), ("prod-gcp", f"ami={AMI}"), ("dev", "dynamo=1.6.1"), ("dev", pinned),
        ("prod-hybrid", "ami=1.36.1-20261014"),
    ):  # fmt: skip
        found = planned(name, target)
        assert found.ok and not found.steps and not found.changes


def test_only_eks_groups_get_a_generation() -> None:
    """In an environment of two clouds the other cells stay as they are."""
    found = planned("prod-global", "generation:chat")
    assert {step.where for step in found.steps} == {"use2-a"}
    assert all(change.startswith("use2-a/") for change in found.changes)


def test_owned_servers_have_no_image_of_eks() -> None:
    """They run another system; a version of Kubernetes is theirs all the same, by hand."""
    steps = planned("prod-hybrid", f"ami={AMI}").steps
    assert not any("Nodes of" in step.title for step in steps) and AMI in steps[0].edit
    by_hand = [s for s in planned("prod-hybrid", "kubernetes=1.36", "1.35").steps if "Nodes of" in s.title]
    assert by_hand and not any(step.commands for step in by_hand)


def test_crds_come_before_operators() -> None:
    """Where Helm leaves them alone they are a step of their own before the release, in each cell."""
    found = planned("prod", "chart:aws-load-balancer-controller=3.7.0")
    for cell in ("use1-a", "use1-b", "usw2-c"):
        titles = order(found, cell)
        assert titles[0].startswith("CRDs of elbv2.k8s.aws") and titles[1].startswith("Release")
    job = planned("prod", "chart:gpu-operator=v26.7.2")
    assert not any(step.title.startswith("CRDs of") for step in job.steps)


# The command


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from inferfab.cli.main import main

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(
            "sys.argv", ["inferfab", "upgrade", "plan", str(ROOT / "environments" / "dev.yaml"), *words]
        )
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, capsys.readouterr().out

    code, out = run("--to", "generation:chat")
    assert code == 0
    assert "kubectl drain" in out and "write  cells.use1-a.pools.chat" in out and "In all" in out
    code, out = run("--to", "kubernetes=1.37", "--format", "json")
    assert code == 1
    assert json.loads(out)["blocked"]
    assert run("--to", "windows=11")[0] == 2
