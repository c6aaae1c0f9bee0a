"""GPUs in plans of any stack. Expected numbers are worked out by hand beside each case: nodes times GPUs of the machine
(p5.48xlarge 8, g6e.12xlarge 4, g6.xlarge 1, p5.4xlarge 1; AWS instance type pages)."""

import json
from pathlib import Path
from typing import Any

import pytest

from review.plans import change, gpus, node_group, plan, stack_of, three


def test_a_node_group_counts_at_each_size(tmp_path: Path) -> None:
    """2/4/8 nodes of p5.48xlarge become 2/6/8: 16/32/64 GPUs to 16/48/64."""
    changes = change(
        "aws_eks_node_group.g",
        "update",
        node_group("p5.48xlarge", 2, 4, 8),
        node_group("p5.48xlarge", 2, 6, 8),
    )
    line = gpus(stack_of(tmp_path, plan(changes)))
    assert three(line.before) == (16, 32, 64)
    assert three(line.after) == (16, 48, 64)


def test_axes_of_a_labelled_group(tmp_path: Path) -> None:
    """Type, role, region and how it is bought; a tier only where an environment says it."""
    labels = {"inferfab/pool": "chat", "inferfab/role": "decode", "inferfab/cell": "a"}
    made = change("aws_eks_node_group.g", "create", None, node_group("p5.48xlarge", 1, 1, 1, labels=labels))
    stack = stack_of(tmp_path, plan(made))
    for axis, name in (("type", "h100"), ("role", "decode"), ("region", "aws:us-east-1"), ("capacity", "on demand")):
        assert three(gpus(stack, axis, name).after) == (8, 8, 8)
    assert gpus(stack, "tier", "not said").after == gpus(stack).after


def test_a_group_without_gpus_is_not_counted(tmp_path: Path) -> None:
    stack = stack_of(tmp_path, plan(change("aws_eks_node_group.g", "create", None, node_group("m7i.2xlarge", 2, 2, 4))))
    assert stack.gpus == () and stack.money == () and stack.unseen == ()


def _new_template(**template: Any) -> dict[str, Any]:
    """A new node group whose machine type is in a new launch template, which has no id yet."""
    values = node_group("x", 1, 2, 3, launch_template=[{"name": None, "version": None}])
    del values["instance_types"]
    group = change(
        'module.ng["a"].aws_eks_node_group.this[0]', "create", None, values,
        unknown={"launch_template": [{"id": True}], "instance_types": True},
        module_address='module.ng["a"]', index=0,
    )  # fmt: skip
    launch = change(
        'module.ng["a"].aws_launch_template.this[0]', "create", None, template, unknown={"id": True},
        module_address='module.ng["a"]', index=0,
    )  # fmt: skip
    other = change(
        'module.ng["b"].aws_launch_template.this[0]', "create", None, {"instance_type": "m7i.large"},
        unknown={"id": True}, module_address='module.ng["b"]', index=0,
    )  # fmt: skip
    document = plan(group, launch, other)
    references = ["aws_launch_template.this[0].id", "aws_launch_template.this[0]", "aws_launch_template.this"]
    resource = {
        "address": "aws_eks_node_group.this", "mode": "managed", "type": "aws_eks_node_group", "name": "this",
        "provider_config_key": "aws", "expressions": {"launch_template": [{"id": {"references": references}}]},
    }  # fmt: skip
    document["configuration"]["root_module"] = {"module_calls": {"ng": {"module": {"resources": [resource]}}}}
    return document


def test_a_new_launch_template_is_found_through_the_configuration(tmp_path: Path) -> None:
    """Of the same module instance, though another instance has one of the same name: 1/2/3 nodes of 8 GPUs."""
    stack = stack_of(tmp_path, _new_template(instance_type="p5.48xlarge"))
    assert three(gpus(stack).after) == (8, 16, 24)
    assert stack.unseen == ()


@pytest.mark.parametrize(
    ("template", "bought"),
    [
        ({"instance_market_options": [{"market_type": "spot"}]}, "spot"),
        ({"instance_market_options": [{"market_type": "capacity-block"}]}, "capacity block"),
        (
            {"capacity_reservation_specification": [{"capacity_reservation_preference": "capacity-reservations-only"}]},
            "reservation",
        ),
        ({}, "on demand"),
    ],
)
def test_how_a_template_buys(template: dict[str, Any], bought: str, tmp_path: Path) -> None:
    stack = stack_of(tmp_path, _new_template(instance_type="p5.48xlarge", **template))
    assert three(gpus(stack, "capacity", bought).after) == (8, 16, 24)


def test_a_changed_template_changes_the_group(tmp_path: Path) -> None:
    """The group itself is not touched: g6e.12xlarge (4 GPUs) to p5.48xlarge (8), 2 nodes."""
    named = node_group("x", 2, 2, 2, launch_template=[{"id": "lt-1", "version": "$Latest"}], instance_types=None)
    document = plan(
        change("aws_eks_node_group.g", "no-op", named, named),
        change(
            "aws_launch_template.t", "update",
            {"id": "lt-1", "instance_type": "g6e.12xlarge"}, {"id": "lt-1", "instance_type": "p5.48xlarge"},
        ),
    )  # fmt: skip
    line = gpus(stack_of(tmp_path, document))
    assert (three(line.before), three(line.after)) == ((8, 8, 8), (16, 16, 16))


@pytest.mark.parametrize("value", [None, "unknown", "sensitive"])
def test_an_unseen_machine_type_is_listed(value: str | None, tmp_path: Path) -> None:
    """Known after apply, sensitive, or in a template elsewhere: never guessed, never left out."""
    values = node_group("x", 1, 1, 1, launch_template=[{"id": "lt-elsewhere"}], instance_types=None)
    made = change(
        "aws_eks_node_group.g", "create", None, values,
        unknown={"instance_types": True} if value == "unknown" else {},
        after_sensitive={"launch_template": True} if value == "sensitive" else {},
    )  # fmt: skip
    stack = stack_of(tmp_path, plan(made))
    assert [u.subject for u in stack.unseen] == ["aws_eks_node_group.g"]
    assert "machine type" in stack.unseen[0].what


def test_a_gpu_image_with_an_unseen_machine_counts_as_a_range(tmp_path: Path) -> None:
    """Its image says that there are GPUs; how many does not stand in the plan."""
    values = node_group("x", 1, 1, 2, instance_types=None, ami_type="AL2023_x86_64_NVIDIA")
    made = change("aws_eks_node_group.g", "create", None, values, unknown={"instance_types": True})
    stack = stack_of(tmp_path, plan(made))
    assert three(gpus(stack, "type", "unknown GPU").after) == ((0, None), (0, None), (0, None))
    assert stack.unseen


def test_an_unknown_count_is_a_range(tmp_path: Path) -> None:
    """Desired known after apply: anything from nothing up; the maximum of 4 nodes is known."""
    values = node_group("p5.48xlarge", 1, 1, 4)
    del values["scaling_config"][0]["desired_size"]
    made = change("aws_eks_node_group.g", "create", None, values, unknown={"scaling_config": [{"desired_size": True}]})
    stack = stack_of(tmp_path, plan(made))
    assert three(gpus(stack).after) == (8, (0, None), 32)
    assert stack.unseen


def _mixed(base: int, percent: int, overrides: list[dict[str, Any]], **sizes: Any) -> dict[str, Any]:
    policy = {
        "instances_distribution": [
            {"on_demand_base_capacity": base, "on_demand_percentage_above_base_capacity": percent}
        ],
        "launch_template": [{"override": overrides}],
    }
    values = {"mixed_instances_policy": [policy], "min_size": 0, "desired_capacity": 5, "max_size": 10, **sizes}
    return change("aws_autoscaling_group.a", "create", None, values)


def test_a_mixed_group_splits_on_demand_and_spot(tmp_path: Path) -> None:
    """Base 1, half of the rest: of 5 machines 1 + 2 on demand and 2 spot; of 10, 1 + 5 (4.5 rounded up) and 4.

    g6e.12xlarge us-east-1: $10.49264 on demand (price list of 2026-07-20), 4 GPUs.
    """
    stack = stack_of(tmp_path, plan(_mixed(1, 50, [{"instance_type": "g6e.12xlarge"}])))
    assert three(gpus(stack).after) == (0, 20, 40)
    assert gpus(stack, "capacity", "on demand and spot").after == gpus(stack).after
    desired = stack.cost("desired")
    assert desired is not None and desired.after.usd_per_hour.high is not None
    assert 3 * 10.49264 < desired.after.usd_per_hour.low < desired.after.usd_per_hour.high <= 5 * 10.49264 + 0.01


def test_a_group_of_several_machines_is_a_range(tmp_path: Path) -> None:
    """5 machines of 1 or 8 GPUs: between 5 and 40; either type may be meant."""
    overrides = [{"instance_type": "p5.48xlarge"}, {"instance_type": "g6.xlarge"}]
    stack = stack_of(tmp_path, plan(_mixed(0, 100, overrides)))
    assert three(gpus(stack, "type", "h100 or l4").after) == (0, (5, 40), (10, 80))


def test_weights_are_units_of_capacity(tmp_path: Path) -> None:
    """16 units with weight 8 a machine are 2 machines: 16 GPUs; 32 units are 4."""
    overrides = [{"instance_type": "p5.48xlarge", "weighted_capacity": "8"}]
    stack = stack_of(tmp_path, plan(_mixed(0, 100, overrides, desired_capacity=16, max_size=32)))
    assert three(gpus(stack).after) == (0, 16, 32)


def test_instances_and_their_launch_template(tmp_path: Path) -> None:
    """A p5.4xlarge of its own and one through a template by name: 1 GPU each."""
    document = plan(
        change("aws_instance.a", "create", None, {"instance_type": "p5.4xlarge"}),
        change("aws_instance.b", "create", None, {"launch_template": [{"name": "big"}]}),
        change("aws_launch_template.t", "no-op", {"name": "big", "instance_type": "p5.4xlarge"},
               {"name": "big", "instance_type": "p5.4xlarge"}),
        change("aws_spot_instance_request.c", "create", None, {"instance_type": "p5.4xlarge"}),
    )  # fmt: skip
    stack = stack_of(tmp_path, document)
    assert three(gpus(stack).after) == (3, 3, 3)
    assert three(gpus(stack, "capacity", "spot").after) == (1, 1, 1)


def test_a_fleet_takes_its_targets(tmp_path: Path) -> None:
    """2 on demand and 3 spot p5.4xlarge."""
    values = {
        "launch_template_config": [{"override": [{"instance_type": "p5.4xlarge"}]}],
        "target_capacity_specification": [
            {"total_target_capacity": 5, "on_demand_target_capacity": 2, "spot_target_capacity": 3}
        ],
    }
    stack = stack_of(tmp_path, plan(change("aws_ec2_fleet.f", "create", None, values)))
    assert three(gpus(stack).after) == (5, 5, 5)


POOL = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "h100"},
    "spec": {
        "limits": {"nvidia.com/gpu": 64},
        "template": {
            "spec": {
                "requirements": [
                    {"key": "karpenter.k8s.aws/instance-gpu-name", "operator": "In", "values": ["h100"]},
                    {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Gt", "values": ["1"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]},
                ]
            }
        },
    },
}


@pytest.mark.parametrize("form", ["kubernetes_manifest", "kubectl_manifest", "helm_release"])
def test_a_karpenter_pool_is_bounded_by_its_limit(form: str, tmp_path: Path) -> None:
    """H100 with more than one GPU leaves p5.48xlarge; none at least, 64 GPUs at most, Karpenter decides between."""
    values: dict[str, Any] = {
        "kubernetes_manifest": {"manifest": POOL},
        "kubectl_manifest": {"yaml_body": json.dumps(POOL)},
        "helm_release": {"values": [json.dumps({"extra": {"objects": [POOL]}})]},
    }[form]
    stack = stack_of(tmp_path, plan(change(f"{form}.pool", "create", None, values)))
    assert three(gpus(stack, "type", "h100").after) == (0, (0, 64), 64)
    assert three(gpus(stack, "capacity", "spot").after) == (0, (0, 64), 64)
    (group,) = stack.groups
    assert group.machines_after == "p5.48xlarge" and group.kind == "Karpenter NodePool"
    assert any("Karpenter decides" in u.what for u in stack.unseen)


def test_a_static_karpenter_pool_has_its_replicas(tmp_path: Path) -> None:
    """Three replicas of 8 GPUs."""
    spec = {"replicas": 3, "template": {"spec": {"requirements": [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]}]}}}  # fmt: skip
    stack = stack_of(
        tmp_path, plan(change("kubernetes_manifest.p", "create", None, {"manifest": {**POOL, "spec": spec}}))
    )
    assert three(gpus(stack).after) == (24, 24, 24)


def test_a_karpenter_pool_without_gpus_is_not_counted(tmp_path: Path) -> None:
    """Categories c, m and r have no GPU."""
    spec = {"template": {"spec": {"requirements": [
        {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]}]}}}  # fmt: skip
    stack = stack_of(
        tmp_path, plan(change("kubernetes_manifest.p", "create", None, {"manifest": {**POOL, "spec": spec}}))
    )
    assert stack.gpus == () and stack.unseen == ()


def test_gke_counts_by_zone(tmp_path: Path) -> None:
    """2 nodes in each of 2 zones, 1 to 4 a zone: a3-highgpu-8g has 8 GPUs, so 16/32/64."""
    values = {
        "location": "us-central1", "node_locations": ["us-central1-a", "us-central1-b"], "node_count": 2,
        "autoscaling": [{"min_node_count": 1, "max_node_count": 4}],
        "node_config": [{"machine_type": "a3-highgpu-8g", "spot": True}],
    }  # fmt: skip
    stack = stack_of(tmp_path, plan(change("google_container_node_pool.p", "create", None, values)))
    assert three(gpus(stack).after) == (16, 32, 64)
    assert three(gpus(stack, "capacity", "spot").after) == (16, 32, 64)
    assert three(gpus(stack, "region", "gcp:us-central1").after) == (16, 32, 64)


def test_gke_total_bounds_are_of_all_zones(tmp_path: Path) -> None:
    values = {
        "location": "us-central1", "node_locations": ["us-central1-a", "us-central1-b"], "node_count": 1,
        "autoscaling": [{"total_min_node_count": 0, "total_max_node_count": 3}],
        "node_config": [{"machine_type": "g2-standard-24"}],
    }  # fmt: skip
    stack = stack_of(tmp_path, plan(change("google_container_node_pool.p", "create", None, values)))
    assert three(gpus(stack).after) == (0, 4, 6)  # two L4 a machine


def test_gpus_attached_to_a_google_instance(tmp_path: Path) -> None:
    """An N1 with four T4: the machine type has none of its own."""
    values = {"machine_type": "n1-standard-16", "zone": "us-central1-a",
              "guest_accelerator": [{"type": "nvidia-tesla-t4", "count": 4}]}  # fmt: skip
    stack = stack_of(tmp_path, plan(change("google_compute_instance.i", "create", None, values)))
    assert three(gpus(stack, "type", "t4").after) == (4, 4, 4)


def test_a_google_group_uses_its_template(tmp_path: Path) -> None:
    """3 instances of a template with two L4."""
    template = {"self_link": "https://x/t", "machine_type": "g2-standard-24"}
    group = {"version": [{"instance_template": "https://x/t"}], "target_size": 3, "zone": "us-central1-a"}
    document = plan(
        change("google_compute_instance_template.t", "no-op", template, template),
        change("google_compute_instance_group_manager.g", "create", None, group),
    )
    assert three(gpus(stack_of(tmp_path, document)).after) == (6, 6, 6)


def test_a_machine_that_the_catalog_does_not_know(tmp_path: Path) -> None:
    """A P3 has GPUs, the catalog does not say how many: a range, and said so."""
    stack = stack_of(tmp_path, plan(change("aws_instance.a", "create", None, {"instance_type": "p3.8xlarge"})))
    assert three(gpus(stack).after) == ((0, None), (0, None), (0, None))
    assert any("p3.8xlarge" in u.what for u in stack.unseen)


def test_a_type_that_is_not_counted_is_listed(tmp_path: Path) -> None:
    """SageMaker's machines have GPUs too."""
    values = {"production_variants": [{"instance_type": "ml.p5.48xlarge", "initial_instance_count": 2}]}
    stack = stack_of(tmp_path, plan(change("aws_sagemaker_endpoint_configuration.s", "create", None, values)))
    assert any("ml.p5.48xlarge" in u.what for u in stack.unseen)


def test_price_of_a_plan_by_hand(tmp_path: Path) -> None:
    """2 p5.48xlarge on demand in us-east-1 at $55.04: $110.08 an hour, 730 hours $80,358.40 a month."""
    stack = stack_of(tmp_path, plan(change("aws_eks_node_group.g", "create", None, node_group("p5.48xlarge", 2, 2, 4))))
    line = stack.cost("desired")
    assert line is not None
    assert line.after.usd_per_hour.low == pytest.approx(110.08)
    assert line.after.usd_per_month.high == pytest.approx(80_358.40)
    assert line.before.usd_per_month.high == 0
    (price,) = stack.prices
    assert "2026-07-20" in price.how and price.basis == "catalog"


def test_without_a_region_the_price_is_a_range(tmp_path: Path) -> None:
    """And says so."""
    made = change("aws_eks_node_group.g", "create", None, node_group("p5.48xlarge", 1, 1, 1))
    stack = stack_of(tmp_path, plan(made, region=""))
    (price,) = stack.prices
    assert "does not say the region" in price.how
    assert price.usd_per_hour.high is not None and price.usd_per_hour.low < price.usd_per_hour.high


@pytest.mark.parametrize("value", [True, -1, 2.5, "two", [], {}, 10**30, float("inf"), "9" * 400])
def test_a_count_of_a_wrong_kind_is_unknown(value: Any, tmp_path: Path) -> None:
    values = node_group("p5.48xlarge", 0, 0, 0)
    values["scaling_config"][0]["max_size"] = value
    stack = stack_of(tmp_path, plan(change("aws_eks_node_group.g", "create", None, values)))
    assert three(gpus(stack).after) == (0, 0, (0, None))
