"""The catalog of charts: what it says of each, and what it refuses together."""

from datetime import date

import pytest

from inferfab.catalog.charts import KubernetesRange, chart_problems, charts, image
from inferfab.catalog.engines import engine_pairs
from inferfab.catalog.kubernetes import kubernetes_versions, minor


def test_every_chart_says_where_from_and_why() -> None:
    """A version without a reason and a source cannot be renewed by anybody else."""
    for name, chart in charts().items():
        assert chart.why, name
        assert chart.source, name
        assert chart.repository.startswith(("https://", "oci://")), name
        assert chart.version.removeprefix("v")[0].isdigit(), name


def test_dynamo_is_the_version_of_the_engine_pair() -> None:
    """Operator and runtimes of Dynamo are released together."""
    assert charts()["dynamo-platform"].version in engine_pairs()


def test_no_two_charts_of_the_platform_own_the_same_crds() -> None:
    """CRDs have one owner; the two EFA plugins exclude each other and are left out here."""
    together = [name for name in charts() if name != "aws-dranet"]
    assert chart_problems(together, "1.36") == []


def test_the_two_efa_plugins_exclude_each_other() -> None:
    """They hand out the same devices."""
    assert chart_problems(["aws-efa-k8s-device-plugin", "aws-dranet"], "1.36") == [
        "aws-efa-k8s-device-plugin and aws-dranet must not be in one cluster: install one of them"
    ]


def test_a_chart_that_does_not_support_the_cluster_is_named_with_its_range() -> None:
    """DRANET needs Kubernetes 1.34 and External Secrets 1.35."""
    assert chart_problems(["aws-dranet", "external-secrets"], "1.33") == [
        "aws-dranet 1.0.0 supports Kubernetes 1.34 or newer, and the cluster has 1.33",
        "external-secrets 2.9.0 supports Kubernetes 1.35 to 1.36, and the cluster has 1.33",
    ]


@pytest.mark.parametrize(("version", "inside"), [("1.8", False), ("1.9", True), ("1.10", True), ("1.11", False)])
def test_versions_compare_as_numbers(version: str, inside: bool) -> None:
    """1.10 comes after 1.9."""
    assert (version in KubernetesRange(min="1.9", max="1.10")) is inside


@pytest.mark.parametrize("wrong", ["1", "1.36.1", "v1.36", "1.x", ""])
def test_only_minor_versions_are_versions(wrong: str) -> None:
    """A patch version would compare wrongly."""
    with pytest.raises(ValueError, match="not a Kubernetes minor version"):
        minor(wrong)


def test_eks_1_34_has_left_standard_support() -> None:
    """Dates of the EKS user guide, typed by hand."""
    ends = {version: known.standard_support_ends for version, known in kubernetes_versions().items()}
    assert ends == {"1.34": date(2026, 12, 2), "1.35": date(2027, 3, 27), "1.36": date(2027, 8, 2)}


def test_the_autoscaler_has_the_minor_of_its_cluster() -> None:
    """It simulates the scheduler of exactly one minor."""
    for version, known in kubernetes_versions().items():
        assert known.autoscaler_image_tag.startswith(f"v{version}.")


def test_images_are_pinned() -> None:
    """A moving tag would let each node run something else."""
    assert image("adot-collector").reference == "public.ecr.aws/aws-observability/aws-otel-collector:v0.49.0"
    assert image("busybox").tag != "latest"
