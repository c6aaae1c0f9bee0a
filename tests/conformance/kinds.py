"""The closed schema of each kind that inferfab renders, by apiVersion and kind."""

import copy
import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from .closed_schema import Schema, closed, closed_definitions, problems, validator

HERE = Path(__file__).parent
KUBERNETES = "1.36"
OVERLAY = HERE / "overlays" / "dynamo-1.6.yaml"
POD_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

Document = Mapping[str, Any]

BY_CRD = {
    ("nvidia.com/v1beta1", "DynamoGraphDeployment"): "dynamographdeployments",
    ("nvidia.com/v1alpha1", "DynamoModel"): "dynamomodels",
    ("nvidia.com/v1beta1", "DynamoGraphDeploymentScalingAdapter"): "dynamographdeploymentscalingadapters",
}
"""Kinds of Dynamo, with the plural of their CRD."""


@cache
def kubernetes_release() -> dict[str, Any]:
    """What tools/extract_kubernetes_schemas.py wrote."""
    text = gzip.decompress((HERE / "schemas" / f"kubernetes-{KUBERNETES}.json.gz").read_bytes())
    cut: dict[str, Any] = json.loads(text)
    return cut


@cache
def _definitions() -> dict[str, Schema]:
    made = closed_definitions(kubernetes_release()["definitions"])
    # Who writes a file says what it is and names it; the server fills in the rest.
    made["named"] = {"type": "object", "required": ["name"]}
    return made


@cache
def built_in_kinds() -> dict[tuple[str, str], str]:
    """Definitions by (apiVersion, kind)."""
    found = {}
    for name, definition in kubernetes_release()["definitions"].items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            version = f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"]
            # DeleteOptions and WatchEvent say that they are of every group.
            if name.startswith("io.k8s.api."):
                found[version, kind["kind"]] = name
    return found


@cache
def _cut_crds() -> dict[str, Schema]:
    """What tools/cut_dynamo_crds.py wrote."""
    made: dict[str, Schema] = json.loads(gzip.decompress((HERE / "schemas" / "dynamo-1.2.0.json.gz").read_bytes()))
    return made


def crd_schema(plural: str) -> Schema:
    """A Dynamo CRD's own schema of 1.2.0, pods left open."""
    return copy.deepcopy(_cut_crds()[plural])


def overlaid(schema: Schema, overlay: Mapping[str, Any]) -> Schema:
    """A copy with the overlay's changes; each must find its place and must change something."""
    made = copy.deepcopy(schema)
    for change in overlay["changes"]:
        node = made
        for step in change["at"]:
            node = node["items"] if step == "*" else node["properties"][step]
        fields = node["properties"]
        for name, field in change.get("fields", {}).items():
            assert name not in fields, f"{change['at']}: the CRD has {name} itself"
            fields[name] = field
        for name in change.get("without", ()):
            del fields[name]
        rules = node.setdefault("x-kubernetes-validations", [])
        for text in change.get("without_rules", ()):
            assert any(rule["rule"] == text for rule in rules), f"{change['at']}: no rule {text}"
            rules[:] = [rule for rule in rules if rule["rule"] != text]
        rules += change.get("rules", ())
    return made


def load_overlay() -> dict[str, Any]:
    """The fields of Dynamo 1.6."""
    overlay: dict[str, Any] = yaml.safe_load(OVERLAY.read_text(encoding="utf-8"))
    return overlay


@cache
def _crd_validator(plural: str) -> Any:
    schema = crd_schema(plural)
    if plural != "dynamographdeployments":
        return validator(_with_meta(closed(schema)), _definitions())
    made = closed(overlaid(schema, load_overlay()))
    component = made["properties"]["spec"]["properties"]["components"]["items"]["properties"]
    component["podTemplate"] = {"$ref": f"urn:k8s:{POD_TEMPLATE}"}
    return validator(_with_meta(made), _definitions())


def _with_meta(schema: Schema) -> Schema:
    """What every CRD leaves to the API server: apiVersion, kind and an ObjectMeta."""
    schema["properties"]["metadata"] = {"allOf": [{"$ref": f"urn:k8s:{OBJECT_META}"}, {"$ref": "urn:k8s:named"}]}
    schema["required"] = sorted({*schema.get("required", ()), "apiVersion", "kind", "metadata"})
    return schema


@cache
def _built_in_validator(definition: str) -> Any:
    wanted = {
        "required": ["apiVersion", "kind", "metadata"],
        "properties": {"metadata": {"$ref": "urn:k8s:named"}},
        "allOf": [{"$ref": f"urn:k8s:{definition}"}],
    }
    return validator(wanted, _definitions())


@cache
def _excerpt_validator(file: str) -> Any:
    schema = yaml.safe_load((HERE / "schemas" / file).read_text(encoding="utf-8"))["schema"]
    return validator(_with_meta(closed(schema)), _definitions())


@cache
def fabric_crds() -> dict[str, Schema]:
    """What tools/cut_fabric_crds.py wrote, by ``apiVersion Kind``."""
    made: dict[str, Schema] = json.loads(gzip.decompress((HERE / "schemas" / "fabric-crds.json.gz").read_bytes()))
    return made


@cache
def gateway_crds() -> dict[str, Schema]:
    """What tools/cut_gateway_crds.py wrote, by ``apiVersion Kind``."""
    made: dict[str, Schema] = json.loads(gzip.decompress((HERE / "schemas" / "gateway-crds.json.gz").read_bytes()))
    return made


@cache
def _gateway_validator(name: str) -> Any:
    return validator(_with_meta(closed(copy.deepcopy(gateway_crds()[name]))), _definitions())


@cache
def _fabric_validator(name: str) -> Any:
    return validator(_with_meta(closed(copy.deepcopy(fabric_crds()[name]))), _definitions())


EXCERPTS = {
    ("external-secrets.io/v1", "ExternalSecret"): "external-secrets-externalsecret.yaml",
    ("cert-manager.io/v1", "ClusterIssuer"): "cert-manager-clusterissuer.yaml",
    ("cert-manager.io/v1", "Issuer"): "cert-manager-issuer.yaml",
    ("cert-manager.io/v1", "Certificate"): "cert-manager-certificate.yaml",
}
"""Kinds of which the repository keeps a schema of the fields that we may render."""


def schema_problems(document: Document) -> list[str]:
    """What the closed schema of a document's kind refuses; a kind without a schema is a problem too."""
    kind = (str(document.get("apiVersion")), str(document.get("kind")))
    if kind in BY_CRD:
        return problems(_crd_validator(BY_CRD[kind]), document)
    if " ".join(kind) in fabric_crds():
        return problems(_fabric_validator(" ".join(kind)), document)
    if " ".join(kind) in gateway_crds():
        return problems(_gateway_validator(" ".join(kind)), document)
    if kind in EXCERPTS:
        return problems(_excerpt_validator(EXCERPTS[kind]), document)
    if kind in built_in_kinds():
        return problems(_built_in_validator(built_in_kinds()[kind]), document)
    return [f"apiVersion, kind: no schema of {kind[0]} {kind[1]}; add one to tests/conformance/kinds.py"]
