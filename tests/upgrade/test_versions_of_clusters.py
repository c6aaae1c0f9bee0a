"""A version of Kubernetes takes add-ons along, rolls nothing before its step, and is Google's own on Google Cloud."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from test_upgrade import AMI, Resources, after_of, plan_of, planned, resources_of, target_of, text_of

from inferfab.catalog.charts import charts
from inferfab.synthesis import synthesize
from inferfab.upgrade.upgrade import upgrade


def closure(resources: Resources, start: set[str]) -> set[str]:
    """Addresses that a `-target` takes along: what they name in `depends_on` and in values, and so on."""
    found, todo = set(start), list(start)
    while todo:
        text = json.dumps(resources[todo.pop()])
        for address in resources:
            if address not in found and (f"{address}." in text or f"{address}[" in text or f'"{address}"' in text):
                found.add(address)
                todo.append(address)
    return found


def targets(command: str) -> set[str]:
    return {word.removeprefix("-target=") for word in command.split() if word.startswith("-target=")}


def test_an_upgrade_of_kubernetes_takes_the_add_ons_along() -> None:
    """EKS's default of the version that is asked for, for each of the six."""
    before, after = plan_of(text_of("dev", "1.35")), after_of("dev", "kubernetes=1.36", "1.35")
    for plan, version in ((before, "1.35"), (after, "1.36")):
        with TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            (stack,) = [s for s in synthesize(plan, out) if s.name == "dev-use1-a-foundation"]
            document = json.loads((out / stack.path).read_bytes())
        asked = document["data"]["aws_eks_addon_version"]
        assert {one["kubernetes_version"] for one in asked.values()} == {version}
        addons = document["resource"]["aws_eks_addon"].values()
        assert {
            (one["addon_name"], f"${{data.aws_eks_addon_version.{key}.version}}") for key, one in asked.items()
        } == {(one["addon_name"], one["addon_version"]) for one in addons}
        assert len(addons) == 6


def test_add_ons_that_wait_for_system_nodes_come_with_them() -> None:
    """Named earlier they would roll system nodes in the second step, before the platform."""
    resources = resources_of(after_of("dev", "kubernetes=1.36", "1.35"))["dev-use1-a-foundation"]
    steps = planned("dev", "kubernetes=1.36", "1.35").steps
    (first,) = [s for s in steps if s.title.startswith("Add-ons")]
    named = targets(first.commands[0])
    nodes = {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"}
    assert {resources[address]["addon_name"] for address in named} == nodes
    assert not [a for a in closure(resources, named) if a.startswith("aws_eks_node_group.")]
    others = {a for a in resources if a.startswith("aws_eks_addon.") and a not in named}
    assert len(others) == 3
    assert all(any(a.startswith("aws_eks_node_group.system") for a in closure(resources, {one})) for one in others)
    (rest,) = [s for s in steps if s.title.startswith("The rest")]
    assert "add-ons for DNS, disks and monitoring" in rest.title and not targets(rest.commands[-1])
    assert steps.index(first) < steps.index(rest)


def test_no_node_rolls_before_its_step() -> None:
    """Whatever a `-target` takes along: a node group is rolled by a step that names it, or by the rest at the end."""
    for name, target, version in (("prod", "kubernetes=1.36", "1.35"), ("staging", f"ami={AMI}", "")):
        after = resources_of(after_of(name, target, version))
        for step in planned(name, target, version).steps:
            for command in (one for one in step.commands if targets(one)):
                stack = after[command.split("cdktf.out/stacks/")[1].split()[0]]
                taken = {a for a in closure(stack, targets(command)) if a.startswith("aws_eks_node_group.")}
                assert taken <= targets(command), command


def test_pinned_add_ons_stay() -> None:
    """A pin is what Terraform installs; an upgrade says which pins belong to the old version."""
    tree = yaml.safe_load(text_of("dev", "1.35"))
    pins = {"vpc-cni": "v1.22.4-eksbuild.1", "coredns": "v1.13.2-eksbuild.4"}
    tree["cells"]["use1-a"]["cluster"]["addons"] = pins
    text = yaml.safe_dump(tree)
    found = resources_of(plan_of(text))["dev-use1-a-foundation"]
    versions = {b["addon_name"]: b["addon_version"] for a, b in found.items() if a.startswith("aws_eks_addon.")}
    assert {name: version for name, version in versions.items() if not version.startswith("${data.")} == pins
    steps = upgrade(text, plan_of(text), (target_of("kubernetes=1.36"),)).steps
    assert any("vpc-cni v1.22.4-eksbuild.1" in note and "1.36" in note for note in steps[0].notes)


def test_google_upgrades_by_its_channel() -> None:
    """Terraform would change nothing there, so no step says that it does: what to run instead, and what to write."""
    text = text_of("prod-gcp", "1.35")
    found = upgrade(text, plan_of(text), (target_of("kubernetes=1.36"),))
    assert not found.ok and not found.steps
    for cell in plan_of(text).cells:
        (said,) = [reason for reason in found.blocked if reason.startswith(f"{cell.name} ")]
        assert "gcloud container clusters upgrade" in said and f"cells.{cell.name}.cluster.kubernetes" in said


def test_google_cells_of_a_fleet_of_two_clouds_are_left_to_google() -> None:
    """The steps for EKS are there; for Google's cells none that Terraform or a clock would count."""
    text = text_of("prod-global", "1.35")
    fleet = plan_of(text)
    found = upgrade(text, fleet, (target_of("kubernetes=1.36"),))
    assert found.ok
    clouds = {cell.name: cell.cloud for cell in fleet.cells}
    google = [step for step in found.steps if clouds.get(step.where) == "gcp"]
    assert {step.where for step in google} == {name for name, cloud in clouds.items() if cloud == "gcp"}
    for step in google:
        assert not step.commands and step.minutes is None and not step.edit
        assert any("gcloud container clusters upgrade" in note for note in step.notes)
        assert not any(change.startswith(f"{step.where} kubernetes") for change in found.changes)
    assert any(clouds.get(step.where) == "aws" and step.title == "Control plane to 1.36" for step in found.steps)


def test_charts_are_pinned_by_a_release_of_inferfab() -> None:
    """No field of the environment has them, and the first step says so; a pin that is there already needs none."""
    first = planned("dev", "chart:gpu-operator=v26.7.2").steps[0]
    assert first.title.startswith("Install a release of inferfab") and not first.edit
    assert any("pinned by inferfab's releases, not by the environment" in note for note in first.notes)
    assert not planned("dev", f"chart:gpu-operator={charts()['gpu-operator'].version}").steps
