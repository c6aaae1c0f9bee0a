"""The files of a cell's racks."""

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.racks.racks import RACK_LABEL, RacksPlan, ServerPlan
from inferfab.render.racks.operator import operator_files
from inferfab.render.racks.qos import expectations_text, overlay_text, qos_overlay
from inferfab.render.serving.graph import taints
from inferfab.render.templates import render

_FILL_IN = "fill in: cells.{cell}.racks.roles_anywhere"
_SCRIPTS = ("apply", "verify", "rollback")


def rack_files(fleet: FleetPlan, cell: CellPlan) -> dict[str, str]:
    """Relative path to text; nothing for a cell without racks."""
    racks, marking = cell.racks, cell.fabric.marking
    if racks is None or marking is None or marking.switch is None:
        return {}
    files = {f"fabric/{path}": text for path, text in operator_files(cell.name, racks, marking, cell.images).items()}
    for leaf in racks.leaves:
        words = {
            "leaf": leaf.name,
            "checkpoint": f"before-inferfab-{fleet.ownership.name}",
            "priority": marking.switch.priority,
        }
        folder = f"leaves/{leaf.name}"
        files[f"{folder}/qos.json"] = overlay_text(qos_overlay(leaf, marking))
        files[f"{folder}/expected.json"] = expectations_text(leaf, marking)
        files[f"{folder}/qos_tool.py"] = render("switch/qos_tool.py.j2")
        files |= {f"{folder}/{name}.sh": render(f"switch/{name}.sh.j2", **words) for name in _SCRIPTS}
    files |= {f"nodes/{server.name}.yaml": _node(fleet, cell, racks, server) for server in racks.servers}
    return files


def rack_chart_files(cell: CellPlan) -> dict[str, str]:
    """What the cluster gets, for the chart of the cell's fabric."""
    racks, marking = cell.racks, cell.fabric.marking
    if racks is None or marking is None:
        return {}
    return operator_files(cell.name, racks, marking, cell.images)


def _node(fleet: FleetPlan, cell: CellPlan, racks: RacksPlan, server: ServerPlan) -> str:
    group = cell.node_group(server.node_group) if server.node_group else None
    labels = {"inferfab/cell": cell.name, **(group.labels if group else {}), RACK_LABEL: server.rack}
    # Services prefer the endpoints of the own zone: of a cell on racks, zones are its racks.
    labels["topology.kubernetes.io/zone"] = server.rack
    account, names = fleet.ownership.accounts.aws, cell.aws
    assert account is not None and names is not None
    fill_in = _FILL_IN.format(cell=cell.name)
    return render(
        "node/hybrid_node.yaml.j2",
        server=server,
        kubernetes=cell.kubernetes,
        cluster=cell.cluster,
        region=cell.region,
        trust_anchor_arn=racks.trust_anchor_arn or fill_in,
        profile_arn=racks.profile_arn or fill_in,
        role_arn=f"arn:aws:iam::{account.account_id}:role/{names.hybrid_node_role}",
        max_pods=group.max_pods if group and group.max_pods else 110,
        # One that no pool needs yet is nobody else's either: webhooks and volumes of the platform belong in AWS.
        taints=taints(group) or [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
        labels=",".join(f"{key}={value}" for key, value in labels.items()),
    )
