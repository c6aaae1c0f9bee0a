"""How long a lost node is missed, and that everybody says the same."""

from inferfab.catalog.cold_start import cold_start
from inferfab.catalog.upgrade_times import upgrade_times
from inferfab.environment.autoscaling import Autoscaling
from inferfab.environment.capacity import Owned
from inferfab.plan.autoscaling.provisioning import plan_provisioning
from inferfab.plan.losses import losses
from inferfab.plan.provisioning import provisioning
from render.autoscaling.fleets import fleet


def test_the_run_adds_up() -> None:
    """kaito-project/kaito#2325: 284 + 126 + 101 + 74 + 195 + 62 + 92 = 934 s, and 966 s in all."""
    facts = cold_start()
    assert (facts.of_node, facts.of_engine) == (284 + 126, 74 + 195 + 32)
    assert facts.measured_seconds == 966
    assert round(966 / 60, 1) == upgrade_times()["cold_start"].low_minutes


def test_one_time_for_asking_and_for_losing() -> None:
    """Llama 70B in FP8, 72.65 GB at 54 GB in 62 s: 83 s; 410 + 402 s around them."""
    made = fleet("planner")
    found = provisioning(made, made.cells[0], "p")
    assert (found.total_seconds, found.replacement_seconds) == (895, 895)
    assert found.restart_seconds == 301 + 83
    assert found.replacement_how == "284 s machine + 126 s boot + 101 s image + 301 s engine start + 83 s weights"
    (node,) = [one for one in losses(made) if one.kind == "node"]
    assert node.back_seconds.low == 895


def test_what_was_measured_is_it_everywhere() -> None:
    made = fleet("planner")
    stated = plan_provisioning(Autoscaling(provisioning_seconds=300), made.models, made.cells[0].node_groups)
    assert (stated.total_seconds, stated.replacement_seconds, stated.restart_seconds) == (300, 300, 300)
    assert stated.replacement_how == "as stated"


def test_nodes_that_do_not_scale_are_replaced_too() -> None:
    """A worker asked for needs no node; a lost node is one that has to come."""
    made = fleet("fixed")
    found = provisioning(made, made.cells[0], "p")
    assert (found.node_seconds, found.total_seconds, found.replacement_seconds) == (0, 402 + 83, 895)


def test_owned_servers_are_repaired() -> None:
    made = fleet("planner")
    owned = [g.model_copy(update={"capacity": Owned()}) for g in made.cells[0].node_groups]
    found = plan_provisioning(Autoscaling(provisioning_seconds=300), made.models, owned)
    assert (found.replacement_seconds, found.replacement_how) == (None, "no other server takes its place")


def test_a_plan_of_an_earlier_release_has_the_catalogs() -> None:
    made = fleet("planner")
    old = made.cells[0].model_copy(update={"autoscaling": None})
    assert provisioning(made, old, "p").replacement_seconds == 895
