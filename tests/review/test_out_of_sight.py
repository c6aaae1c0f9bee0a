"""What may hold accelerators and is not counted is listed; what is counted is counted whole."""

from pathlib import Path
from typing import Any

import pytest

from review.plans import change, gpus, plan, report_of, stack_of, three

POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: 64}
  template: {spec: {requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}]}}
"""
STRANGE = POOL.replace("p5.48xlarge", "p99.48xlarge").replace("limits: {nvidia.com/gpu: 64}", "weight: 1")


def created(address: str, values: Any, **more: Any) -> dict[str, Any]:
    return change(address, "create", None, values, **more)


def manifest(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"manifest": {"apiVersion": "x/v1", "kind": kind, "spec": spec}}


CPUS = {"resource_type": "cpu", "maximum": 9}
ONLY_CPUS = {"cluster_autoscaling": [{"resource_limits": [CPUS]}]}
AUTO = {"cluster_autoscaling": [{"resource_limits": [CPUS, {"resource_type": "nvidia-h100-80gb", "maximum": 64}]}]}
REQUIRED = {"launch_template_config": [{"override": [{"instance_requirements": [{"accelerator_names": ["h100"]}]}]}]}


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (created("google_container_cluster.c", AUTO), "nvidia-h100-80gb up to 64"),
        (created("helm_release.k", {"values": [POOL]}, after_sensitive={"values": True}), "`values` is sensitive"),
        (created("helm_release.k", {}, unknown={"values": True}), "`values` is known after apply"),
        (created("kubernetes_manifest.k", {}, unknown={"manifest": True}), "`manifest` is known after apply"),
        (created("kubectl_manifest.k", {"yaml_body": POOL + "bad: {"}), "cannot be read as YAML"),
        (created("kubectl_manifest.k", {"yaml_body": POOL + "bad: !Foo {a: 1}"}), "cannot be read as YAML"),
        (created("kubectl_manifest.k", {"yaml_body": STRANGE}), "does not know its machine types (`p99.48xlarge`)"),
        (created("google_compute_instance_group_manager.m", {"target_size": 4}), "template is not in the plan"),
        (created("google_compute_instance_from_template.i", {"source_instance_template": "x"}), "template is not"),
        (created("google_compute_resize_request.r", {"resize_by": 64}), "asks for 64 machines"),
        (created("aws_ec2_fleet.f", REQUIRED), "chosen by requirements"),
        (created("aws_ec2_fleet.f", {"launch_template_config": [{}]}), "machine type is not in the plan"),
        (created("azurerm_kubernetes_cluster_node_pool.p", {"vm_size": "Standard_ND96isr_H100_v5"}), "ND96isr"),
        (created("azurerm_linux_virtual_machine.v", {"size": "Standard_NC24ads_A100_v4"}), "NC24ads"),
        (created("kubernetes_manifest.m", manifest("AWSMachinePool", {"instanceType": "p5.48xlarge"})), "p5.48xlarge"),
        (created("kubectl_manifest.m", {"yaml_body": "kind: X\nspec: {instanceType: p5.48xlarge}"}), "p5.48xlarge"),
        (created("aws_instance.i", {"instance_type": "trn2.48xlarge"}), "accelerators that are no GPUs"),
        (created("google_tpu_v2_vm.t", {"accelerator_type": "v5litepod-256"}), "TPUs"),
    ],
)
def test_it_is_listed(made: dict[str, Any], says: str, tmp_path: Path) -> None:
    report = report_of(tmp_path, plan(made))
    (line,) = report.stacks[0].unseen
    assert says in line.what and line.subject.startswith(made["address"]) and report.verdict.word == "REVIEW"


@pytest.mark.parametrize(
    "made",
    [
        created("azurerm_linux_virtual_machine.v", {"size": "Standard_D8s_v5"}),
        created("aws_instance.i", {"instance_type": "m7i.large"}),
        created("helm_release.k", {"values": ["replicas: 3"]}),
        created("kubernetes_manifest.m", manifest("Deployment", {"replicas": 3})),
        created("google_container_cluster.c", ONLY_CPUS),
        created("kubectl_manifest.k", {"yaml_body": STRANGE.replace("p99.48xlarge", "m7i.large")}),
    ],
)  # fmt: skip
def test_what_has_none_is_not(made: dict[str, Any], tmp_path: Path) -> None:
    assert stack_of(tmp_path, plan(made)).unseen == ()


@pytest.mark.parametrize(
    ("key", "operator", "value"),
    [("karpenter.k8s.aws/instance-generation", "Gt", "2"), ("karpenter.k8s.aws/instance-size", "NotIn", "nano")],
)
def test_a_karpenter_pool_that_asks_for_no_gpu(key: str, operator: str, value: str, tmp_path: Path) -> None:
    """A limit in CPUs and a generation: an ordinary pool, not one of GPUs without a bound."""
    pool = {
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "cpu"},
        "spec": {"limits": {"cpu": 100},
                 "template": {"spec": {"requirements": [{"key": key, "operator": operator, "values": [value]}]}}},
    }  # fmt: skip
    stack = stack_of(tmp_path, plan(created("kubernetes_manifest.p", {"manifest": pool})))
    assert stack.gpus == () and stack.unseen == ()


def gke(machine: str, count: int, name: str) -> dict[str, Any]:
    return {"name": name, "node_count": count, "node_config": [{"machine_type": machine}]}


CLUSTER = {"location": "us-central1-a", "node_pool": [gke("e2-medium", 1, "system"), gke("a3-highgpu-8g", 4, "a"),
                                                     gke("g2-standard-4", 3, "b")]}  # fmt: skip


def test_every_pool_in_a_gke_cluster_counts(tmp_path: Path) -> None:
    """4 x 8 H100 and 3 x 1 L4; deleting the cluster loses all 35."""
    assert three(gpus(stack_of(tmp_path, plan(created("google_container_cluster.c", CLUSTER)))).after)[1] == 35
    (line,) = stack_of(tmp_path, plan(change("google_container_cluster.c", "delete", CLUSTER, None))).destroyed
    assert line.gpus_lost.desired.low == 35


def test_a_pool_of_its_own_is_not_counted_in_the_cluster_too(tmp_path: Path) -> None:
    """A cluster's state lists every pool that it has: 32 of `a` once, 3 of `b`."""
    own = {"location": "us-central1-a", **gke("a3-highgpu-8g", 4, "a")}
    document = plan(
        change("google_container_cluster.c", "no-op", CLUSTER, CLUSTER),
        change("google_container_node_pool.a", "no-op", own, own),
    )
    assert three(gpus(stack_of(tmp_path, document)).after)[1] == 35


def test_a_fleet_without_overrides_takes_its_templates_machine(tmp_path: Path) -> None:
    """10 machines of 8 GPUs, bought as the default says."""
    template = {"id": "lt-1", "name": "g", "instance_type": "p5.48xlarge"}
    fleet = {
        "launch_template_config": [{"launch_template_specification": [{"launch_template_id": "lt-1"}]}],
        "target_capacity_specification": [{"total_target_capacity": 10, "default_target_capacity_type": "spot"}],
    }
    stack = stack_of(
        tmp_path, plan(change("aws_launch_template.g", "no-op", template, template), created("aws_ec2_fleet.f", fleet))
    )
    assert three(gpus(stack, "capacity", "spot").after) == (80, 80, 80)
