"""Cuts the schemas of the built-in kinds that inferfab renders out of Kubernetes' own OpenAPI document.

    go mod download -json k8s.io/kubernetes@v1.36.3      # prints "Dir": the release's source
    python tools/extract_kubernetes_schemas.py DIR/api/openapi-spec/swagger.json v1.36.3

writes tests/conformance/schemas/kubernetes-1.36.json.gz: every definition that the kinds reach, without descriptions.
"""

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

KINDS = (
    "admissionregistration.v1.ValidatingAdmissionPolicy",
    "admissionregistration.v1.ValidatingAdmissionPolicyBinding",
    "apps.v1.DaemonSet",
    "apps.v1.Deployment",
    "apps.v1.StatefulSet",
    "batch.v1.CronJob",
    "batch.v1.Job",
    "core.v1.ConfigMap",
    "core.v1.LimitRange",
    "core.v1.Namespace",
    "core.v1.PersistentVolume",
    "core.v1.PersistentVolumeClaim",
    "core.v1.ResourceQuota",
    "core.v1.Secret",
    "core.v1.Service",
    "core.v1.ServiceAccount",
    "networking.v1.Ingress",
    "networking.v1.NetworkPolicy",
    "policy.v1.PodDisruptionBudget",
    "rbac.v1.ClusterRole",
    "rbac.v1.ClusterRoleBinding",
    "rbac.v1.Role",
    "rbac.v1.RoleBinding",
    "resource.v1.DeviceClass",
    "resource.v1.ResourceClaim",
    "resource.v1.ResourceClaimTemplate",
    "scheduling.v1.PriorityClass",
    "storage.v1.StorageClass",
)
"""What inferfab renders or may render, and a PodTemplateSpec through the workloads."""

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "conformance" / "schemas"


def reached(definitions: dict[str, Any], roots: list[str]) -> dict[str, Any]:
    """The roots and all they refer to, without descriptions."""
    found: dict[str, Any] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = _without_descriptions(definitions[name])
        waiting += [ref.removeprefix("#/definitions/") for ref in _references(found[name])]
    return found


def _without_descriptions(node: Any) -> Any:
    if isinstance(node, dict):
        # A field may be called "description"; a description is text.
        return {k: _without_descriptions(v) for k, v in node.items() if k != "description" or not isinstance(v, str)}
    return [_without_descriptions(item) for item in node] if isinstance(node, list) else node


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        here = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return here + [ref for value in node.values() for ref in _references(value)]
    return [ref for item in node for ref in _references(item)] if isinstance(node, list) else []


def main() -> None:
    """Read, cut, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("swagger", type=Path)
    parser.add_argument("release", help="v1.36.3")
    given = parser.parse_args()
    document = json.loads(given.swagger.read_text(encoding="utf-8"))
    cut = {
        "source": f"k8s.io/kubernetes@{given.release} api/openapi-spec/swagger.json, descriptions removed",
        "release": given.release,
        "definitions": reached(document["definitions"], [f"io.k8s.api.{kind}" for kind in KINDS]),
    }
    minor = ".".join(given.release.removeprefix("v").split(".")[:2])
    target = FOLDER / f"kubernetes-{minor}.json.gz"
    text = json.dumps(cut, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # No time and no file name in the header: the same input makes the same bytes.
    target.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    print(
        f"{target.relative_to(FOLDER.parents[2])}: {len(cut['definitions'])} definitions, {target.stat().st_size} bytes"
    )


if __name__ == "__main__":
    main()
