"""The generated classes: what Terraform gets from them, on both engines, and that they are what the tool writes."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin, is_typeddict

import pytest
import yaml

from inferfab import terraform
from inferfab.terraform import DataSource, Lifecycle, Provider, Resource, TerraformStack
from inferfab.terraform.aws import ec2, eks, provider
from inferfab.terraform.helm import HelmProvider, HelmRelease

HERE = Path(__file__).resolve().parent
TOOLS = HERE.parents[1] / "tools"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


one_of_each = load(HERE / "one_of_each.py")


def cdktn_python() -> str:
    """A Python that has cdktn: this one, or the one INFERFAB_CDKTN_PYTHON names."""
    if importlib.util.find_spec("cdktn") is not None:
        return sys.executable
    named = os.environ.get("INFERFAB_CDKTN_PYTHON")
    if named is None:
        pytest.skip("cdktn is not installed here and INFERFAB_CDKTN_PYTHON names no Python that has it")
    return named


def without_versions(text: str) -> dict[str, Any]:
    """The stack without the engine's version; ``outputs`` is written with different white space."""
    stack: dict[str, Any] = json.loads(text)
    del stack["//"]["metadata"]["version"]
    return stack


@pytest.mark.parametrize("everything", [False, True], ids=["required", "all"])
def test_both_engines_write_the_same_stack(tmp_path: Path, everything: bool) -> None:
    ours = one_of_each.write(tmp_path / "cdktf", everything=everything).read_text()
    command = [
        cdktn_python(),
        str(HERE / "one_of_each.py"),
        str(tmp_path / "cdktn"),
        "all" if everything else "required",
    ]
    subprocess.run(command, check=True, env={**os.environ, "INFERFAB_ENGINE": "cdktn"}, cwd=tmp_path)
    theirs = (tmp_path / "cdktn" / "stacks" / "one" / "cdk.tf.json").read_text()
    assert without_versions(ours) == without_versions(theirs)


@pytest.mark.parametrize("everything", [False, True], ids=["required", "all"])
def test_every_argument_reaches_terraform_under_its_own_name(tmp_path: Path, everything: bool) -> None:
    stack = json.loads(one_of_each.write(tmp_path, everything=everything).read_text())
    for kind, section in ((Resource, "resource"), (DataSource, "data")):
        for one in one_of_each.generated(kind):
            written = stack[section][one.TERRAFORM_TYPE][one.__name__]
            del written["//"]
            assert written == one_of_each.sample(one.ARGUMENTS, everything=everything)
    for one in one_of_each.generated(Provider):
        assert stack["provider"][one.PROVIDER.name] == [one_of_each.sample(one.ARGUMENTS, everything=everything)]


def test_a_stack_is_the_same_bytes_wherever_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = one_of_each.write(tmp_path / "a", everything=True).read_bytes()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert one_of_each.write(tmp_path / "b", everything=True).read_bytes() == first
    assert str(tmp_path).encode() not in first


def resources(stack: TerraformStack) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(terraform.Testing.synth(stack))
    for instances in written.get("resource", {}).values():
        for one in instances.values():
            one.pop("//", None)
    return written


@pytest.fixture
def stack() -> TerraformStack:
    return TerraformStack(terraform.Testing.app(), "cell")


def test_launch_template_is_what_the_terraform_documentation_writes(stack: TerraformStack) -> None:
    ec2.LaunchTemplate(
        stack,
        "gpu",
        name_prefix="gpu-",
        image_id="ami-1",
        instance_type="p5en.48xlarge",
        update_default_version=True,
        block_device_mappings=[
            {"device_name": "/dev/xvda", "ebs": {"encrypted": "true", "volume_size": 200, "volume_type": "gp3"}}
        ],
        capacity_reservation_specification={
            "capacity_reservation_preference": "capacity-reservations-only",
            "capacity_reservation_target": {"capacity_reservation_id": "cr-1"},
        },
        instance_market_options={"market_type": "capacity-block"},
        metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 2},
        network_interfaces=[
            {"network_card_index": 0, "device_index": 0, "interface_type": "interface", "ipv4_prefix_count": 1},
            {"network_card_index": 1, "device_index": 0, "interface_type": "efa-only", "security_groups": ["sg-1"]},
        ],
        tag_specifications=[{"resource_type": "instance", "tags": {"Name": "gpu"}}],
    )
    assert resources(stack)["resource"] == {
        "aws_launch_template": {
            "gpu": {
                "name_prefix": "gpu-",
                "image_id": "ami-1",
                "instance_type": "p5en.48xlarge",
                "update_default_version": True,
                "block_device_mappings": [
                    {"device_name": "/dev/xvda", "ebs": {"encrypted": "true", "volume_size": 200, "volume_type": "gp3"}}
                ],
                "capacity_reservation_specification": {
                    "capacity_reservation_preference": "capacity-reservations-only",
                    "capacity_reservation_target": {"capacity_reservation_id": "cr-1"},
                },
                "instance_market_options": {"market_type": "capacity-block"},
                "metadata_options": {"http_tokens": "required", "http_put_response_hop_limit": 2},
                "network_interfaces": [
                    {"network_card_index": 0, "device_index": 0, "interface_type": "interface", "ipv4_prefix_count": 1},
                    {
                        "network_card_index": 1,
                        "device_index": 0,
                        "interface_type": "efa-only",
                        "security_groups": ["sg-1"],
                    },
                ],
                "tag_specifications": [{"resource_type": "instance", "tags": {"Name": "gpu"}}],
            }
        }
    }


def test_node_group_refers_to_its_template_and_leaves_its_size_to_the_autoscaler(stack: TerraformStack) -> None:
    template = ec2.LaunchTemplate(stack, "gpu", name="gpu")
    eks.EksNodeGroup(
        stack,
        "prefill",
        cluster_name="cell",
        node_group_name="prefill",
        node_role_arn="arn:aws:iam::123456789012:role/node",
        subnet_ids=["subnet-1"],
        ami_type="AL2023_x86_64_NVIDIA",
        capacity_type="CAPACITY_BLOCK",
        launch_template={"id": template.id, "version": template.latest_version},
        scaling_config={"min_size": 0, "max_size": 4, "desired_size": 0},
        taint=[{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
        update_config={"max_unavailable": 1, "update_strategy": "MINIMAL"},
        lifecycle=Lifecycle(create_before_destroy=True, ignore_changes=["scaling_config[0].desired_size"]),
        depends_on=[template],
    )
    assert resources(stack)["resource"]["aws_eks_node_group"]["prefill"] == {
        "cluster_name": "cell",
        "node_group_name": "prefill",
        "node_role_arn": "arn:aws:iam::123456789012:role/node",
        "subnet_ids": ["subnet-1"],
        "ami_type": "AL2023_x86_64_NVIDIA",
        "capacity_type": "CAPACITY_BLOCK",
        "launch_template": {
            "id": "${aws_launch_template.gpu.id}",
            "version": "${aws_launch_template.gpu.latest_version}",
        },
        "scaling_config": {"min_size": 0, "max_size": 4, "desired_size": 0},
        "taint": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
        "update_config": {"max_unavailable": 1, "update_strategy": "MINIMAL"},
        "lifecycle": {"create_before_destroy": True, "ignore_changes": ["scaling_config[0].desired_size"]},
        "depends_on": ["aws_launch_template.gpu"],
    }


def test_helm_provider_takes_objects_and_a_release_lists_as_version_3_wants(stack: TerraformStack) -> None:
    HelmProvider(
        stack,
        "helm",
        kubernetes={
            "host": "https://cell.eks",
            "exec": {
                "api_version": "client.authentication.k8s.io/v1",
                "command": "aws",
                "args": ["eks", "get-token", "--cluster-name", "cell"],
                "env": {"AWS_PROFILE": "prod"},
            },
        },
        registries=[{"url": "oci://registry", "username": "u", "password": "p"}],
        experiments={"manifest": True},
    )
    HelmRelease(
        stack,
        "dynamo",
        name="dynamo",
        repository="oci://nvcr.io/nvidia/ai-dynamo",
        chart="dynamo-platform",
        version="1.6.1",
        set=[{"name": "a", "value": "b"}],
        values=["replicas: 2\n"],
        timeouts={"create": "20m"},
    )
    written = resources(stack)
    assert written["provider"]["helm"] == [
        {
            "kubernetes": {
                "host": "https://cell.eks",
                "exec": {
                    "api_version": "client.authentication.k8s.io/v1",
                    "command": "aws",
                    "args": ["eks", "get-token", "--cluster-name", "cell"],
                    "env": {"AWS_PROFILE": "prod"},
                },
            },
            "registries": [{"url": "oci://registry", "username": "u", "password": "p"}],
            "experiments": {"manifest": True},
        }
    ]
    assert written["resource"]["helm_release"]["dynamo"] == {
        "name": "dynamo",
        "repository": "oci://nvcr.io/nvidia/ai-dynamo",
        "chart": "dynamo-platform",
        "version": "1.6.1",
        "set": [{"name": "a", "value": "b"}],
        "values": ["replicas: 2\n"],
        "timeouts": {"create": "20m"},
    }


def test_each_stack_asks_for_exactly_the_provider_that_its_classes_know(stack: TerraformStack) -> None:
    provider.AwsProvider(stack, "aws", region="eu-west-1")
    asked = resources(stack)["terraform"]["required_providers"]
    manifest = yaml.safe_load((TOOLS / "terraform_manifest.yaml").read_text())["packages"]["aws"]
    assert asked == {"aws": {"source": manifest["source"], "version": provider.PROVIDER.version}}
    assert provider.PROVIDER.bindings == f"{manifest['distribution']} {manifest['version']}"


# What follows reads the published bindings themselves.


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load(TOOLS / "generate_terraform.py")


@pytest.fixture(scope="module")
def packages(tool: ModuleType) -> dict[str, Any]:
    """Each package of the manifest with its opened bindings."""
    found = {}
    for name, package in yaml.safe_load(tool.MANIFEST.read_text())["packages"].items():
        try:
            wheel = tool.download(package)
        except (subprocess.CalledProcessError, OSError) as error:
            pytest.skip(f"{package['distribution']} {package['version']} cannot be downloaded here: {error}")
        found[name] = (package, tool.open_bindings(package, wheel))
    return found


@pytest.mark.slow
def test_committed_modules_are_what_the_tool_writes(tool: ModuleType, packages: dict[str, Any]) -> None:
    assert packages
    files = tool.generate()
    for name, text in files.items():
        assert (tool.TARGET / name).read_text() == text, f"{name} differs; run tools/generate_terraform.py"
    by_hand = {"__init__.py", "arguments.py", "base.py", "builtin.py", "engine.py", "skips.py"} | {
        "aws/__init__.py",
        "google/__init__.py",
    }
    there = {str(path.relative_to(tool.TARGET)) for path in tool.TARGET.rglob("*.py")}
    assert there == set(files) | by_hand


@pytest.mark.slow
def test_names_and_shapes_are_those_that_the_bindings_render(tool: ModuleType, packages: dict[str, Any]) -> None:
    """The tool reads names from documentation links; the bindings' JavaScript holds those Terraform really gets."""
    classes = {
        **{f"data {one.TERRAFORM_TYPE}": one for one in one_of_each.generated(DataSource)},
        **{one.TERRAFORM_TYPE: one for one in one_of_each.generated(Resource)},
    }
    providers = {one.PROVIDER.name: one for one in one_of_each.generated(Provider)}
    for name, (package, bindings) in packages.items():
        for wanted, options in tool.wanted_types(package).items():
            ours = providers[name] if wanted == "provider" else classes[wanted]
            script = bindings.scripts[tool.folder_of(package, wanted)]
            rendered = re.search(r"^    synthesizeAttributes\(\) \{\s+return \{(.*?)\n        \};", script, re.S | re.M)
            theirs = fields(rendered[1]) if rendered else {}
            left_out = {*options.get("omit", ()), "tags_all"} | ({"id"} - set(options.get("arguments", ())))
            within = set(options.get("omit_within", ()))
            compare(wanted, ours.ARGUMENTS, theirs, script, left_out, set(options.get("mappings", ())), within)


def fields(text: str) -> dict[str, str]:
    pairs = re.findall(r"^\s+(\w+): (.+),$", text, re.M)
    return {name: code.removeprefix("this.markWriteOnlyAttribute(") for name, code in pairs}


def compare(
    where: str,
    shape: Any,
    theirs: dict[str, str],
    script: str,
    left_out: set[str],
    mappings: set[str],
    within: set[str],
) -> None:
    types = one_of_each.own_arguments(shape)
    assert set(types) == set(theirs) - left_out, where
    for name, rendered in theirs.items():
        if name in left_out | mappings:
            continue
        type_, code = types[name], rendered
        while get_origin(type_) is Sequence and "listMapper(" in code:
            type_, code = get_args(type_)[0], code.split("listMapper(", 1)[1]
        if get_origin(type_) is Mapping:
            assert "hashMapper(" in code, f"{where}.{name}"
            continue
        assert get_origin(type_) is None and not code.startswith("cdktn.listMapper"), f"{where}.{name}"
        # In a large resource, structs are in files of their own: `(0, index_1.name)(…)`.
        function = re.match(r"(?:\(0, \w+\.)?(?:cdktn\.)?(\w+)", code)
        assert function is not None, f"{where}.{name}: {code[:80]}"
        if is_typeddict(type_):
            body = re.search(rf"^function {function[1]}\(struct\) \{{(.*?)^\}}", script, re.DOTALL | re.MULTILINE)
            assert body is not None, f"{where}.{name}"
            compare(f"{where}.{name}", type_, fields(body[1].rpartition("return {")[2]), script, within, set(), within)
        else:
            expected = {str: "stringToTerraform", bool: "booleanToTerraform", float: "numberToTerraform"}
            assert function[1] == expected.get(type_, function[1]), f"{where}.{name}"


def test_the_engine_is_not_named_outside_the_seam() -> None:
    source = HERE.parents[1] / "constructs" / "inferfab"
    for path in source.rglob("*.py"):
        if path.name != "engine.py":
            assert not re.search(r"^\s*(from|import) (cdktf|cdktn|constructs|jsii)\b", path.read_text(), re.M), path
