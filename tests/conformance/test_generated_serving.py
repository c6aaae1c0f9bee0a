"""Generated fleets through the proofs: whatever the checks let pass is taken by every consumer."""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from inferfab.environment.environment import Environment
from inferfab.environment.gateway import AcmeTls, Gateway, LocalLimits, Oidc, SecretTls
from inferfab.environment.tenants import Tenant, TenantNamespace, TenantTier
from inferfab.plan.fleet import plan
from inferfab.render.gateway import gateway_files
from inferfab.render.serving import serving_files
from strategies import environments, quick

from .check_files import PROOFS
from .yaml_kit import assert_same_in_yaml_1_1_and_1_2

WITHOUT_PROCESSES = tuple(name for name in PROOFS if name != "parsers")
"""Dynamo's parsers are asked about the shipped environments; a process an example would take minutes."""

GATEWAYS = (
    Gateway(),
    Gateway(tls=AcmeTls(kind="acme", email="a@example.com"), rate_limits=LocalLimits(kind="local")),
    Gateway(
        tls=SecretTls(kind="secret", secret="own"),
        authentication=Oidc(
            kind="oidc", issuer="https://a.example.com", jwks_uri="https://a.example.com/k", audiences=("x",)
        ),
        body_limit_mib=7,
    ),
)
PART = TenantTier(tokens_per_minute=1_000_000, requests_per_minute=50)
SPACE = TenantNamespace(cpu=1, memory_gib=2)


@pytest.mark.slow
# Without shrinking: an example is a whole fleet, and making it smaller takes minutes.
@settings(quick, max_examples=25, phases=[Phase.generate])
@given(environments(), st.sampled_from(GATEWAYS), st.booleans())
def test_generated_fleets_pass_the_proofs(environment: Environment, gateway_asked: Gateway, tenants: bool) -> None:
    """Objects, agreement of their names, engine flags and JSON flags; and one meaning for every YAML reader."""
    told_apart = {"acme-labs": Tenant(tiers={p.tier: PART for p in environment.pools.values()}, namespace=SPACE)}
    more = {"gateway": gateway_asked, "tenants": told_apart if tenants else {}}
    fleet = plan(environment.model_copy(update=more))
    for cell in fleet.cells:
        if not cell.serving.graphs and not cell.serving.lanes:
            # A shared pool that starts without nodes: nothing takes requests in.
            continue
        files = serving_files(fleet, cell)
        found = {name: problems for name in WITHOUT_PROCESSES if (problems := PROOFS[name](files))}
        assert not found, found
        gateway = gateway_files(cell)
        assert bool(gateway) == bool(cell.gateway.groups)
        wrong = PROOFS["objects"](gateway)
        assert not wrong, wrong
        for text in (*files.values(), *gateway.values()):
            assert_same_in_yaml_1_1_and_1_2(text)
