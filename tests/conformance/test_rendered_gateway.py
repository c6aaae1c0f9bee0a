"""What inferfab renders for the gateways, against the closed CRDs of those that read it."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.environment.loading import load, load_text
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.render.gateway import gateway_files

from .kinds import schema_problems
from .shared_folder import shared

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ("dev", "staging", "prod", "prod-gcp", "prod-global", "prod-hybrid")
TENANTS = """
tenants:
  search:
    tiers:
      {tier}: {{share_percent: 40, requests_per_minute: 600}}
    cost_label: cc-4711
    namespace: {{cpu: 4, memory_gib: 16, pods: 20}}
  ops:
    tiers:
      {tier}:
"""
OIDC = """
gateway:
  tls: {kind: secret, secret: llm-tls}
  authentication:
    kind: oidc
    issuer: https://login.example.com/realms/ml
    jwks_uri: https://login.example.com/realms/ml/certs
    audiences: [llm]
    tenant_claim: team
"""
KEYS = """
gateway:
  tls: {kind: acme, email: ml-platform@example.com}
"""
LOCAL = """
gateway:
  rate_limits: {kind: local}
"""


def with_tenants(name: str, more: str) -> FleetPlan:
    """A shipped environment with tenants and a gateway section of the test's."""
    text = (ROOT / "environments" / f"{name}.yaml").read_text(encoding="utf-8")
    text = re.sub(r"(?ms)^(tenants|gateway):.*?(?=^\S|\Z)", "", text)
    environment = load_text(text + TENANTS.format(tier="priority") + more).environment
    assert environment is not None
    return plan(environment)


@cache
def fleet(name: str, more: str | None) -> FleetPlan:
    if more is not None:
        return with_tenants(name, more)
    environment = load(ROOT / "environments" / f"{name}.yaml").environment
    assert environment is not None
    return plan(environment)


FLEETS: list[tuple[str, str | None]] = [
    *((name, None) for name in ENVIRONMENTS),
    ("prod", OIDC), ("prod", KEYS), ("prod", LOCAL), ("prod-hybrid", KEYS), ("prod-hybrid", OIDC), ("prod-gcp", KEYS),
]  # fmt: skip


def documents(files: Mapping[str, str]) -> list[tuple[str, dict[str, object]]]:
    return [(path, d) for path, text in files.items() for d in yaml.safe_load_all(text) if d]


@pytest.mark.parametrize(("name", "more"), FLEETS)
def test_closed_crds_take_every_object(name: str, more: str | None) -> None:
    wrong = []
    for cell in fleet(name, more).cells:
        found = documents(gateway_files(cell))
        assert found, f"{cell.name} has gateways"
        for path, document in found:
            wrong += [f"{cell.name}/{path} {document['kind']}: {line}" for line in schema_problems(document)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("name", "more"), FLEETS)
def test_no_object_has_a_name_twice_and_every_reference_is_there(name: str, more: str | None) -> None:
    """Of one cell: backends of routes, Gateways of policies, Secrets of listeners and credentials."""
    for cell in fleet(name, more).cells:
        found = [d for _, d in documents(gateway_files(cell))]
        names = [(d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in found]
        assert len(names) == len(set(names))
        have = {(kind, name) for kind, _, name in names}
        # An AIGatewayRoute becomes an HTTPRoute of its name.
        have |= {("HTTPRoute", name) for kind, name in have if kind == "AIGatewayRoute"}
        made = {d["spec"]["secretName"] for d in found if d["kind"] == "Certificate"}
        for document in found:
            spec = document.get("spec", {})
            for target in spec.get("targetRefs", ()):
                assert (target["kind"], target["name"]) in have, target
            for rule in spec.get("rules", ()) if document["kind"] == "AIGatewayRoute" else ():
                for backend in rule["backendRefs"]:
                    assert ("AIServiceBackend", backend["name"]) in have
            for listener in spec.get("listeners", ()):
                secret = listener["tls"]["certificateRefs"][0]["name"]
                assert secret in made or secret == cell.gateway.tls.secret


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_clients_are_given_one_authority_that_stays(name: str) -> None:
    """Self-signed leaves have a new key at each renewal (90 days): who was given one refuses the next."""
    for cell in with_tenants(name, "\ngateway: {tls: {kind: self_signed}}\n").cells:
        found = [d for _, d in documents(gateway_files(cell))]
        issuers = {d["metadata"]["name"]: d["spec"] for d in found if d["kind"] == "Issuer"}
        certificates = {d["spec"]["secretName"]: d["spec"] for d in found if d["kind"] == "Certificate"}
        leaves = [
            certificates[listener["tls"]["certificateRefs"][0]["name"]]
            for d in found if d["kind"] == "Gateway" for listener in d["spec"]["listeners"]
        ]  # fmt: skip
        assert len(leaves) >= 2
        (secret,) = {issuers[leaf["issuerRef"]["name"]]["ca"]["secretName"] for leaf in leaves}
        authority = certificates[secret]
        assert authority["isCA"] and authority["privateKey"]["rotationPolicy"] == "Never"
        assert issuers[authority["issuerRef"]["name"]] == {"selfSigned": {}}
        # Years, against 90 days of a leaf.
        assert int(authority["duration"].rstrip("h")) > 5 * 365 * 24
        assert not any(leaf.get("isCA") for leaf in leaves)


@pytest.mark.parametrize("more", [OIDC, KEYS, LOCAL])
def test_a_tier_that_no_tenant_names_is_closed(more: str) -> None:
    """Tenants name `priority` only; without a policy the other tiers would serve whoever comes."""
    for cell in fleet("prod", more).cells:
        policies = {
            d["metadata"]["name"]: d["spec"] for _, d in documents(gateway_files(cell)) if d["kind"] == "SecurityPolicy"
        }
        assert set(policies) == {f"tier-{tier.tier}" for tier in cell.gateway.tiers}
        for tier, spec in policies.items():
            if tier != "tier-priority":
                assert spec["authorization"] == {"defaultAction": "Deny"}


@pytest.mark.slow
def test_the_rules_that_crds_make_hold() -> None:
    """CEL rules of the real CRDs over every object of every fleet here, and one that a broken object breaks."""
    python = os.environ.get("CEL_PYTHON")
    if python is None:
        pytest.skip("no CEL engine: name a python that has cel-python and PyYAML in CEL_PYTHON")
    folder = shared("data/crds/gateway-api/gatewayapi-crds.yaml").parents[1]
    found = [d for name, more in FLEETS for cell in fleet(name, more).cells for _, d in documents(gateway_files(cell))]
    said = _cel(python, folder, found)
    assert said["refused"] == [] and said["unread"] == []
    assert said["asked"] > 2000
    policy = next(d for d in found if d["kind"] == "BackendTrafficPolicy")
    broken = json.loads(json.dumps(policy))
    broken["spec"]["targetRefs"][0]["kind"] = "Service"
    assert any("targetRefs[*].kind" in line for line in _cel(python, folder, [broken])["refused"])


def _cel(python: str, folder: Path, objects: list[dict[str, object]]) -> dict[str, Any]:
    tool = Path(__file__).with_name("cel_tool.py")
    done = subprocess.run(
        [python, str(tool), str(folder)], input=json.dumps(objects), capture_output=True, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
