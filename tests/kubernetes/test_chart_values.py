"""Every key that we set exists in the real chart."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from synth_platform import CHARTS, platform_spec

from inferfab.kubernetes.platform import (
    CertManagerSpec,
    DynamoPlatformSpec,
    EfaSpec,
    GpuOperatorSpec,
    KedaSpec,
    LoadBalancerControllerSpec,
    MigDevices,
    MigSpec,
    PrometheusSpec,
    RemoteWriteSpec,
)
from inferfab.render.values import Values

_FULL: dict[str, Values] = {
    **platform_spec().chart_values(),
    "cert-manager": CertManagerSpec(gateway_api=True).values(),
    "kube-prometheus-stack": PrometheusSpec(
        storage_class="gp3",
        grafana_admin_secret="grafana",
        external_labels={"cell": "a"},
        rdma_counters=True,
        remote_write=RemoteWriteSpec(url="https://metrics.example.com/", secret="s"),
    ).values(),
    "gpu-operator": GpuOperatorSpec(
        efa=True, mig=MigSpec(layouts={"sevenths": (MigDevices(instances={"1g.18gb": 7}),)})
    ).values(),
    "aws-efa-k8s-device-plugin": EfaSpec(instance_types=("p5en.48xlarge",), image_repository="mirror/efa").values(),
    "aws-dranet": EfaSpec(instance_types=("p5en.48xlarge",), image_repository="mirror/dranet").values(),
}
"""Values with everything that the specs can set."""

_FILES = {name: f"{name}.values.yaml" for name in _FULL} | {
    "dynamo-platform": "dynamo-platform-1.2.0-fork.values.yaml",
    "envoy-gateway": "gateway-helm.values.yaml",
    "ai-gateway": "ai-gateway-helm.values.yaml",
    "ai-gateway-crds": "ai-gateway-crds-helm.values.yaml",
}

_FREE = {
    ("kube-prometheus-stack", "prometheus.prometheusSpec.storageSpec"),
    ("kube-prometheus-stack", "prometheus.prometheusSpec.resources"),
    ("kube-prometheus-stack", "prometheus.prometheusSpec.externalLabels"),
    ("kube-prometheus-stack", "alertmanager.alertmanagerSpec.storage"),
    ("kube-prometheus-stack", "alertmanager.alertmanagerSpec.alertmanagerConfigMatcherStrategy"),
    ("cluster-autoscaler", "extraArgs"),
    ("cert-manager", "config"),
    # An EnvoyGateway object, which the chart passes on.
    ("envoy-gateway", "config.envoyGateway"),
    ("gpu-operator", "migManager.config.data"),
    ("aws-load-balancer-controller", "controllerConfig.featureGates"),
}
"""Mappings whose keys are the user's."""

_NEWER = {
    # Read at 1.6.0; the values file here is of 1.2.0. Source: ai-dynamo/dynamo@0398ccf2 platform/README.md, and for
    # podMonitors the facts on versions, section 1.
    ("dynamo-platform", "dynamo-operator.dynamo.metrics.podMonitors.enabled"),
    # Commented out there: which list of counters is the user's.
    ("gpu-operator", "dcgmExporter.config.create"),
    ("gpu-operator", "dcgmExporter.config.name"),
    ("gpu-operator", "dcgmExporter.config.data"),
    # Of the subchart's values, which are not at hand: kube-state-metrics' chart, values.yaml.
    ("kube-prometheus-stack", "kube-state-metrics.metricLabelsAllowlist"),
    # In its values file as a comment: "The name of the service account to use."
    ("cert-manager", "serviceAccount.name"),
}
"""Keys that the chart has and the values file at hand, which is older, does not."""


def _paths(values: Mapping[str, Any], chart: str, prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and (chart, path) not in _FREE:
            yield from _paths(value, chart, f"{path}.")
        else:
            yield path


def _has(tree: Any, path: str, chart: str) -> bool:
    # Keys hold no dots, except below the mappings that are left to the user.
    for key in path.split("."):
        if not isinstance(tree, Mapping) or key not in tree:
            return False
        tree = tree[key]
    return True


@pytest.mark.parametrize("chart", sorted(_FULL))
def test_every_key_that_we_set_is_in_the_charts_own_values(chart: str) -> None:
    """Helm ignores a key that no template reads, so a misspelled one would be lost in silence."""
    file = CHARTS / _FILES[chart]
    if not file.exists():
        pytest.skip(f"the charts' values files are not on this machine ({file})")
    real = yaml.safe_load(file.read_text())
    wrong = [path for path in _paths(_FULL[chart], chart) if not _has(real, path, chart)]
    assert [path for path in wrong if (chart, path) not in _NEWER] == []


def test_the_feature_gates_of_the_load_balancer_controller_exist() -> None:
    """They are free-form in the chart; its comments list them."""
    file = CHARTS / "aws-load-balancer-controller.values.yaml"
    if not file.exists():
        pytest.skip("the charts' values files are not on this machine")
    values = LoadBalancerControllerSpec(cluster_name="c", region="r", vpc_id="v").values()
    gates: Any = values["controllerConfig"]
    for gate in gates["featureGates"]:
        assert f"# {gate}: " in file.read_text()


def test_nothing_on_the_nodes_brings_a_driver() -> None:
    """The AL2023 NVIDIA image has driver and toolkit; a second one breaks both."""
    values: Any = GpuOperatorSpec().values()
    assert values["driver"] == {"enabled": False}
    assert values["toolkit"] == {"enabled": False}


def test_with_efa_the_gpu_plugin_keeps_its_hands_off_rdma_devices() -> None:
    """Only then: elsewhere its default may be wanted."""
    values: Any = GpuOperatorSpec(efa=True).values()
    assert values["devicePlugin"]["env"] == [{"name": "MOFED_ENABLED", "value": "false"}]
    values = GpuOperatorSpec().values()
    assert values["devicePlugin"]["env"] == []


@pytest.mark.parametrize(
    ("chart", "path"),
    [
        ("gpu-operator", "daemonsets"),
        ("gpu-operator", "node-feature-discovery.worker"),
        ("aws-efa-k8s-device-plugin", ""),
        ("aws-dranet", ""),
    ],
)
def test_what_runs_on_gpu_nodes_tolerates_their_taints(chart: str, path: str) -> None:
    """The two taints of the plan's node groups; without it the nodes have no GPU or no EFA."""
    tree: Any = _FULL[chart]
    for key in filter(None, path.split(".")):
        tree = tree[key]
    assert tree["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "inferfab/pool", "operator": "Exists", "effect": "NoSchedule"},
    ]


def test_mig_layouts_are_what_the_mig_manager_reads() -> None:
    """The file format of nvidia-mig-parted, typed by hand; GPUs that are not named in a layout stay whole."""
    half = (MigDevices(gpus=(0, 1), instances={"1g.18gb": 7}), MigDevices(gpus=(2, 3)))
    values: Any = GpuOperatorSpec(mig=MigSpec(layouts={"half": half})).values()
    assert values["mig"] == {"strategy": "mixed"}
    assert yaml.safe_load(values["migManager"]["config"]["data"]["config.yaml"]) == {
        "version": "v1",
        "mig-configs": {
            "all-disabled": [{"devices": "all", "mig-enabled": False}],
            "half": [
                {"devices": [0, 1], "mig-enabled": True, "mig-devices": {"1g.18gb": 7}},
                {"devices": [2, 3], "mig-enabled": False},
            ],
        },
    }


def test_without_mig_its_manager_does_not_run() -> None:
    """A manager without a task may still be told by a label to cut GPUs up."""
    values: Any = GpuOperatorSpec().values()
    assert values["mig"] == {"strategy": "none"}
    assert values["migManager"] == {"enabled": False}


def test_prometheus_takes_every_monitor_and_knows_where_eks_hides_things() -> None:
    """Else the planner sees no requests, and alerts on the control plane always fire."""
    values: Any = PrometheusSpec(storage_class="gp3", storage_gib=100).values()
    prometheus = values["prometheus"]["prometheusSpec"]
    assert {key for key, value in prometheus.items() if value is False} == {
        "podMonitorSelectorNilUsesHelmValues",
        "probeSelectorNilUsesHelmValues",
        "ruleSelectorNilUsesHelmValues",
        "scrapeConfigSelectorNilUsesHelmValues",
        "serviceMonitorSelectorNilUsesHelmValues",
    }
    assert prometheus["retentionSize"] == "85GiB"
    for part in ("kubeEtcd", "kubeScheduler", "kubeControllerManager", "kubeProxy"):
        assert values[part] == {"enabled": False}


def test_grafana_comes_only_with_a_secret_for_its_administrator() -> None:
    """The chart would otherwise make a password of its own."""
    values: Any = PrometheusSpec(storage_class="gp3").values()
    assert values["grafana"] == {"enabled": False}
    values = PrometheusSpec(storage_class="gp3", grafana_admin_secret="grafana-admin").values()
    assert values["grafana"]["admin"] == {"existingSecret": "grafana-admin"}


def test_the_autoscaler_removes_only_empty_gpu_nodes() -> None:
    """Below 1 % of the GPUs means none; its image is that of the cluster's minor."""
    values: Any = platform_spec().cluster_autoscaler.values()
    assert values["image"] == {"tag": "v1.36.1"}
    assert values["extraArgs"]["scale-down-gpu-utilization-threshold"] == 0.01
    assert values["extraArgs"]["skip-nodes-with-local-storage"] == "false"
    assert values["extraArgs"]["balance-similar-node-groups"] == "false"


def test_the_autoscaler_looks_for_its_own_tag_where_one_is_given() -> None:
    """Auto Scaling groups must have all of the tags; without one of its own they are the chart's, the whole cluster."""
    spec = platform_spec().cluster_autoscaler
    assert spec is not None
    assert spec.values()["autoDiscovery"] == {"clusterName": spec.cluster_name}
    values: Any = spec.model_copy(update={"group_tag": "inferfab-autoscaler/prod-use1-a"}).values()
    assert values["autoDiscovery"]["tags"] == ["k8s.io/cluster-autoscaler/enabled", "inferfab-autoscaler/prod-use1-a"]


def test_only_terraform_makes_load_balancers() -> None:
    """Neither Services nor Ingresses nor Gateways of the cluster do."""
    values: Any = platform_spec().load_balancer_controller.values()
    assert values["enableServiceMutatorWebhook"] is False
    assert values["keepTLSSecret"] is True
    assert set(values["controllerConfig"]["featureGates"].values()) == {False}
    assert values["createIngressClassResource"] is False


def test_keda_may_scale_only_what_it_is_told() -> None:
    """The chart's default is every kind of every group."""
    values: Any = KedaSpec().values()
    assert values["rbac"]["scaledRefKinds"] == [
        {"apiGroup": "nvidia.com", "kind": "DynamoGraphDeploymentScalingAdapter"}
    ]
    values = KedaSpec(scalable=()).values()
    assert values["rbac"] == {"enabledCustomScaledRefKinds": False, "scaledRefKinds": []}


def test_grove_is_brought_or_only_used() -> None:
    """Install brings it, enabled uses it."""
    by_choice = {
        choice: DynamoPlatformSpec(prometheus_url="http://p:9090", grove=choice).values()["global"]  # type: ignore[arg-type]
        for choice in ("bundled", "external", "none")
    }
    found: Any = {choice: values["grove"] for choice, values in by_choice.items()}  # type: ignore[index, call-overload]
    assert found == {
        "bundled": {"install": True, "enabled": True},
        "external": {"install": False, "enabled": True},
        "none": {"install": False, "enabled": False},
    }
