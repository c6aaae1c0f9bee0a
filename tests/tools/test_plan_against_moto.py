"""Planning with real providers against moto: what can be proved of it without a provider on the machine.

Sources: Terraform docs, CLI configuration (provider_installation, filesystem_mirror), override files; AWS provider
docs, custom service endpoints; layout of `terraform providers mirror`.
"""

import json
import os
import shutil
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from moto_tool import tool

from inferfab.terraform import TerraformStack, new_app, stack_backend_local
from inferfab.terraform.aws.provider import AwsProvider
from inferfab.terraform.aws.vpc import Vpc
from inferfab.terraform.builtin import TerraformData

ROOT = Path(__file__).resolve().parents[2]
LINUX = "linux_amd64"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux on x86, and nothing set by whoever runs the tests."""
    monkeypatch.setattr(tool, "platform_name", lambda: LINUX)
    monkeypatch.delenv("TF_PROVIDER_MIRROR", raising=False)


@pytest.fixture
def stacks(tmp_path: Path) -> dict[str, Path]:
    """One stack that needs no provider, one that needs AWS."""
    app = new_app(str(tmp_path / "out"))
    plain = TerraformStack(app, "plain")
    stack_backend_local(plain, "plain.tfstate")
    TerraformData(plain, "kept", input="a value")
    aws = TerraformStack(app, "aws")
    stack_backend_local(aws, "aws.tfstate")
    AwsProvider(aws, "aws", region="us-east-1", allowed_account_ids=["111122223333"])
    Vpc(aws, "vpc", cidr_block="10.0.0.0/16")
    app.synth()
    return {name: tmp_path / "out" / "stacks" / name for name in ("plain", "aws")}


@pytest.fixture
def terraform() -> str:
    found = shutil.which("terraform") or shutil.which("tofu")
    if found is None:
        pytest.skip("neither terraform nor tofu is on this machine")
    return found


@pytest.fixture
def moto() -> Path:
    try:
        found: Path = tool.moto_server(None)
    except tool.Missing as missing:
        pytest.skip(str(missing))
    return found


def program(folder: Path, name: str) -> str:
    """A program that does nothing."""
    path = folder / name
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)
    return str(path)


def without_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("MOTO_SERVER", "no-such-moto")


def test_all_that_is_missing_is_said_at_once(
    stacks: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3; Terraform, the provider with its version and platform, and moto, each with how to get it."""
    without_programs(monkeypatch, tmp_path)
    assert tool.main([str(stacks["aws"])]) == 3
    said = capsys.readouterr().err
    assert "terraform or tofu: not found" in said
    assert "provider hashicorp/aws 6.69.1 (linux_amd64): no mirror was named" in said
    assert f"terraform -chdir={stacks['aws']} providers mirror -platform=linux_amd64 DIR" in said
    assert "--mirror or TF_PROVIDER_MIRROR" in said
    assert "no-such-moto: not found; `make moto`" in said


def test_a_mirror_without_the_version_is_named(
    stacks: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another version, or another platform, is not what the stack pins."""
    mirror = tmp_path / "mirror"
    folder = mirror / "registry.terraform.io/hashicorp/aws"
    folder.mkdir(parents=True)
    (folder / "terraform-provider-aws_6.68.0_linux_amd64.zip").touch()
    (folder / "terraform-provider-aws_6.69.1_darwin_arm64.zip").touch()
    terraform, server = program(tmp_path, "terraform"), program(tmp_path, "moto_server")
    words = [str(stacks["aws"]), "--mirror", str(mirror), "--terraform", terraform, "--moto", server]
    assert tool.main(words) == 3
    assert "registry.terraform.io/hashicorp/aws/terraform-provider-aws_6.69.1_linux_amd64.zip" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("binary", "file"),
    [
        ("terraform", "registry.terraform.io/hashicorp/aws/terraform-provider-aws_6.69.1_linux_amd64.zip"),
        ("terraform", "registry.terraform.io/hashicorp/aws/6.69.1/linux_amd64/terraform-provider-aws_v6.69.1_x5"),
        ("tofu", "registry.opentofu.org/hashicorp/aws/terraform-provider-aws_6.69.1_linux_amd64.zip"),
    ],
)
def test_both_layouts_of_a_mirror_count(stacks: dict[str, Path], tmp_path: Path, binary: str, file: str) -> None:
    """Packed and unpacked; OpenTofu looks under its own registry's name."""
    (tmp_path / "mirror" / file).parent.mkdir(parents=True)
    (tmp_path / "mirror" / file).touch()
    stack = tool.read_stack(stacks["aws"])
    tool.check_mirror([stack], tmp_path / "mirror", Path(binary))
    other = "tofu" if binary == "terraform" else "terraform"
    with pytest.raises(tool.Missing, match=r"hashicorp/aws 6\.69\.1"):
        tool.check_mirror([stack], tmp_path / "mirror", Path(other))


def test_what_is_no_stack_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main([str(tmp_path)]) == 1
    assert "is not the folder of a synthesized stack" in capsys.readouterr().err


def test_providers_come_from_the_mirror_only(tmp_path: Path) -> None:
    """One installation method, the mirror; without a mirror none that has anything."""
    assert tool.cli_config(tmp_path) == (
        "disable_checkpoint = true\n\nprovider_installation {\n"
        f'  filesystem_mirror {{\n    path = "{tmp_path}"\n  }}\n}}\n'
    )
    assert 'exclude = ["*/*/*"]' in tool.cli_config(None)


def test_the_copy_talks_to_moto_alone(stacks: dict[str, Path], tmp_path: Path) -> None:
    """Local backend, false credentials, and every service of our classes at 127.0.0.1; the account is still checked."""
    (stacks["aws"] / ".terraform").mkdir()
    (stacks["aws"] / "aws.tfstate").write_text("{}")
    copy = tool.copied(tool.read_stack(stacks["aws"]), tmp_path / "work", "http://127.0.0.1:5000")
    assert sorted(path.name for path in copy.iterdir()) == ["cdk.tf.json", "moto_override.tf.json"]
    assert not (stacks["aws"] / "moto_override.tf.json").exists()
    written = json.loads((copy / "moto_override.tf.json").read_text())
    assert written["terraform"] == {"backend": {"local": {"path": "moto.tfstate"}}}
    (provider,) = written["provider"]["aws"]
    (endpoints,) = provider.pop("endpoints")
    assert set(endpoints.values()) == {"http://127.0.0.1:5000"}
    assert provider == {
        "access_key": "moto",
        "secret_key": "moto",
        "s3_use_path_style": True,
        "skip_metadata_api_check": "true",
        "skip_region_validation": True,
    }


def test_every_service_of_our_classes_has_an_endpoint() -> None:
    """A module a service; VPC is part of EC2, and two modules hold a second service each."""
    modules = {path.stem for path in (ROOT / "constructs/inferfab/terraform/aws").glob("*.py")}
    reached = modules - {"__init__", "provider", "vpc"} | {"ec2", "logs", "autoscaling"}
    assert set(tool.SERVICES) == reached


def test_nobodys_credentials_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS_ and TF_ variables of the caller stay out."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "TF_VAR_x", "TF_CLI_ARGS", "TF_WORKSPACE"):
        monkeypatch.setenv(name, "mine")
    given: dict[str, str] = tool.environment(tmp_path, "http://127.0.0.1:5000")
    assert "mine" not in {value for name, value in given.items() if name.startswith(("AWS_", "TF_"))}
    assert given["AWS_ENDPOINT_URL"] == "http://127.0.0.1:5000"
    assert given["AWS_EC2_METADATA_DISABLED"] == "true"


def test_a_stack_without_providers_is_planned(
    terraform: str, stacks: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole machinery with the real Terraform: init, validate, plan, and a count against the JSON."""
    assert tool.main([str(stacks["plain"]), "--terraform", terraform, "--keep", str(tmp_path / "kept")]) == 0
    assert capsys.readouterr().out == "plain: valid; the plan creates all 1 resources\n"
    assert (tmp_path / "kept" / "plain" / "moto.plan").is_file()
    assert not (stacks["plain"] / ".terraform").exists()


def test_what_terraform_refuses_is_shown(
    terraform: str, stacks: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, and Terraform's own words."""
    path = stacks["plain"] / "cdk.tf.json"
    document: dict[str, Any] = json.loads(path.read_text())
    document["resource"]["terraform_data"]["kept"]["no_such_argument"] = 1
    path.write_text(json.dumps(document))
    assert tool.main([str(stacks["plain"]), "--terraform", terraform]) == 1
    said = capsys.readouterr().err
    assert "plain: " in said and "no_such_argument" in said


def test_stacks_of_two_accounts_are_refused(
    stacks: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One moto plays one account."""
    other = tmp_path / "other"
    shutil.copytree(stacks["aws"], other)
    path = other / "cdk.tf.json"
    path.write_text(path.read_text().replace("111122223333", "123456789012"))
    assert tool.main([str(stacks["aws"]), str(other)]) == 1
    assert "stacks of several accounts (111122223333, 123456789012)" in capsys.readouterr().err


def test_a_moto_that_dies_is_reported(tmp_path: Path) -> None:
    with (
        pytest.raises(tool.Failed, match=r"moto does not answer on 127\.0\.0\.1"),
        tool.moto(Path(program(tmp_path, "moto_server")), "111122223333", tmp_path / "moto.log"),
    ):
        pass


@pytest.mark.slow
def test_moto_answers_and_has_what_stacks_look_up(moto: Path, tmp_path: Path) -> None:
    """On loopback, as the account that the stacks demand, with load balancers and zones by the names they ask for."""
    document = {
        "data": {
            "aws_lb": {"a": {"name": "prod-use1-a", "region": "us-east-1"}},
            "aws_route53_zone": {"z": {"name": "llm.example.com"}},
        }
    }
    with tool.moto(moto, "111122223333", tmp_path / "moto.log") as endpoint:
        assert endpoint.startswith("http://127.0.0.1:")
        tool.seed(moto, endpoint, [tool.Stack(tmp_path, document)])
        with urllib.request.urlopen(f"{endpoint}/moto-api/data.json", timeout=30) as answer:
            held = json.load(answer)
    assert [one["name"] for one in held["elbv2"]["FakeLoadBalancer"]] == ["prod-use1-a"]
    assert ":111122223333:" in held["elbv2"]["FakeLoadBalancer"][0]["arn"]
    assert [one["name"] for one in held["route53"]["FakeZone"]] == ["llm.example.com."]


@pytest.mark.slow
def test_real_providers_plan_what_we_synthesize(
    terraform: str, moto: Path, stacks: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where TF_PROVIDER_MIRROR has the pinned AWS provider."""
    mirror = os.environ.get("INFERFAB_TEST_MIRROR")
    if not mirror:
        pytest.skip("no provider binaries: set INFERFAB_TEST_MIRROR to a folder of `terraform providers mirror`")
    assert tool.main([str(stacks["aws"]), "--terraform", terraform, "--mirror", mirror]) == 0
    assert "the plan creates all 1 resources" in capsys.readouterr().out
