"""docs/deploy.md says of every secret that a person has to make where it stands; the schema says which there are."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inferfab.catalog.charts import charts
from inferfab.plan.gateway.gateway import GatewayPlan

ROOT = Path(__file__).parent.parent


def fields(schema: dict[str, Any], node: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every field of the environment, keys of people's own as ``*``."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        yield from fields(schema, schema["$defs"][name], path)
    for option in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from fields(schema, option, path)
    for name, field in node.get("properties", {}).items():
        yield (*path, name)
        yield from fields(schema, field, (*path, name))
    for field in node.get("patternProperties", {}).values():
        yield from fields(schema, field, (*path, "*"))
    if isinstance(node.get("additionalProperties"), dict):
        yield from fields(schema, node["additionalProperties"], (*path, "*"))
    if isinstance(node.get("items"), dict):
        yield from fields(schema, node["items"], (*path, "*"))


def test_every_secret_that_a_person_makes_is_in_the_list() -> None:
    schema = json.loads((ROOT / "environments" / "environment.schema.json").read_text(encoding="utf-8"))
    named = {".".join(path) for path in fields(schema, schema) if re.search(r"secret|api_key$", path[-1])}
    assert {"models.*.token_secret", "gateway.tls.secret"} <= named
    text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^  \| `([a-z_.*]+)`[^|]*\| ([^|]+) \|", text, re.MULTILINE))
    assert rows.keys() == named
    assert rows["gateway.tls.secret"] == f"`{GatewayPlan.model_fields['namespace'].default}`"
    place = charts()["kube-prometheus-stack"].namespace
    assert {rows[name] for name in named if name.startswith("observability.")} == {f"`{place}`"}


def test_no_field_is_said_to_be_missing() -> None:
    """A sentence about what the file cannot say yet goes stale on the day that it can."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        assert "no field for it yet" not in page.read_text(encoding="utf-8"), page.name
