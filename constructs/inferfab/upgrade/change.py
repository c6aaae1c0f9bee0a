"""The environment as it will be."""

import copy
from typing import Any

import yaml

from inferfab.checks.check import check
from inferfab.environment.loading import load_text
from inferfab.plan.fleet import CellPlan, FleetPlan
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
            planned = next(one for one in fleet.cells if one.name == name)
            # Google raises its clusters by their channel: the file follows.
            if target.kind == "kubernetes" and planned.kubernetes != target.version and planned.cloud != "gcp":
                cluster = cell["cluster"] = {**(cell.get("cluster") or {}), "kubernetes": target.version}
                # Pins belong to one version of Kubernetes.
                cluster.pop("addons", None)
                if not any(other.kind == "ami" for other in targets):
                    cluster.pop("ami_release", None)
            elif target.kind == "ami" and planned.cloud == "aws":
                cell["cluster"] = {**(cell.get("cluster") or {}), "ami_release": target.version}
            elif target.kind == "generation" and has_generations(planned, target.name):
                here = cell["pools"][target.name] or {}
                now = here.get("generation", 1)
                cell["pools"][target.name] = {**here, "generation": now + 1, "former": former_of(planned, target.name)}
    return tree


def former_of(cell: CellPlan, pool: str) -> Tree:
    """What `former` has to say of the pool's groups as they are planned now; all of a pool's are bought alike."""
    group = next(one for one in cell.node_groups if one.pool == pool)
    return {
        "generation": group.generation,
        "instance": group.instance,
        "capacity": group.capacity.model_dump(mode="json", exclude_unset=True) | {"kind": group.capacity.kind},
    }


def has_generations(cell: CellPlan, pool: str) -> bool:
    """Whether the pool's nodes there are those of an EKS node group."""
    return any(group.pool == pool and group.cloud == "aws" for group in cell.node_groups)
