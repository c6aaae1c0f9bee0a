"""Comments in rendered files name fields that the environment format has, with the value that stands there."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.environment.loading import load
from inferfab.plan.fleet import plan
from inferfab.render.serving import serving_files

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "environments" / "environment.schema.json").read_text(encoding="utf-8"))
ORIGIN = re.compile(r"#\s*((?:models|pools|tiers)\.[a-z0-9.\-_]+)")


def fields(node: dict[str, Any]) -> list[dict[str, Any]]:
    """A schema node and what it may be instead, references followed."""
    if "$ref" in node:
        return fields(SCHEMA["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    either = [part for key in ("anyOf", "oneOf") for part in node.get(key, [])]
    return [node, *(found for part in either for found in fields(part))]


def exists(path: str) -> bool:
    nodes = [SCHEMA]
    for word in path.split("."):
        below: list[dict[str, Any]] = []
        for node in (found for one in nodes for found in fields(one)):
            named = node.get("properties", {}).get(word)
            any_name = node.get("additionalProperties") or next(iter(node.get("patternProperties", {}).values()), None)
            below += [part for part in (named, any_name) if isinstance(part, dict)]
        if not below:
            return False
        nodes = below
    return True


@cache
def rendered(name: str) -> dict[str, str]:
    environment = load(ROOT / "environments" / f"{name}.yaml").environment
    assert environment is not None
    fleet = plan(environment)
    return {f"{cell.name}/{path}": text for cell in fleet.cells for path, text in serving_files(fleet, cell).items()}


@pytest.mark.parametrize("name", ["dev", "staging", "prod", "prod-gcp"])
def test_comments_name_fields_that_exist(name: str) -> None:
    """Each `models.…` or `pools.…` is a path of the environment format."""
    named = {found.rstrip(".") for text in rendered(name).values() for found in ORIGIN.findall(text)}
    assert len(named) >= 5
    assert [path for path in sorted(named) if not exists(path)] == []


def test_the_check_itself_finds_what_is_missing() -> None:
    assert exists("pools.chat.decode.tensor_parallel") and not exists("pools.chat.decode.tensor_paralel")


def test_a_stated_number_stands_under_the_field_that_is_named() -> None:
    """dev states its context, its parallelism and its replicas; the file says where each came from."""
    tree = yaml.safe_load((ROOT / "environments" / "dev.yaml").read_text(encoding="utf-8"))
    (text,) = (text for path, text in rendered("dev").items() if "/graphs/" in path)
    lines = [line.strip() for line in text.splitlines()]
    context = tree["models"]["qwen3-8b"]["context_tokens"]
    at = next(n for n, line in enumerate(lines) if "--max-model-len" in line)
    assert f"'{context}'" in " ".join(lines[at : at + 2])
    assert "models.qwen3-8b.context_tokens" in " ".join(lines[at - 1 : at + 2])
