"""Who plays in a rehearsal: processes from a cell's rendered files.

The files are read as text and nothing is taken from the plan that a file says, so a fault of rendering shows. What the
Dynamo operator adds on a cluster is added here: the Dynamo namespace, the frontend's port and prefix, where a worker
reads its locality.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import yaml

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import dynamo_namespace
from inferfab.record import Record
from inferfab.rehearse.mocker import mocker_arguments, pairs
from inferfab.rehearse.tiny_model import write_tiny_model
from inferfab.render.serving.files import serving_files

_WORKERS = ("prefill", "decode", "worker")
LOCALITIES = ("a", "b")
"""Made-up localities of a graph with a locality policy."""
Part = Literal["frontend", "router", "global-router", "prefill", "decode", "worker"]


class Actor(Record):
    """One process to start."""

    name: str
    graph: str
    route: str
    model: str
    pool: str | None
    part: Part
    locality: str | None
    argv: tuple[str, ...]
    """Without the python."""
    env: dict[str, str]
    folder: Path


class Policy(Record):
    """Locality policy of a graph, as rendered."""

    route: str
    enforcement: str


class Cast(Record):
    """Everything of a cell."""

    actors: tuple[Actor, ...]
    policies: tuple[Policy, ...]
    planners: int
    """Components left out: Dynamo's planner needs packages that no public registry has."""
    lanes: int
    """GPUs of models that take turns: vLLM's own server, which has no mock."""
    flags_obeyed: tuple[str, ...]
    flags_left_out: tuple[str, ...]
    replicas_rendered: int


def victim_pool(cell: CellPlan) -> str | None:
    """The pool whose processes are killed: the first that hands KV over, else the first with workers of its own."""
    split = next((p.name for p in cell.pools if p.topology == "disaggregated"), None)
    return split or next((p.name for p in cell.pools if p.roles), None)


class Unrehearsable(Exception):
    """A cell has nothing to rehearse; the message says why."""


def cast_of(fleet: FleetPlan, cell: CellPlan, work: Path) -> Cast:
    """Read the cell's rendered files, and write beside each process the files that it mounts.

    :raises Unrehearsable: if the cell has no graph.
    """
    texts = [text for path, text in serving_files(fleet, cell).items() if path.startswith("graphs/")]
    if not texts:
        raise Unrehearsable(f"cell {cell.name} serves only models that take turns on a GPU, which have no mock engine")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    graphs = [list(yaml.load_all(text, Loader=loader)) for text in texts]
    models = {m.name: m for m in fleet.models}
    for name in {objects[0]["metadata"]["labels"]["inferfab/model"] for objects in graphs}:
        write_tiny_model(work / "models" / models[name].folder, models[name].context_tokens)
    reader = _Reader(cell, work, {name: model.folder for name, model in models.items()})
    # Of what serves one pool there are two of each: one of them is to die.
    actors = [actor for objects in graphs for actor in reader.actors(objects)]
    return Cast(
        actors=tuple(actors),
        policies=tuple(reader.policies),
        planners=reader.planners,
        lanes=len(cell.serving.lanes),
        flags_obeyed=tuple(sorted(reader.taken)),
        flags_left_out=tuple(sorted(reader.left_out - reader.taken)),
        replicas_rendered=reader.replicas,
    )


class _Reader:
    """Collects what several graphs have in common."""

    def __init__(self, cell: CellPlan, work: Path, folders: dict[str, str]) -> None:
        self.cell, self.work, self.folders = cell, work, folders
        self.policies: list[Policy] = []
        self.planners = 0
        self.replicas = 0
        self.taken: set[str] = set()
        self.left_out: set[str] = set()
        self.victim_pool = victim_pool(cell)
        victim = next((p for p in cell.pools if p.name == self.victim_pool), None)
        over = {g.model for g in cell.serving.graphs if g.global_router is not None}
        self.victim_routes = {
            g.route
            for g in cell.serving.graphs
            if victim and (g.pool == victim.name or (g.model in over & set(victim.models) and g.pool is None))
        }
        """Graphs that a request for the victim's pool goes through."""

    def actors(self, objects: list[dict[str, Any]]) -> Iterator[Actor]:
        """Of one graph: its DynamoGraphDeployment, and its ConfigMap where it has one."""
        graph, settings = objects[0], objects[1] if len(objects) > 1 else None
        name, labels = graph["metadata"]["name"], graph["metadata"]["labels"]
        config = self.work / "config" / name
        config.mkdir(parents=True)
        for file, text in (settings or {"data": {}})["data"].items():
            (config / file).write_text(text, encoding="utf-8")
        policy = graph["spec"].get("experimental", {}).get("kvTransferPolicy")
        if policy:
            self.policies.append(Policy(route=labels["inferfab/route"], enforcement=policy["enforcement"]))
        common = {e["name"]: str(e["value"]) for e in graph["spec"].get("env", ())}
        # Made by the operator from graph and Kubernetes namespace.
        common["DYN_NAMESPACE"] = dynamo_namespace(name, graph["metadata"]["namespace"])
        for part in graph["spec"]["components"]:
            kind = part["name"]
            self.replicas += part["replicas"]
            if kind == "planner":
                self.planners += 1
                continue
            for number, locality in enumerate(self._places(kind, labels, policy, part["replicas"])):
                yield self._actor(part, labels, name, config, common, policy, number, locality)

    def _places(
        self, kind: str, labels: dict[str, str], policy: dict[str, Any] | None, replicas: int
    ) -> list[str | None]:
        """Localities of the processes of a component: one process, two where one shall die or a policy is held."""
        dies = labels["inferfab/route"] in self.victim_routes and (replicas > 1 or kind == "decode")
        if policy and kind in ("prefill", "decode"):
            # The one that dies leaves another in its locality, or a required policy has no way left.
            spare = dies and kind == "decode" and policy["enforcement"] == "required"
            return [*LOCALITIES, *(LOCALITIES[-1:] if spare else ())]
        return [None, None] if dies else [None]

    def _actor(
        self,
        part: dict[str, Any],
        labels: dict[str, str],
        graph: str,
        config: Path,
        common: dict[str, str],
        policy: dict[str, Any] | None,
        number: int,
        locality: str | None,
    ) -> Actor:
        kind: Part = part["name"]
        model = labels["inferfab/model"]
        container = part["podTemplate"]["spec"]["containers"][0]
        module, arguments = container["command"][-1], [str(one) for one in container.get("args", ())]
        arguments = [one.replace("/etc/inferfab/", f"{config}/") for one in arguments]
        env = common | {e["name"]: str(e.get("value", "")) for e in container.get("env", ())}
        name = f"{graph}-{kind}-{number}"
        folder = self.work / "run" / name
        folder.mkdir(parents=True)
        tiny = self.work / "models" / self.folders[model]
        if kind in _WORKERS:
            arguments = self._worker(arguments, str(tiny), labels.get("inferfab/pool"))
            module = "dynamo.mocker"
            if policy and locality:
                (folder / "topology").mkdir()
                (folder / "topology" / policy["domain"]).write_text(f"{locality}\n", encoding="utf-8")
                env |= _topology(policy, folder / "topology")
        elif kind == "global-router":
            # It finds the model's small files under the served name in its working directory.
            (folder / model).symlink_to(tiny, target_is_directory=True)
        elif not any(flag == "--namespace" for flag, _ in pairs(arguments)):
            env["DYN_NAMESPACE_PREFIX"] = common["DYN_NAMESPACE"]
        return Actor(
            name=name,
            graph=graph,
            route=labels["inferfab/route"],
            model=model,
            pool=labels.get("inferfab/pool"),
            part=kind,
            locality=locality,
            argv=("-m", module, *arguments),
            env=env,
            folder=folder,
        )

    def _worker(self, arguments: list[str], tiny: str, pool: str | None) -> list[str]:
        plan = next((p for p in self.cell.pools if p.name == pool), None)
        transfer = plan.kv_transfer if plan else None
        found = mocker_arguments(
            arguments,
            model_folder=tiny,
            kv_gigabytes_per_second=transfer.available_gbps / 8 if transfer else None,
            kv_bytes_per_token=round(transfer.bytes_per_request / transfer.prompt_tokens) if transfer else 0,
        )
        self.taken.update(found.taken)
        self.left_out.update(found.left_out)
        return list(found.argv)


def _topology(policy: dict[str, Any], mount: Path) -> dict[str, str]:
    """What the operator tells a worker of its graph's policy (dynamo/common/utils/topology.py)."""
    env = {
        "DYN_TOPOLOGY_ENABLED": "true",
        "DYN_TOPOLOGY_MOUNT_PATH": str(mount),
        "DYN_KV_TRANSFER_DOMAIN": str(policy["domain"]),
        "DYN_KV_TRANSFER_ENFORCEMENT": str(policy["enforcement"]),
    }
    if "preferredWeight" in policy:
        env["DYN_KV_TRANSFER_PREFERRED_WEIGHT"] = str(policy["preferredWeight"])
    return env
