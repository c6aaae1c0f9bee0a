"""Which files are plans: every encoding and wrapper, and what to run instead where a file is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from inferfab.review import BadPlan
from inferfab.review.json_sections import JsonObject
from inferfab.review.terraform_plan import read_terraform_plan
from review.conftest import Run
from review.plans import NO_SHARED, SHARED, change, plan, report_of, written

PLAN = plan(change("aws_sns_topic.t", "delete", {"name": "t"}, None))
TEXT = json.dumps(PLAN)


def read(folder: Path, data: bytes) -> Any:
    path = folder / "p.json"
    path.write_bytes(data)
    return read_terraform_plan(path, "p")


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
        json.dumps(PLAN, indent=4).encode("utf-16"),
        f"[command]/usr/bin/terraform show -json tfplan\n{TEXT}\n\n::debug::exitcode: 0\n".encode(),
        f'{{"level":"info"}}\n{{"@level":"info","@message":"x"}}\n  {TEXT}'.encode(),
        f"{TEXT}\n".replace("\n", "\r\n").encode(),
    ],
    ids=["utf-8", "mark", "utf-16", "utf-16-be", "le-no-mark", "be-no-mark", "pretty-16", "wrapper", "logs", "crlf"],
)  # fmt: skip
def test_a_plan_is_found(data: bytes, tmp_path: Path) -> None:
    assert [c.address for c in read(tmp_path, data).changes] == ["aws_sns_topic.t"]


@pytest.mark.parametrize("version", ["0.1", "0.2", "1.0", "1.2", "1.99"])
def test_versions_that_are_read(version: str, tmp_path: Path) -> None:
    """Unknown fields of a newer minor version change nothing."""
    document = {**PLAN, "format_version": version, "brand_new": {"a": [1]}}
    document["resource_changes"][0]["brand_new"] = 1
    assert len(read(tmp_path, json.dumps(document).encode()).changes) == 1


STATE = {"format_version": "1.0", "terraform_version": "1.5.0", "values": {"root_module": {}}}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"\0\0\0", "is empty"),
        (b"PK\x03\x04rest", "binary plan"),
        (b"Terraform will perform the following actions:\n", "plan as text"),
        (b"No changes. Your infrastructure matches", "plan as text"),
        ("╷\n│ Error: Invalid reference\n".encode(), "error message of Terraform"),
        (b"hello", "holds no JSON"),
        (TEXT[:-20].encode(), "not whole JSON"),
        (TEXT[:40].encode(), "not whole JSON"),
        (json.dumps(PLAN, indent=1)[:-30].encode(), "not whole JSON"),
        (json.dumps({**PLAN, "format_version": "2.0"}).encode(), "use a newer inferfab"),
        (json.dumps({**PLAN, "format_version": 1}).encode(), "format_version that is none"),
        (json.dumps(STATE).encode(), "is a state, not a plan"),
        (b'{"@level":"info","@message":"Terraform 1.11"}\n', "log of `terraform plan -json`"),
        (b'{"plan_version": 1}', "FleetPlan"),
        (b'{"resource": {}, "terraform": {}}', "configuration in JSON"),
        (b'{"version": 4, "terraform_version": "1.5", "lineage": "x"}', "state file"),
        (b'{"a": 1}', "no `format_version`"),
        (b'{"format_version": "1.0", "provider_schemas": {}}', "provider schemas"),
        (b"\xff\xfe\xff", "not text in UTF-8 or UTF-16"),
        (b"\x80abc", "not text in UTF-8 or UTF-16"),
        (b'{"format_version": "1.2", "resource_changes": ' + b"[" * 100_000, "nested deeper"),
        (json.dumps({**PLAN, "resource_changes": {}}).encode(), "is not a list"),
        (json.dumps({**PLAN, "resource_changes": [1]}).encode(), "not an object"),
        (json.dumps({**PLAN, "resource_changes": [{"address": "a.b"}]}).encode(), "lacks its"),
        (json.dumps({**PLAN, "resource_changes": [{"type": "a", "name": "b", "change": {}}]}).encode(), "no actions"),
    ],
)  # fmt: skip
def test_what_is_no_plan_gets_the_reason_and_the_command(data: bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(BadPlan) as refused:
        read(tmp_path, data)
    assert says in str(refused.value)
    assert "terraform show -json" in str(refused.value) or "newer inferfab" in str(refused.value)


def test_a_file_that_is_no_plan_is_part_of_the_answer(run: Run, tmp_path: Path) -> None:
    """BLOCK and exit code 2, with the command in the report and on stderr; the other plan is reviewed all the same."""
    binary = tmp_path / "binary.tfplan"
    binary.write_bytes(b"PK\x03\x04")
    good = written(tmp_path, plan(change("aws_sns_topic.t", "create", None, {})), "good.json")
    code, out, err = run(str(binary), str(good))
    assert code == 2
    assert "BLOCK" in out and "terraform show -json" in out and "aws_sns_topic.t" in out
    assert "terraform show -json" in err


def test_no_fault_quotes_the_file(tmp_path: Path) -> None:
    """What is broken may be a secret."""
    for text in ('{"format_version": "1.2", "hunter2-secret": hunter2}', '{"format_version": "hunter2"}', "hunter2"):
        with pytest.raises(BadPlan) as refused:
            read(tmp_path, text.encode())
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("file", "counts", "version"),
    [
        # Counted by hand with jq over the files: actions of every managed resource change.
        ("after-unknown.json", {"create": 1}, "1.0"),
        ("autoscaling-group.json", {"create": 3}, "0.2"),
        ("delete-update-create.json", {"create": 5, "delete": 2, "no-op": 7, "update": 1}, "0.1"),
        ("github-mixed.json", {"create": 7, "no-op": 1}, "1.0"),
        ("instances-volumes.json", {"create": 5}, "0.2"),
        ("replace-one.json", {"replace": 1}, "1.1"),
        ("update-six.json", {"no-op": 4, "update": 6}, "0.2"),
        ("update-two.json", {"update": 2}, "1.1"),
        ("windows-utf16.json", {"create": 1}, "1.1"),
        ("wrapped-in-log-lines.json", {"create": 2}, "0.2"),
    ],
)
@pytest.mark.skipif(not SHARED.is_dir(), reason=NO_SHARED)
def test_published_plans(file: str, counts: dict[str, int], version: str, run: Run) -> None:
    """Plans that others published are read whole, and every format can be written of them."""
    stack = read_terraform_plan(SHARED / file, "x")
    found: dict[str, int] = {}
    for one in stack.changes:
        if one.mode == "managed":
            kind = "replace" if len(one.actions) == 2 else one.actions[0]
            found[kind] = found.get(kind, 0) + 1
    assert found == counts
    assert stack.format_version == version
    for each in ("markdown", "html", "json", "sarif"):
        code, out, _ = run(str(SHARED / file), "--format", each)
        assert code in (0, 4) and out
        assert (code == 4) == bool({"delete", "replace"} & set(counts))


def test_drift_without_addresses_is_named_by_type_and_name(tmp_path: Path) -> None:
    """As Terraform 1.0 wrote it."""
    drifted = change("aws_sns_topic.t", "update", {"name": "a"}, {"name": "b"})
    del drifted["address"]
    (line,) = report_of(tmp_path, plan(resource_drift=[drifted])).stacks[0].drift
    assert (line.subject, line.changed) == ("aws_sns_topic.t", ("name",))


def test_sections_are_what_json_reads() -> None:
    """The reader by parts agrees with :mod:`json`, also on a name that occurs twice and on empty ones."""
    text = ' {"a" : [1, {"b": 2} ,3 ] , "c":{}, "a" : [ ] , "d": null, "": 5}  rest'
    read_by_parts = JsonObject(text, 1)
    whole = json.loads(text[: text.index("  rest")])
    assert {name: read_by_parts.value(name) for name in read_by_parts.places} == whole
    assert list(JsonObject('{"a": [1, {"b": 2} , 3 ]}', 0).items("a")) == [1, {"b": 2}, 3]
    assert list(read_by_parts.items("a")) == list(read_by_parts.items("d")) == list(read_by_parts.items("absent")) == []
    assert text[read_by_parts.end :] == "  rest"
