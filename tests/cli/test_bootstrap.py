"""`inferfab bootstrap`: a stack that makes the state bucket, what it prints, and that no state is ever lost by it.

Sources: Terraform docs, backend types local and s3 (use_lockfile, kms_key_id), `terraform init -migrate-state`.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferfab.synthesis import SynthesisError, write_app
from inferfab.terraform import TerraformStack, stack_backend_local
from inferfab.terraform.builtin import TerraformData

ROOT = Path(__file__).resolve().parents[2]
DEV = Path("cdktf.out/bootstrap/dev/stacks/dev-bootstrap")
PROD = Path("cdktf.out/bootstrap/prod/stacks/prod-bootstrap")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the shipped environments."""
    monkeypatch.chdir(tmp_path)
    Path("environments").mkdir()
    for file in (ROOT / "environments").glob("*.yaml"):
        Path("environments", file.name).write_bytes(file.read_bytes())
    return tmp_path


def written(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "cdk.tf.json").read_text(encoding="utf-8"))
    return document


def edited(name: str, *changes: tuple[str, str]) -> None:
    """Change the text of an environment."""
    path = Path("environments", f"{name}.yaml")
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def test_it_makes_the_bucket_and_key_that_every_stack_names(run: Run) -> None:
    """Bucket, alias and region are those of the other stacks' backends."""
    assert run("bootstrap", "prod")[0] == 0
    assert run("synth", "prod")[0] == 0
    made = written(PROD)["resource"]
    (bucket,), (alias,) = made["aws_s3_bucket"].values(), made["aws_kms_alias"].values()
    stacks = sorted(Path("cdktf.out/stacks").iterdir())
    # Two regions, three stacks for each of three cells, and the global one.
    assert len(stacks) == 12
    for stack in stacks:
        backend = written(stack)["terraform"]["backend"]["s3"]
        assert (backend["bucket"], backend["kms_key_id"]) == (bucket["bucket"], alias["name"])
        assert backend["region"] == written(PROD)["provider"]["aws"][0]["region"]
        assert backend["use_lockfile"] is True and backend["encrypt"] is True
        assert backend["key"] == f"inferfab/prod/{stack.name}.tfstate"


def test_its_state_begins_in_a_file_beside_it(run: Run, tmp_path: Path) -> None:
    """A relative path; and nothing in the folder knows where on the machine it is."""
    run("bootstrap", "prod")
    assert written(PROD)["terraform"]["backend"] == {"local": {"path": "prod-bootstrap.tfstate"}}
    for file in Path("cdktf.out").rglob("*"):
        assert not file.is_file() or str(tmp_path) not in file.read_text(encoding="utf-8")


def test_its_state_moves_into_the_bucket(run: Run) -> None:
    """The same resources, with the backend of every other stack."""
    run("bootstrap", "prod")
    before = written(PROD)
    said = run("bootstrap", "prod", "--in-bucket")[1]
    after = written(PROD)
    assert after["resource"] == before["resource"]
    assert after["terraform"]["backend"] == {
        "s3": {
            "bucket": "inferfab-state-111122223333-prod",
            "encrypt": True,
            "key": "inferfab/prod/prod-bootstrap.tfstate",
            "kms_key_id": "alias/prod-state",
            "region": "us-east-1",
            "use_lockfile": True,
        }
    }
    assert [line.strip() for line in said.splitlines() if line.startswith(" ")] == [
        f"terraform -chdir={PROD} init -migrate-state",
        f"terraform -chdir={PROD} init",
        f"terraform -chdir={PROD} plan",
        f"rm -f {PROD}/prod-bootstrap.tfstate",
    ]


@pytest.mark.parametrize(("name", "protected"), [("prod", True), ("dev", False)])
def test_a_protected_environment_keeps_bucket_and_key(run: Run, name: str, protected: bool) -> None:
    """`protected: false` may be destroyed again, like everything else of it."""
    run("bootstrap", name, "--out", "made")
    made = written(Path("made/stacks", f"{name}-bootstrap"))["resource"]
    for type_ in ("aws_s3_bucket", "aws_kms_key"):
        (one,) = made[type_].values()
        assert one["lifecycle"] == {"prevent_destroy": protected}


def test_what_it_prints(run: Run) -> None:
    """Every command in order; spot's role is missing, for dev buys none."""
    assert run("bootstrap", "dev") == (
        0,
        f"""\
wrote {DEV}: bucket inferfab-state-111122223333-dev and key alias/dev-state in us-east-1

1. Make them, with credentials of account 111122223333 that may make buckets and keys:
   terraform -chdir={DEV} init
   terraform -chdir={DEV} apply
2. Move the state of this stack into the bucket that it made; say yes when Terraform asks to copy it:
   inferfab bootstrap dev --in-bucket
   terraform -chdir={DEV} init -migrate-state
3. Once in the account, for what starts nodes ("has been taken in this account": it is there already):
   aws iam create-service-linked-role --aws-service-name autoscaling.amazonaws.com

Until step 2 is done, {DEV}/dev-bootstrap.tfstate is the only copy of that state.
Where the bucket is there already, only: inferfab bootstrap dev --in-bucket
With OpenTofu: `tofu` for `terraform`.
""",
        "",
    )


def test_spot_needs_a_second_service_linked_role(run: Run) -> None:
    """prod's batch pool is spot; KMS refuses a key policy that names a role which is not there."""
    said = run("bootstrap", "prod")[1]
    assert re.findall(r"--aws-service-name (\S+)", said) == ["autoscaling.amazonaws.com", "spot.amazonaws.com"]


def test_the_second_step_repeats_the_first_ones_folder(run: Run) -> None:
    """Also one with a space, in quotes."""
    said = run("bootstrap", "environments/dev.yaml", "--out", "my folder")[1]
    assert "inferfab bootstrap environments/dev.yaml --out 'my folder' --in-bucket\n" in said
    assert "terraform '-chdir=my folder" in said or "terraform -chdir='my folder/" in said


def test_without_aws_there_is_no_bucket_to_make(run: Run) -> None:
    """Explained, and nothing is written."""
    code, out, err = run("bootstrap", "prod-gcp")
    assert (code, out) == (1, "")
    assert "prod-gcp has no state bucket to make: state lives in S3" in err
    assert not Path("cdktf.out").exists()


def test_somebody_elses_bucket_is_left_alone(run: Run) -> None:
    """Its owner decides on its key: no stack names ours, and none overrules its default encryption."""
    edited("prod", ("bucket: inferfab-state-111122223333-prod", "bucket: company-terraform-state"))
    code, out, err = run("bootstrap", "prod")
    assert (code, out) == (1, "")
    assert "keeps its state in company-terraform-state" in err
    assert "name inferfab-state-111122223333-prod there" in err
    assert not Path("cdktf.out").exists()
    run("synth", "prod")
    assert written(Path("cdktf.out/stacks/prod-global"))["terraform"]["backend"] == {
        "s3": {
            "bucket": "company-terraform-state",
            "key": "inferfab/prod/prod-global.tfstate",
            "region": "us-east-1",
            "use_lockfile": True,
        }
    }


def test_a_broken_environment_writes_nothing(run: Run) -> None:
    """The findings, and exit code 1."""
    edited("dev", ("g6e.xlarge", "g6e.nothing"))
    code, out, err = run("bootstrap", "dev")
    assert (code, out) == (1, "")
    assert "g6e.nothing" in err
    assert not Path("cdktf.out").exists()


def test_a_folder_of_something_else_is_not_touched(run: Run) -> None:
    Path("made").mkdir()
    Path("made/notes").write_text("mine", encoding="utf-8")
    code, _, err = run("bootstrap", "dev", "--out", "made")
    assert code == 1
    assert "made holds files that are not an earlier output of this command" in err
    assert [path.name for path in Path("made").iterdir()] == ["notes"]


def test_twice_gives_the_same_bytes(run: Run) -> None:
    run("bootstrap", "prod")
    first = {p: p.read_bytes() for p in Path("cdktf.out").rglob("*") if p.is_file()}
    run("bootstrap", "prod")
    assert first == {p: p.read_bytes() for p in Path("cdktf.out").rglob("*") if p.is_file()}


def test_state_outlives_every_further_command(run: Run) -> None:
    """What `apply` wrote before the state moved is kept by bootstrap again, by synth, and by synth once more."""
    run("bootstrap", "dev")
    kept = {
        DEV / "dev-bootstrap.tfstate": "the only copy",
        DEV / "dev-bootstrap.tfstate.backup": "the one before",
        DEV / ".terraform" / "terraform.tfstate": "the backend",
        DEV / ".terraform.lock.hcl": "checksums",
    }
    for path, text in kept.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    commands = (("bootstrap", "dev", "--in-bucket"), ("bootstrap", "prod"), ("synth", "dev"), ("synth", "prod"))
    for command in commands:
        assert run(*command)[0] == 0, command
        assert {path: path.read_text(encoding="utf-8") for path in kept} == kept, command
    assert sorted(path.name for path in Path("cdktf.out").iterdir()) == ["bootstrap", "manifest.json", "stacks"]
    assert [path.name for path in Path().iterdir() if path.name.startswith(".")] == []


def _one(name: str) -> Callable[[Any], tuple[str, ...]]:
    def build(app: Any) -> tuple[str, ...]:
        stack = TerraformStack(app, name)
        stack_backend_local(stack, f"{name}.tfstate")
        TerraformData(stack, "kept", input="x")
        return (name,)

    return build


def test_a_state_whose_stack_is_gone_is_not_deleted(work: Path) -> None:
    """The folder stays as it is, and the message names the stack."""
    write_app(_one("first"), work / "out")
    state = work / "out/stacks/first/first.tfstate"
    state.write_text("{}", encoding="utf-8")
    with pytest.raises(SynthesisError, match=r"stacks/first/first\.tfstate: Terraform's state of a stack"):
        write_app(_one("second"), work / "out")
    assert state.read_text(encoding="utf-8") == "{}"
    assert sorted(path.name for path in work.iterdir()) == ["environments", "out"]
    state.unlink()
    write_app(_one("second"), work / "out")
    assert [path.name for path in (work / "out/stacks").iterdir()] == ["second"]


def test_what_cannot_be_kept_is_not_deleted_either(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When moving what Terraform left fails half way, the earlier output stays beside, and the message says where."""
    write_app(_one("first"), work / "out")
    (work / "out/stacks/first/first.tfstate").write_text("{}", encoding="utf-8")
    replace = Path.replace

    def broken(self: Path, target: Path) -> Path:
        if self.suffix == ".tfstate":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(SynthesisError, match=r"No space left on device.*the rest is in .*\.out\.earlier\."):
        write_app(_one("first"), work / "out")
    (aside,) = work.glob(".out.earlier.*")
    assert (aside / "stacks/first/first.tfstate").read_text(encoding="utf-8") == "{}"
