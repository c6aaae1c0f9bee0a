"""Cut the schemas that tests need out of Dynamo's CRDs.

    python tools/cut_dynamo_crds.py FOLDER

FOLDER holds ``nvidia.com_*.yaml`` of one release (deploy/helm/charts/platform/components/operator/crds of
ai-dynamo/dynamo). Descriptions go, and so do status and podTemplate: pods are held against Kubernetes' own schema.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import yaml

TARGET = Path(__file__).resolve().parents[1] / "tests" / "conformance" / "schemas" / "dynamo-1.2.0.json.gz"
WANTED = {
    "dynamographdeployments": "v1beta1",
    "dynamomodels": "v1alpha1",
    "dynamographdeploymentscalingadapters": "v1beta1",
}
"""Version by plural."""


def cut(schema: Any) -> Any:
    """Without descriptions; a property may be called ``description``."""
    if isinstance(schema, list):
        return [cut(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {}
    for key, value in schema.items():
        if key == "properties":
            made[key] = {name: cut(part) for name, part in value.items() if name not in ("status", "podTemplate")}
            if "podTemplate" in value:
                made[key]["podTemplate"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        elif key != "description":
            made[key] = cut(value)
    return made


def schemas(folder: Path) -> dict[str, Any]:
    """Schema by plural."""
    found = {}
    for plural, version in WANTED.items():
        document = yaml.safe_load((folder / f"nvidia.com_{plural}.yaml").read_text(encoding="utf-8"))
        [schema] = [one["schema"]["openAPIV3Schema"] for one in document["spec"]["versions"] if one["name"] == version]
        found[plural] = cut(schema)
    return found


if __name__ == "__main__":
    text = json.dumps(schemas(Path(sys.argv[1])), sort_keys=True, separators=(",", ":"))
    # Without a time in it: the same bytes whenever it is made.
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")
