"""How long a lost node is missed."""

from pathlib import Path

from inferfab import check, load
from inferfab.environment.capacity import Owned
from inferfab.plan.provisioning import provisioning

ENVIRONMENTS = Path(__file__).resolve().parents[2] / "environments"


def test_measured_stages_and_the_models_own_weights() -> None:
    """kaito-project/kaito#2325: 284 + 126 + 101 + 74 + 195 = 780 s without weights and without its benchmark."""
    fleet = check(load(ENVIRONMENTS / "prod.yaml")).plan
    assert fleet is not None
    cell = fleet.cells[0]
    group = cell.node_groups[0]
    for model in fleet.models:
        found = provisioning(group, model)
        assert found.seconds == 780 + model.cold_load_seconds
    owned = group.model_copy(update={"capacity": Owned()})
    assert provisioning(owned, fleet.models[0]).seconds is None
