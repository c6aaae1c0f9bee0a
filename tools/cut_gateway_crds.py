"""Cut the schemas that tests need out of the CRDs of the Gateway API, Envoy Gateway and Envoy AI Gateway.

    python tools/cut_gateway_crds.py FOLDER

FOLDER holds ``gateway-api``, ``envoy-gateway``, ``envoy-ai-gateway`` and ``prometheus-operator`` with the CRDs of
envoyproxy/gateway@d32f2829 (Gateway API 1.6.1), envoyproxy/ai-gateway@c217da8a and the Prometheus operator.
Descriptions, status and CEL rules go: there are hundreds of the latter, and tests have no engine for them.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from cut_fabric_crds import cut

TARGET = Path(__file__).resolve().parents[1] / "tests" / "conformance" / "schemas" / "gateway-crds.json.gz"
WANTED = {
    "gateway.networking.k8s.io/v1": {"GatewayClass", "Gateway", "HTTPRoute"},
    "gateway.envoyproxy.io/v1alpha1": {
        "EnvoyProxy", "ClientTrafficPolicy", "BackendTrafficPolicy", "SecurityPolicy", "Backend",
    },
    "aigateway.envoyproxy.io/v1beta1": {"AIGatewayRoute", "AIServiceBackend"},
    "monitoring.coreos.com/v1": {"PrometheusRule"},
}  # fmt: skip
FOLDERS = ("gateway-api", "envoy-gateway", "envoy-ai-gateway", "prometheus-operator")


def without_rules(schema: Any) -> Any:
    """The schema without ``x-kubernetes-validations``."""
    if isinstance(schema, list):
        return [without_rules(part) for part in schema]
    if isinstance(schema, dict):
        return {key: without_rules(part) for key, part in schema.items() if key != "x-kubernetes-validations"}
    return schema


def schemas(folder: Path) -> dict[str, Any]:
    """Schema by ``apiVersion Kind``."""
    found = {}
    for part in FOLDERS:
        for file in sorted((folder / part).rglob("*.yaml")):
            text = file.read_text(encoding="utf-8")
            # Others of the monitoring CRDs hold what PyYAML does not read.
            if not any(f"kind: {kind}\n" in text for kinds in WANTED.values() for kind in kinds):
                continue
            for document in yaml.safe_load_all(text):
                if not document or document.get("kind") != "CustomResourceDefinition":
                    continue
                spec = document["spec"]
                for version in spec["versions"]:
                    api = f"{spec['group']}/{version['name']}"
                    if spec["names"]["kind"] in WANTED.get(api, ()):
                        made = without_rules(cut(version["schema"]["openAPIV3Schema"]))
                        found[f"{api} {spec['names']['kind']}"] = made
    return found


if __name__ == "__main__":
    made = schemas(Path(sys.argv[1]))
    text = json.dumps(made, sort_keys=True, separators=(",", ":"))
    # Without a time in it: the same bytes whenever it is made.
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes, {', '.join(sorted(made))}")
