"""Helm releases, charts of our own, and the way to the cluster."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from synth_platform import run_example, stack_json, written_stack

from inferfab.kubernetes import ChartRelease, ChartReleaseSpec, LocalChart, LocalChartSpec, cluster_provider
from inferfab.render.chart import helm_literal
from inferfab.render.values import yaml_text
from inferfab.terraform import TerraformStack

SPEC = ChartReleaseSpec(
    name="keda", chart="keda", repository="https://example.com/charts", version="2.20.2", namespace="keda"
)


def release(spec: ChartReleaseSpec) -> dict[str, Any]:
    (found,) = stack_json(lambda stack: ChartRelease(stack, "one", spec))["resource"]["helm_release"].values()
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("example", [ChartRelease, LocalChart])
def test_the_examples_in_the_documentation_run(example: type) -> None:
    """They are what a reader copies."""
    assert run_example(example)["resource"]["helm_release"]


def test_a_release_is_pinned_and_rolled_back_when_it_does_not_become_ready() -> None:
    """Arguments of helm_release, typed by hand from the provider's documentation."""
    assert release(SPEC) == {
        "name": "keda",
        "chart": "keda",
        "repository": "https://example.com/charts",
        "version": "2.20.2",
        "namespace": "keda",
        "create_namespace": True,
        "values": ["{}\n"],
        "atomic": True,
        "cleanup_on_fail": True,
        "wait": True,
        "wait_for_jobs": True,
        "timeout": 900,
        "max_history": 10,
    }


@pytest.mark.parametrize("version", ["", ">=2.0", "^2.20", "2.x, 3", "latest", "*", "2.20 - 2.22"])
def test_a_range_of_versions_is_refused(version: str) -> None:
    """Each apply could install something else."""
    with pytest.raises(ValidationError, match="not one exact version"):
        ChartReleaseSpec(**{**SPEC.model_dump(), "version": version})


def test_values_are_one_text_with_the_same_bytes_in_any_order() -> None:
    """Text values are quoted, so nothing that looks like a number or a switch becomes one."""
    values = yaml_text({"b": "1", "a": {"on": True, "off": "false", "n": 2, "empty": {}, "list": ["x", None]}})
    assert values == yaml_text({"a": {"list": ["x", None], "empty": {}, "n": 2, "off": "false", "on": True}, "b": "1"})
    assert values.splitlines() == [
        "a:", "  empty: {}", "  list:", '  - "x"', "  - null", "  n: 2", "  'off': \"false\"", "  'on': true", 'b: "1"',
    ]  # fmt: skip
    assert yaml.safe_load(values)["a"]["off"] == "false"


def test_dollar_signs_in_values_stay_literal_and_references_stay_references() -> None:
    """Terraform fills in the network's id and leaves ``${HOME}`` alone."""

    def build(stack: TerraformStack) -> None:
        cluster = cluster_provider(stack, "prod-use1-a", "us-east-1")
        spec = SPEC.model_copy(update={"values": {"vpcId": cluster.vpc_id, "path": "${HOME}"}})
        ChartRelease(stack, "one", spec)

    (found,) = stack_json(build)["resource"]["helm_release"].values()
    reference = "${data.aws_eks_cluster.cluster.vpc_config[0].vpc_id}"
    assert found["values"] == [f'path: "$${{HOME}}"\nvpcId: "{reference}"\n']


def test_releases_wait_for_what_they_need() -> None:
    """Their order is Terraform's depends_on."""

    def build(stack: TerraformStack) -> None:
        first = ChartRelease(stack, "first", SPEC)
        ChartRelease(stack, "second", SPEC.model_copy(update={"name": "other"}), after=[first])

    releases = stack_json(build)["resource"]["helm_release"]
    by_name = {found["name"]: address for address, found in releases.items()}
    assert releases[by_name["other"]]["depends_on"] == [f"helm_release.{by_name['keda']}"]


def test_helm_reaches_the_cluster_with_a_token_of_its_own() -> None:
    """Syntax of helm provider 3: kubernetes and exec are objects, not lists."""
    found = stack_json(lambda s: cluster_provider(s, "prod-use1-a", "us-east-1", "arn:aws:iam::111122223333:role/d"))
    assert found["data"]["aws_eks_cluster"]["cluster"]["name"] == "prod-use1-a"
    (provider,) = found["provider"]["helm"]
    assert provider["kubernetes"] == {
        "host": "${data.aws_eks_cluster.cluster.endpoint}",
        "cluster_ca_certificate": "${base64decode(data.aws_eks_cluster.cluster.certificate_authority[0].data)}",
        "exec": {
            "api_version": "client.authentication.k8s.io/v1beta1",
            "command": "aws",
            "args": [
                "eks", "get-token", "--cluster-name", "prod-use1-a", "--region", "us-east-1", "--output", "json",
                "--role-arn", "arn:aws:iam::111122223333:role/d",
            ],
        },
    }  # fmt: skip


def local(text: str) -> LocalChartSpec:
    return LocalChartSpec(name="own", description="Ours", files={"a.yaml": text})


def build_local(text: str, stack: TerraformStack) -> None:
    cluster_provider(stack, "prod-use1-a", "us-east-1")
    chart = LocalChart(stack, "own", local(text))
    spec = ChartReleaseSpec(name="own", chart=chart.path, version=chart.version, namespace="x")
    ChartRelease(stack, "own-release", spec)


def test_a_chart_of_ours_is_found_relative_to_the_stack(tmp_path: Path) -> None:
    """No absolute path gets into the Terraform, and the folder is where Terraform is told to look."""
    folder = written_stack(lambda stack: build_local("a: 1\n", stack), tmp_path / "out")
    text = (folder / "cdk.tf.json").read_text()
    assert str(tmp_path) not in text
    (found,) = json.loads(text)["resource"]["helm_release"].values()
    chart = folder / found["chart"].removeprefix("${path.module}/")
    assert (chart / "templates" / "a.yaml").read_text() == "a: 1\n"
    assert yaml.safe_load((chart / "Chart.yaml").read_text())["version"] == found["version"]


def test_its_version_changes_with_its_content_and_its_path_does_not() -> None:
    """The provider looks at the version only."""
    found = []
    for text in ("a: 1\n", "a: 2\n", "a: 1\n"):
        document = stack_json(lambda stack, text=text: build_local(text, stack))  # type: ignore[misc]
        (one,) = document["resource"]["helm_release"].values()
        found.append((one["chart"], one["version"]))
    assert found[0] == found[2]
    assert found[0][0] == found[1][0]
    assert found[0][1] != found[1][1]
    assert found[0][1].startswith("0.1.0+")


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    """In other folders, with other hash seeds."""
    code = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from synth_platform import platform_spec, written_stack
from inferfab.kubernetes import cluster_provider
from inferfab.kubernetes.platform import Platform
def build(stack):
    cluster_provider(stack, "prod-use1-a", "us-east-1")
    Platform(stack, "platform", platform_spec())
written_stack(build, Path(sys.argv[2]))
"""
    here = str(Path(__file__).parent)
    for name in ("first", "second"):
        command = [sys.executable, "-c", code, here, str(tmp_path / name)]
        subprocess.run(command, check=True, cwd=tmp_path, env=_environment(name))
    written = [
        {str(file.relative_to(tmp_path / name)): file.read_bytes() for file in (tmp_path / name).rglob("*.*")
         if file.is_file()}
        for name in ("first", "second")
    ]  # fmt: skip
    assert written[0] == written[1]
    assert sum(name.endswith(".yaml") for name in written[0]) == 9


def _environment(seed: str) -> dict[str, str]:
    return {**os.environ, "PYTHONHASHSEED": str(len(seed))}


@pytest.mark.parametrize("name", ["/etc/a.yaml", "../a.yaml", "a.txt"])
def test_files_of_a_chart_stay_within_it(name: str) -> None:
    """A name is relative, within the folder, and YAML."""
    with pytest.raises(ValidationError, match="must be a relative name"):
        LocalChartSpec(name="own", description="Ours", files={name: ""})


def test_a_reference_cannot_be_in_a_file_of_a_chart() -> None:
    """Terraform never reads those files, so nobody would fill it in."""
    with pytest.raises(ValidationError, match="only Terraform knows"):
        local("arn: ${TfToken[TOKEN.3]}\n")


def test_braces_of_other_template_languages_are_left_alone() -> None:
    """Prometheus' alerts write ``{{ $labels.pod }}``."""
    assert helm_literal("{{ $labels.pod }}") == '{{ "{{" }} $labels.pod }}'
