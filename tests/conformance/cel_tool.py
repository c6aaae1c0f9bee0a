"""CEL rules of CRDs over objects, by cel-python: run with a python that has it and PyYAML (``pip install cel-python``).

    python cel_tool.py CRD_FOLDER < objects.json

Writes JSON: how many rules were asked, what they refused, and which could not be read.
"""

import json
import sys
from pathlib import Path
from typing import Any

import celpy
import yaml
from celpy import json_to_cel

_ENVIRONMENT = celpy.Environment()
_PROGRAMS: dict[str, Any] = {}


def schemas(folder: Path) -> dict[tuple[str, str], Any]:
    """Schema by apiVersion and kind."""
    found = {}
    for part in ("gateway-api", "envoy-gateway", "envoy-ai-gateway"):
        for file in sorted((folder / part).glob("*.yaml")):
            for one in yaml.safe_load_all(file.read_text(encoding="utf-8")):
                if one and one.get("kind") == "CustomResourceDefinition":
                    for version in one["spec"]["versions"]:
                        api = f"{one['spec']['group']}/{version['name']}"
                        found[api, one["spec"]["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return found


class Judge:
    """Collects what rules say."""

    def __init__(self) -> None:
        self.asked = 0
        self.refused: list[str] = []
        self.unread: list[str] = []

    def walk(self, schema: Any, value: Any, path: str) -> None:
        """A value and all below it, with the defaults that an API server fills in."""
        if isinstance(value, dict):
            for name, part in (schema.get("properties") or {}).items():
                if name not in value and "default" in part:
                    value[name] = part["default"]
        for rule in schema.get("x-kubernetes-validations", ()):
            # Rules about a change need an older object.
            if "oldSelf" not in rule["rule"]:
                self.ask(rule, value, path)
        if isinstance(value, dict):
            for name, part in value.items():
                below = (schema.get("properties") or {}).get(name)
                if below:
                    self.walk(below, part, f"{path}.{name}")
        elif isinstance(value, list) and schema.get("items"):
            for position, part in enumerate(value):
                self.walk(schema["items"], part, f"{path}[{position}]")

    def ask(self, rule: dict[str, Any], value: Any, path: str) -> None:
        text = rule["rule"]
        try:
            if text not in _PROGRAMS:
                _PROGRAMS[text] = _ENVIRONMENT.program(_ENVIRONMENT.compile(text))
            held = _PROGRAMS[text].evaluate({"self": json_to_cel(value)})
        except Exception as error:
            self.unread.append(f"{text}: {error}")
            return
        self.asked += 1
        if not held:
            self.refused.append(f"{path}: {rule.get('message', text)}")


if __name__ == "__main__":
    known, judge = schemas(Path(sys.argv[1])), Judge()
    for document in json.load(sys.stdin):
        schema = known.get((document["apiVersion"], document["kind"]))
        if schema:
            judge.walk(schema, document, f"{document['kind']}/{document['metadata']['name']}")
    json.dump({"asked": judge.asked, "refused": judge.refused, "unread": judge.unread}, sys.stdout)
