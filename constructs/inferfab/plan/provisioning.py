"""How long a pool's workers take to come, as its plan has it."""

from inferfab.environment.autoscaling import Autoscaling
from inferfab.plan.autoscaling.provisioning import ProvisioningPlan, plan_provisioning
from inferfab.plan.fleet import CellPlan, FleetPlan


def provisioning(fleet: FleetPlan, cell: CellPlan, pool: str) -> ProvisioningPlan:
    """From the pool's autoscaling. Plans of earlier releases have none: then by the catalog."""
    for scaled in cell.autoscaling.pools if cell.autoscaling else ():
        if scaled.pool == pool and scaled.provisioning is not None:
            return scaled.provisioning
    models = next(p.models for p in cell.pools if p.name == pool)
    return plan_provisioning(
        Autoscaling(), [m for m in fleet.models if m.name in models], [g for g in cell.node_groups if g.pool == pool]
    )
