"""The platform as a whole: what is installed, in which order, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from synth_platform import platform_spec, run_example, stack_json, written_stack

from inferfab.kubernetes import cluster_provider
from inferfab.kubernetes.platform import (
    CellObjectsSpec,
    ExternalSecretsSpec,
    GatewayBinding,
    GpuOperatorSpec,
    Platform,
    PlatformSpec,
    SecretStore,
    ServingTier,
    prometheus_url,
)
from inferfab.terraform import TerraformStack


def build(stack: TerraformStack, spec: PlatformSpec | None = None) -> None:
    cluster_provider(stack, "prod-use1-a", "us-east-1")
    Platform(stack, "platform", spec or platform_spec())


def releases(spec: PlatformSpec | None = None) -> dict[str, dict[str, Any]]:
    """Releases by name, with the names of those that they wait for, directly or not, under "after"."""
    found = stack_json(lambda stack: build(stack, spec))["resource"]["helm_release"]
    names = {f"helm_release.{address}": one["name"] for address, one in found.items()}
    direct = {one["name"]: {names[a] for a in one.get("depends_on", [])} for one in found.values()}

    def all_before(name: str) -> set[str]:
        return direct[name].union(*(all_before(one) for one in direct[name]))

    return {one["name"]: {**one, "after": all_before(one["name"])} for one in found.values()}


def objects(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Kubernetes objects of our own charts, by kind and name."""
    found = {}
    for file in folder.glob("assets/*/*/templates/*.yaml"):
        for document in yaml.safe_load_all(file.read_text()):
            if document:
                found[document["kind"], document["metadata"]["name"]] = document
    return found


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    return objects(written_stack(build, tmp_path_factory.mktemp("platform")))


def test_the_example_in_the_documentation_runs() -> None:
    """It is what a reader copies."""
    assert len(run_example(Platform)["resource"]["helm_release"]) == 10


def test_each_release_comes_after_what_it_needs() -> None:
    """Namespaces and storage, then cert-manager, then the monitoring CRDs, then the rest; Dynamo and our edge last."""
    found = releases()
    assert found["cell-objects"]["after"] == set()
    assert "cell-objects" in found["cert-manager"]["after"]
    assert {"cell-objects", "cert-manager"} <= found["prometheus"]["after"]
    for name in ("external-secrets", "aws-load-balancer-controller", "cluster-autoscaler", "gpu-operator", "keda"):
        assert "prometheus" in found[name]["after"], name
    assert "gpu-operator" in found["aws-efa-k8s-device-plugin"]["after"]
    assert {"cert-manager", "prometheus", "gpu-operator", "aws-efa-k8s-device-plugin"} <= found["dynamo-platform"][
        "after"
    ]
    assert {"prometheus", "external-secrets", "aws-load-balancer-controller"} <= found["cell-edge"]["after"]
    # Its controller watches kinds of both, and does not start without them.
    assert {"eg", "aieg-crd"} <= found["aieg"]["after"]


def test_addresses_of_releases_are_stable() -> None:
    """A changed address uninstalls a release, with its CRDs and all that is of them."""
    found = stack_json(build)["resource"]["helm_release"]
    assert {address.rsplit("_", 1)[0] for address in found} == {
        f"platform_{name}_release"
        for name in (
            "ai-gateway", "ai-gateway-crds", "aws-efa-k8s-device-plugin", "aws-load-balancer-controller", "cell-edge",
            "cell-objects", "cert-manager", "cluster-autoscaler", "dynamo-platform", "envoy-gateway",
            "external-secrets", "gpu-operator", "keda",
            "kube-prometheus-stack",
        )
    }  # fmt: skip


def test_only_the_gpu_operator_skips_validation() -> None:
    """Its CRDs come by a hook; everywhere else a typo shall be refused."""
    assert [name for name, one in releases().items() if "disable_openapi_validation" in one] == ["gpu-operator"]


def test_helm_does_not_make_kube_system() -> None:
    """It is always there."""
    for name, one in releases().items():
        assert one["create_namespace"] is (one["namespace"] != "kube-system"), name


def test_dynamo_is_told_where_the_deployed_prometheus_is() -> None:
    """Service name of the chart: release, chart name, cut to 26 characters."""
    assert prometheus_url() == "http://prometheus-kube-prometheus-prometheus.monitoring:9090"
    assert prometheus_url("kube-prometheus-stack", "m") == "http://kube-prometheus-stack-prometheus.m:9090"
    values = yaml.safe_load(releases()["dynamo-platform"]["values"][0])
    assert values["dynamo-operator"]["dynamo"]["metrics"] == {
        "prometheusEndpoint": "http://prometheus-kube-prometheus-prometheus.monitoring:9090",
        "podMonitors": {"enabled": False},
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kubernetes": "1.37"}, "supports Kubernetes 1.33 to 1.36, and the cluster has 1.37"),
        ({"kubernetes": "1.35"}, "cluster_autoscaler.kubernetes is not the cluster's version"),
        ({"gpu_operator": GpuOperatorSpec(efa=False)}, "gpu_operator.efa and efa_plugin must agree"),
        ({"efa_plugin": None}, "gpu_operator.efa and efa_plugin must agree"),
        ({"efa_plugin": "both"}, "efa_plugin"),
        (
            {"gateway": GatewayBinding(namespace="edge", service="g", target_group_name="t")},
            'cell_objects.namespaces lacks the gateway\'s "edge"',
        ),
    ],
)
def test_what_does_not_go_together_is_refused(change: dict[str, Any], problem: str) -> None:
    """Before anything is written, with the field's name."""
    with pytest.raises(ValidationError) as refused:
        platform_spec(**change)
    assert problem in str(refused.value)


def test_dranet_takes_the_place_of_the_device_plugin() -> None:
    """Never both."""
    found = releases(platform_spec(efa_plugin="aws-dranet"))
    assert "aws-dranet" in found
    assert "aws-efa-k8s-device-plugin" not in found


def test_without_efa_neither_is_installed() -> None:
    """A cell whose pools move nothing between nodes."""
    found = releases(platform_spec(efa_plugin=None, gpu_operator=GpuOperatorSpec()))
    assert not {"aws-dranet", "aws-efa-k8s-device-plugin"} & set(found)


def test_volumes_are_encrypted_by_default(own: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Every claim that names no class gets this one."""
    storage = own["StorageClass", "gp3-encrypted"]
    assert storage["provisioner"] == "ebs.csi.aws.com"
    assert storage["parameters"] == {"type": "gp3", "encrypted": "true"}
    assert storage["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}


def test_a_key_of_ones_own_encrypts_the_volumes() -> None:
    """Named by ARN."""
    key = "arn:aws:kms:us-east-1:111122223333:key/1"
    spec = CellObjectsSpec(tiers=(), kms_key_arn=key)
    assert yaml.safe_load(spec.chart().files["storage_class.yaml"])["parameters"]["kmsKeyId"] == key


def test_one_namespace_serves_and_each_tier_has_a_priority(own: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Higher tiers push lower ones out; batch pushes nobody."""
    assert {name for kind, name in own if kind == "Namespace"} == {"serving", "gateway"}
    assert own["PriorityClass", "inferfab-priority"]["value"] == 300_000
    assert own["PriorityClass", "inferfab-priority"]["preemptionPolicy"] == "PreemptLowerPriority"
    assert own["PriorityClass", "inferfab-batch"]["preemptionPolicy"] == "Never"


def test_uninstalling_keeps_the_namespaces(own: dict[tuple[str, str], dict[str, Any]]) -> None:
    """With them would go everything that serves."""
    for (kind, name), found in own.items():
        if kind == "Namespace":
            assert found["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}, name


@pytest.mark.parametrize("priority", [-1, 1_000_000_001])
def test_priorities_stay_out_of_kubernetes_own_range(priority: int) -> None:
    """Above a billion are the system's; below zero the autoscaler adds no nodes."""
    with pytest.raises(ValidationError, match="priority"):
        ServingTier(name="x", priority=priority)


def test_the_gateway_joins_terraforms_target_group_by_name(own: dict[tuple[str, str], dict[str, Any]]) -> None:
    """In the Service's namespace; security groups stay Terraform's."""
    binding = own["TargetGroupBinding", "entrance"]
    assert binding["apiVersion"] == "elbv2.k8s.aws/v1beta1"
    assert binding["metadata"]["namespace"] == "gateway"
    assert binding["spec"] == {
        "targetGroupName": "prod-use1-a-gateway",
        "targetType": "ip",
        "serviceRef": {"name": "entrance", "port": 443},
    }


def test_the_secret_store_holds_no_credentials(own: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Pod Identity says what it may read."""
    store = own["ClusterSecretStore", "aws-secrets-manager"]
    assert store["apiVersion"] == "external-secrets.io/v1"
    assert store["spec"]["provider"] == {"aws": {"service": "SecretsManager", "region": "us-east-1"}}


def test_the_secret_store_is_for_the_namespaces_that_need_it(own: dict[tuple[str, str], dict[str, Any]]) -> None:
    """ESO: `spec.conditions` of a ClusterSecretStore; without it an ExternalSecret of any namespace has every secret
    that the controller's role reads."""
    store = own["ClusterSecretStore", "aws-secrets-manager"]
    assert store["spec"]["conditions"] == [{"namespaces": ["serving", "gateway"]}]
    with pytest.raises(ValidationError):
        SecretStore(region="us-east-1", namespaces=())


def test_nobody_goes_round_the_secret_store() -> None:
    """A SecretStore of a namespace's own without credentials takes the controller's; and the chart would let whoever
    may edit a namespace make both (its values: processSecretStore, rbac.aggregateTo*)."""
    values = ExternalSecretsSpec().values()
    assert values["processSecretStore"] is False
    assert values["rbac"] == {"aggregateToEdit": False, "aggregateToAdmin": False}


def test_text_from_outside_cannot_change_an_object() -> None:
    """A name that is YAML or a template of Helm stays a name."""
    nasty = 'x"\n  evil: {{ .Values }}: [1'
    files = GatewayBinding(namespace="gateway", service="s", target_group_name=nasty).files()
    assert yaml.safe_load(files["target_group_binding.yaml"])["spec"]["targetGroupName"] == nasty


def test_the_terraform_has_no_absolute_path(tmp_path: Path) -> None:
    """Neither of the output nor of the folder that the charts were put together in."""
    text = (written_stack(build, tmp_path) / "cdk.tf.json").read_text()
    assert "inferfab-charts" not in text
    assert str(tmp_path) not in text
    assert json.loads(text)["terraform"]["required_providers"]["helm"]["version"] == "3.3.0"
