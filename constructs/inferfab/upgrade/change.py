"""The environment as it will be."""

import copy
from typing import Any

import yaml

from inferfab.checks.check import check
from inferfab.environment.loading import load_text
from inferfab.plan.fleet import FleetPlan
from inferfab.upgrade.target import Target

Tree = dict[str, Any]


class After:
    """The plan after the change; None where the changed file has errors, which ``errors`` has."""

    def __init__(self, tree: Tree) -> None:
        checked = check(load_text(yaml.safe_dump(tree, sort_keys=False)))
        self.errors = [f"{f.rule} {f.dotted_path}: {f.what}" for f in checked.findings if f.severity == "error"]
        self.plan: FleetPlan | None = checked.plan if not self.errors else None


def changed(text: str, targets: tuple[Target, ...], fleet: FleetPlan) -> Tree:
    """A copy of the file's tree with what the targets ask for, in every cell."""
    tree: Tree = copy.deepcopy(yaml.safe_load(text))
    for target in targets:
        if target.kind == "dynamo":
            tree["engine"] = {**tree["engine"], "dynamo": target.version}
            tree["engine"].pop("vllm", None)
        for name, cell in tree["cells"].items():
            if target.kind in ("kubernetes", "ami") and fleet_cell(fleet, name).cloud == "aws":
                cluster = cell.setdefault("cluster", {})
                cluster["kubernetes" if target.kind == "kubernetes" else "ami_release"] = target.version
                # A release belongs to one version of Kubernetes.
                stale = target.kind == "kubernetes" and "ami_release" in cluster
                if stale and not any(t.kind == "ami" for t in targets):
                    del cluster["ami_release"]
            elif target.kind == "kubernetes":
                cell.setdefault("cluster", {})["kubernetes"] = target.version
            elif target.kind == "generation" and target.name in cell["pools"]:
                here = cell["pools"][target.name] or {}
                now = here.get("generation", 1)
                cell["pools"][target.name] = {**here, "generation": now + 1, "former_generation": now}
    return tree


def fleet_cell(fleet: FleetPlan, name: str) -> Any:
    return next(cell for cell in fleet.cells if cell.name == name)
