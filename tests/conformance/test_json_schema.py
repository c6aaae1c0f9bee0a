"""`inferfab schema` is a JSON Schema that agrees with the reader and documents every field."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from inferfab.environment.loading import load, load_text
from inferfab.environment.schema import json_schema
from inferfab.render.starter import starter

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
SHIPPED = sorted((ROOT / "environments").glob("*.yaml"))


def test_it_is_a_schema() -> None:
    """Valid by the draft that it names."""
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["title"] == "inferfab environment"


def test_the_written_schema_is_current() -> None:
    """environments/environment.schema.json is what `inferfab schema --out` writes today."""
    written = (ROOT / "environments" / "environment.schema.json").read_text(encoding="utf-8")
    assert written == json.dumps(SCHEMA, indent=1, ensure_ascii=False) + "\n", (
        "run `inferfab schema --out environments/environment.schema.json`"
    )


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_environments_are_valid(path: Path) -> None:
    """Every shipped environment passes the schema, names it in its first line, and is loaded without a finding."""
    VALIDATOR.validate(load(path).source.tree)
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=environment.schema.json\n")
    assert load(path).findings == ()


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_starters_are_valid(cloud: str) -> None:
    """What init writes passes the schema."""
    VALIDATOR.validate(load_text(starter("dev", cloud)).source.tree)


def _undescribed(node: Any, where: str) -> list[str]:
    found = []
    if isinstance(node, dict):
        for name, field in node.get("properties", {}).items():
            if not str(field.get("description", "")).strip():
                found.append(f"{where}.{name}")
    return found


def test_every_model_is_described() -> None:
    """Each mapping of the format says what it is."""
    for name, part in SCHEMA["$defs"].items():
        if part.get("type") == "object":
            assert part.get("description"), name


CONFIG_JSON = {
    *(f"{kind}Attention.{field}" for kind in ("Full", "Sliding") for field in ("layers", "kv_heads", "head_dim")),
    *(f"LatentAttention.{field}" for field in ("layers", "kv_lora_rank", "rope_head_dim")),
    "SlidingAttention.window_tokens",
    *(f"ModelShape.{field}" for field in ("hidden_size", "query_heads", "vocabulary")),
}
"""Fields that are copied from a model's config.json and have its names."""


def test_every_field_is_described() -> None:
    """Each field carries its documentation, except the numbers of a model's own shape."""
    missing = _undescribed(SCHEMA, "Environment")
    for name, part in SCHEMA["$defs"].items():
        missing += _undescribed(part, name)
    assert set(missing) == CONFIG_JSON


def test_descriptions_are_one_paragraph() -> None:
    """Editors show descriptions on hover: no line breaks, no indentation from the source."""
    for part in (SCHEMA, *SCHEMA["$defs"].values()):
        for field in part.get("properties", {}).values():
            text = field.get("description", "x")
            assert "\n" not in text and "  " not in text


def test_no_mapping_is_open() -> None:
    """The schema refuses unknown keys wherever the reader does."""
    for name, part in SCHEMA["$defs"].items():
        if part.get("type") == "object":
            assert part.get("additionalProperties") is False, name
    assert SCHEMA["additionalProperties"] is False


def _dev() -> dict[str, Any]:
    tree: dict[str, Any] = yaml.safe_load((ROOT / "environments" / "dev.yaml").read_text(encoding="utf-8"))
    return tree


WRONG = {
    "unknown key": lambda t: t.update(nope=1),
    "missing section": lambda t: t.pop("cells"),
    "name pattern": lambda t: t.update(name="Dev"),
    "name length": lambda t: t.update(name="a" * 21),
    "account as number": lambda t: t["accounts"]["aws"].update(account_id=111122223333),
    "account in Arabic digits": lambda t: t["accounts"]["aws"].update(account_id="١١١١٢٢٢٢٣٣٣٣"),
    "wrong topology": lambda t: t["pools"]["chat"].update(topology="agregated"),
    "pool key": lambda t: t["pools"].update(Chat=t["pools"].pop("chat")),
    "unknown key deep": lambda t: t["pools"]["chat"]["worker"]["replicas"].update(mx=1),
    "bound": lambda t: t["cells"]["use1-a"]["system_nodes"].update(count=0),
    "empty section": lambda t: t.update(pools={}),
    "wrong capacity": lambda t: t["pools"]["chat"].update(capacity={"kind": "spott"}),
    "version": lambda t: t.update(version=2),
    "version true": lambda t: t.update(version=True),
}


@pytest.mark.parametrize("case", WRONG)
def test_schema_and_reader_refuse_the_same(case: str) -> None:
    """A wrong file is refused by the schema in the editor and by the reader alike; the right one by neither."""
    tree = _dev()
    assert VALIDATOR.is_valid(tree) and load_text(json.dumps(tree)).findings == ()
    wrong = copy.deepcopy(tree)
    WRONG[case](wrong)
    assert not VALIDATOR.is_valid(wrong)
    assert load_text(json.dumps(wrong)).findings != ()
