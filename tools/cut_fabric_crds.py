"""Cut the schemas that tests need out of the CRDs of NVIDIA's network operators and of GKE's networks.

    python tools/cut_fabric_crds.py FOLDER

FOLDER holds ``network-operator``, ``nic-configuration-operator``, ``nv-ipam`` and ``gke-networking`` with the CRDs of
Mellanox/network-operator@b06827e0, of the operators that it brings, and of GoogleCloudPlatform/gke-networking-api.
Descriptions and status go.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import yaml

TARGET = Path(__file__).resolve().parents[1] / "tests" / "conformance" / "schemas" / "fabric-crds.json.gz"
WANTED = {
    "NicClusterPolicy", "MacvlanNetwork", "SriovNetwork", "SriovNetworkNodePolicy", "IPPool",
    "NicConfigurationTemplate", "GKENetworkParamSet", "Network",
}  # fmt: skip
FOLDERS = ("network-operator", "nic-configuration-operator", "nv-ipam", "gke-networking")


def cut(schema: Any) -> Any:
    """Without descriptions; a property may be called ``description``."""
    if isinstance(schema, list):
        return [cut(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {}
    for key, value in schema.items():
        if key == "properties":
            made[key] = {name: cut(part) for name, part in value.items() if name != "status"}
        elif key != "description":
            made[key] = cut(value)
    return made


def schemas(folder: Path) -> dict[str, Any]:
    """Schema by ``apiVersion Kind``."""
    found = {}
    for part in FOLDERS:
        for file in sorted((folder / part).rglob("*.yaml")):
            for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
                if not document or document.get("kind") != "CustomResourceDefinition":
                    continue
                spec = document["spec"]
                if spec["names"]["kind"] not in WANTED:
                    continue
                for version in spec["versions"]:
                    name = f"{spec['group']}/{version['name']} {spec['names']['kind']}"
                    found[name] = cut(version["schema"]["openAPIV3Schema"])
    return found


if __name__ == "__main__":
    made = schemas(Path(sys.argv[1]))
    text = json.dumps(made, sort_keys=True, separators=(",", ":"))
    # Without a time in it: the same bytes whenever it is made.
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes, {', '.join(sorted(made))}")
