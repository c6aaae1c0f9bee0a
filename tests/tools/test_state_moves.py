"""The steps that `inferfab bootstrap` prints, done: a state moves from its stack's folder into a bucket, and is locked.

Real Terraform and its real S3 backend; the bucket is moto's, on loopback. The stack holds `terraform_data` in place of
the bucket itself, which would need the AWS provider.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from moto_tool import tool

from inferfab.synthesis import write_app
from inferfab.terraform import TerraformStack, stack_backend_local, stack_backend_s3
from inferfab.terraform.builtin import TerraformData

ROOT = Path(__file__).resolve().parents[2]
BUCKET = "inferfab-state-111122223333-prod"
KEY = "inferfab/prod/prod-bootstrap.tfstate"
MAKE_BUCKET = f"""
import sys, boto3
session = boto3.Session(aws_access_key_id="moto", aws_secret_access_key="moto", region_name="us-east-1")
session.client("s3", endpoint_url=sys.argv[1]).create_bucket(Bucket="{BUCKET}")
kms = session.client("kms", endpoint_url=sys.argv[1])
kms.create_alias(AliasName="alias/prod-state", TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
"""
READ = f"""
import sys, boto3
session = boto3.Session(aws_access_key_id="moto", aws_secret_access_key="moto", region_name="us-east-1")
s3 = session.client("s3", endpoint_url=sys.argv[1])
print([one["Key"] for one in s3.list_objects_v2(Bucket="{BUCKET}")["Contents"]])
found = s3.get_object(Bucket="{BUCKET}", Key="{KEY}")
print(found["ServerSideEncryption"], found["SSEKMSKeyId"])
print(found["Body"].read().decode())
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Path:
    try:
        found: Path = tool.moto_server(None)
    except tool.Missing as missing:
        pytest.skip(str(missing))
    return found


@pytest.fixture
def endpoint(server: Path, tmp_path: Path) -> Iterator[str]:
    with tool.moto(server, "111122223333", tmp_path / "moto.log") as address:
        yield address


@pytest.fixture
def terraform(tmp_path: Path, endpoint: str) -> Callable[..., str]:
    program = shutil.which("terraform") or shutil.which("tofu")
    if program is None:
        pytest.skip("neither terraform nor tofu is on this machine")
    (tmp_path / "terraform.rc").write_text(tool.cli_config(None))
    env = tool.environment(tmp_path, endpoint) | {"AWS_ACCESS_KEY_ID": "moto", "AWS_SECRET_ACCESS_KEY": "moto"}

    def of(*words: str, answer: str = "") -> str:
        folder = tmp_path / "out" / "stacks" / "prod-bootstrap"
        done = subprocess.run(
            [program, f"-chdir={folder}", *words], input=answer, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return of


def _build(*, in_bucket: bool) -> Callable[[Any], tuple[str, ...]]:
    def build(app: Any) -> tuple[str, ...]:
        stack = TerraformStack(app, "prod-bootstrap")
        if in_bucket:
            stack_backend_s3(stack, bucket=BUCKET, key=KEY, region="us-east-1", kms_key_id="alias/prod-state")
            # moto knows no bucket by its host name.
            stack.add_override("terraform.backend.s3.use_path_style", True)
        else:
            stack_backend_local(stack, "prod-bootstrap.tfstate")
        TerraformData(stack, "kept", input="a value")
        return ("prod-bootstrap",)

    return build


def test_a_state_moves_into_the_bucket(
    terraform: Callable[..., str], server: Path, endpoint: str, tmp_path: Path
) -> None:
    """init, apply, synthesize again, init -migrate-state, yes: the state is in the bucket, encrypted with the key."""
    python = str(server.parent / "python")
    write_app(_build(in_bucket=False), tmp_path / "out")
    terraform("init", "-input=false")
    terraform("apply", "-auto-approve", "-input=false")
    local = tmp_path / "out/stacks/prod-bootstrap/prod-bootstrap.tfstate"
    made = json.loads(local.read_text())["resources"]
    subprocess.run([python, "-c", MAKE_BUCKET, endpoint], check=True)

    write_app(_build(in_bucket=True), tmp_path / "out")
    assert json.loads(local.read_text())["resources"] == made
    terraform("init", "-migrate-state", answer="yes\n")

    read = subprocess.run([python, "-c", READ, endpoint], check=True, capture_output=True, text=True).stdout
    keys, encryption, state = read.split("\n", 2)
    assert keys == f"['{KEY}']"  # and no lock is left
    assert encryption.startswith("aws:kms ")
    assert json.loads(state)["resources"] == made
    # Terraform leaves the file as it was; `bootstrap --in-bucket` says that it may go.
    assert json.loads(local.read_text())["resources"] == made
    local.unlink()
    assert "No changes." in terraform("plan", "-input=false")
    assert f"PUT /{BUCKET}/{KEY}.tflock" in (tmp_path / "moto.log").read_text()

    # A new checkout finds it.
    shutil.rmtree(tmp_path / "out")
    write_app(_build(in_bucket=True), tmp_path / "out")
    terraform("init", "-input=false")
    assert "No changes." in terraform("plan", "-input=false")
    # And back, as the end of an environment does it.
    write_app(_build(in_bucket=False), tmp_path / "out")
    terraform("init", "-migrate-state", answer="yes\n")
    assert json.loads(local.read_text())["resources"] == made


def test_two_runs_at_once_are_kept_apart(
    terraform: Callable[..., str], server: Path, endpoint: str, tmp_path: Path
) -> None:
    """A lock of somebody else stops the second run: the object <key>.tflock is written only where there is none."""
    python = str(server.parent / "python")
    subprocess.run([python, "-c", MAKE_BUCKET, endpoint], check=True)
    write_app(_build(in_bucket=True), tmp_path / "out")
    terraform("init", "-input=false")
    lock = (
        "import sys, boto3\n"
        "session = boto3.Session(aws_access_key_id='moto', aws_secret_access_key='moto', region_name='us-east-1')\n"
        "session.client('s3', endpoint_url=sys.argv[1]).put_object("
        f'Bucket=\'{BUCKET}\', Key=\'{KEY}.tflock\', Body=b\'{{"ID": "held", "Who": "somebody"}}\')\n'
    )
    subprocess.run([python, "-c", lock, endpoint], check=True)
    with pytest.raises(AssertionError, match="Error acquiring the state lock"):
        terraform("plan", "-input=false")
