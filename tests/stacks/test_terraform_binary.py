"""What a terraform or tofu on the machine says of the stacks without any provider.

It reads each stack whole: JSON, blocks, lifecycles, what may refer to what is then refused only for the provider that
is missing. And it plans a copy in which every resource is a ``terraform_data``, which is built in: every reference
meets something, every expression is one, and nothing waits for itself.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from synthesized import ALL, Document, stacks

PROGRAM = shutil.which("terraform") or shutil.which("tofu")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="neither terraform nor tofu is on this machine"),
]
EACH = [pytest.param(name, stack, id=stack) for name in ALL for stack in stacks(name)]
ANYTHING = "${jsondecode(terraform_data.seed.id)}"
"""A value whose very type is known only after an apply: every attribute of it may be asked for."""
_ADDRESS = re.compile(r"\b(data\.)?((?:aws|helm)_[a-z0-9_]+)\.([A-Za-z0-9_-]+)")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Without the user's settings, the network, or a question."""
    settings = folder / "settings.tfrc"
    settings.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{folder}"\n  }}\n}}\n')
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "AWS_"))}
    quiet = {"TF_CLI_CONFIG_FILE": str(settings), "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
    return subprocess.run(
        [str(PROGRAM), f"-chdir={folder}", *words], env={**kept, **quiet}, capture_output=True, text=True, check=False
    )


def errors(folder: Path, document: Any) -> list[dict[str, Any]]:
    """What `validate` finds in a stack that was never initialized."""
    (folder / "cdk.tf.json").write_text(json.dumps(document))
    found: list[dict[str, Any]] = json.loads(run(folder, "validate", "-json").stdout)["diagnostics"]
    return found


@pytest.mark.parametrize(("name", "stack"), EACH)
def test_a_stack_lacks_nothing_but_its_providers(name: str, stack: str, tmp_path: Path) -> None:
    """The one thing that is wrong with it here is that AWS's or Helm's provider is not there."""
    found = errors(tmp_path, stacks(name)[stack])
    assert {error["summary"] for error in found} <= {"Missing required provider"}
    missing = " ".join(error["detail"] for error in found)
    for provider in stacks(name)[stack]["terraform"]["required_providers"].values():
        assert provider["source"] in missing


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"terraform": {"backend": {"s3": {}, "local": {}}}}, "uplicate"),
        ({"moved": [{"from": "${aws_vpc.a}", "to": "aws_vpc.b"}]}, "Invalid"),
        ({"resource": {"aws_vpc": {"v": {"lifecycle": {"prevent_destroy": "${x}"}}}}}, "nsuitable value"),
        ({"resources": {}}, "Extraneous JSON object property"),
    ],
)
def test_terraform_would_say_so(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    """The test above can fail: a broken stack gets another error than the missing provider."""
    broken = {**stacks("dev")["dev-use1-a-foundation"], **change}
    assert any(says in f"{error['summary']} {error['detail']}" for error in errors(tmp_path, broken))


def without_providers(document: Document) -> dict[str, Any]:
    """The stack with a ``terraform_data`` for each resource and data source, which holds its arguments as they are."""

    def stand_in(match: re.Match[str]) -> str:
        data, type_, logical_id = match[1] or "", match[2], match[3]
        return f"terraform_data.{data.replace('.', '-')}{type_}-{logical_id}"

    def rewritten(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: rewritten(one) for key, one in value.items()}
        if isinstance(value, list):
            return [rewritten(one) for one in value]
        if isinstance(value, str):
            # An attribute of the real one becomes one of the stand-in's output, which may be anything (see the seed).
            return re.sub(r"\$\{[^}]*\}", lambda t: _ADDRESS.sub(lambda m: f"{stand_in(m)}.output", t[0]), value)
        return value

    made: dict[str, Any] = {"seed": {}}
    for kind, prefix in (("resource", ""), ("data", "data-")):
        for type_, members in document.get(kind, {}).items():
            for logical_id, body in members.items():
                waits = [_ADDRESS.sub(stand_in, wait) for wait in body.get("depends_on", ())]
                own = {
                    k: rewritten(v) for k, v in body.items() if k not in {"//", "depends_on", "lifecycle", "provider"}
                }
                made[f"{prefix}{type_}-{logical_id}"] = {
                    "input": ANYTHING,
                    "triggers_replace": own,
                    "depends_on": waits,
                }
    outputs = {k: {**v, "value": rewritten(v["value"])} for k, v in document.get("output", {}).items()}
    return {"resource": {"terraform_data": made}} | ({"output": outputs} if outputs else {})


def planned(folder: Path, document: Any) -> subprocess.CompletedProcess[str]:
    (folder / "cdk.tf.json").write_text(json.dumps(document))
    begun = run(folder, "init", "-input=false", "-no-color")
    assert begun.returncode == 0, begun.stderr
    return run(folder, "plan", "-input=false", "-no-color", "-lock=false")


@pytest.mark.parametrize(("name", "stack"), EACH)
def test_every_reference_meets_something_and_nothing_waits_for_itself(name: str, stack: str, tmp_path: Path) -> None:
    """A plan of the stack with stand-ins counts every resource and data source."""
    document = stacks(name)[stack]
    count = sum(len(by_name) for kind in ("resource", "data") for by_name in document.get(kind, {}).values())
    done = planned(tmp_path, without_providers(document))
    assert done.returncode == 0, done.stderr
    assert f"Plan: {count + 1} to add, 0 to change, 0 to destroy." in done.stdout


def test_a_plan_with_stand_ins_finds_a_dangling_reference_and_a_circle(tmp_path: Path) -> None:
    """Both are what the test above is for."""
    loose = {"resource": {"aws_vpc": {"a": {"tags": {"Name": "${aws_vpc.gone.id}"}}}}}
    circle = {"resource": {"aws_vpc": {"a": {"x": "${aws_vpc.b.id}"}, "b": {"depends_on": ["aws_vpc.a"]}}}}
    for number, (document, says) in enumerate(((loose, "undeclared resource"), (circle, "Cycle"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = planned(folder, without_providers(document))
        assert done.returncode == 1
        assert says in done.stderr


def test_the_backend_takes_every_setting(tmp_path: Path) -> None:
    """`init` with the stack's own backend gets as far as asking AWS: no setting is unknown or malformed."""
    backend = dict(stacks("prod")["prod-global"]["terraform"]["backend"]["s3"])
    # Nothing listens there: what is proved is what terraform says before.
    nowhere = {"s3": "http://127.0.0.1:9", "sts": "http://127.0.0.1:9"}
    unasked = {
        "endpoints": nowhere, "access_key": "none", "secret_key": "none", "max_retries": 0, "use_path_style": True,
        "skip_credentials_validation": True, "skip_requesting_account_id": True, "skip_metadata_api_check": True,
    }  # fmt: skip
    (tmp_path / "cdk.tf.json").write_text(json.dumps({"terraform": {"backend": {"s3": {**backend, **unasked}}}}))
    done = run(tmp_path, "init", "-input=false", "-no-color")
    assert done.returncode == 1
    assert "connection refused" in done.stderr, done.stderr
    assert "Unsupported" not in done.stderr and "Invalid" not in done.stderr
