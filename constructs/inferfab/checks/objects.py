"""Objects in a cell's cluster that two parts of the environment would both own, or that look like each other."""

from collections.abc import Iterator
from dataclasses import dataclass

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.findings import YamlPath
from inferfab.plan.fleet import CellPlan
from inferfab.plan.gateway.gateway import CA_SECRET, route_name, tls_secret
from inferfab.plan.gateway.tiers import pods_service
from inferfab.plan.names import SERVING_NAMESPACE, token_secret_name


@dataclass(frozen=True)
class Claim:
    """One object, and what of the environment it belongs to."""

    kind: str
    namespace: str
    name: str
    of: str
    """In words."""
    path: YamlPath
    of_key: bool = True


@rule(
    "IF-NAM-005",
    "two owners of one object",
    joins=("environment", "cluster"),
    why="names in the cluster are put together from names of the environment. Where two come out the same, Helm "
    "refuses the second release, or an operator writes its own content over what another one reads.",
    do="rename one of the two.",
    source="Helm: invalid ownership metadata; names of the plan; External Secrets, cert-manager and Dynamo's operator "
    "name what they make after what they make it of",
)
def objects_have_one_owner(facts: Facts) -> Iterator[Problem]:
    said: set[YamlPath] = set()
    for cell in facts.fleet.cells:
        first: dict[tuple[str, str, str], Claim] = {}
        for claim in _claims(facts, cell):
            other = first.setdefault((claim.kind, claim.namespace, claim.name), claim)
            if other.of == claim.of or claim.path in said:
                continue
            said.add(claim.path)
            yield Problem(
                claim.path,
                f"in {cell.name} the {claim.kind} `{claim.namespace}/{claim.name}` is {claim.of}, and {other.of} too",
                f"rename `{claim.path[-1]}`" if claim.of_key else "name another one",
                value="" if claim.of_key else claim.name,
                of_key=claim.of_key,
            )


def _claims(facts: Facts, cell: CellPlan) -> Iterator[Claim]:
    yield from _serving(facts, cell)
    yield from _routes(cell)
    yield from _secrets(facts, cell)


def _serving(facts: Facts, cell: CellPlan) -> Iterator[Claim]:
    def made(kind: str, name: str, of: str, *path: str) -> Claim:
        return Claim(kind, SERVING_NAMESPACE, name, of, path)

    for graph in cell.serving.graphs:
        path = ("pools", graph.pool) if graph.pool else ("models", graph.model)
        for part in graph.components:
            of = f"that of component {part.name} of graph {graph.name}"
            yield made("Service", f"{graph.name}-{part.name}", of, *path)
            yield made("Deployment", f"{graph.name}-{part.name}", of, *path)
    for lane in cell.serving.lanes:
        yield made("Deployment", lane.name, f"a lane of pool `{lane.pool}`", "pools", lane.pool)
    for pool in cell.autoscaling.pools if cell.autoscaling else ():
        for one in pool.placeholders:
            yield made("Deployment", one.name, f"the placeholder of pool `{pool.pool}`", "pools", pool.pool)
    for entry in cell.serving.entries:
        of = f"that of model `{entry.model}` in tier `{entry.tier}`"
        yield made("Service", entry.service, of, "models", entry.model)
    served = {entry.model for entry in cell.serving.entries}
    for model in facts.fleet.models:
        for adapter in model.adapters if model.name in served else ():
            of = f"adapter `{adapter.name}` of `{model.name}`"
            yield made("DynamoModel", f"{model.name}-{adapter.name}", of, "models", model.name)
    racks = [group.rack for group in cell.gateway.groups if group.rack]
    for tier in cell.gateway.tiers if cell.gateway.groups else ():
        for route in tier.routes:
            for rack in (None, *racks):
                of = f"that of the pods of model `{route.model}` in tier `{tier.tier}`" + (f", {rack}" if rack else "")
                yield made("Service", pods_service(route, rack), of, "models", route.model)


def _routes(cell: CellPlan) -> Iterator[Claim]:
    for tier in cell.gateway.tiers:
        for group in cell.gateway.groups:
            where = f" at {group.rack}" if group.rack else ""
            of, name = f"that of tier `{tier.tier}`{where}", route_name(tier.tier, group)
            yield Claim("HTTPRoute", cell.gateway.namespace, name, of, ("tiers", tier.tier))


def _secrets(facts: Facts, cell: CellPlan) -> Iterator[Claim]:
    gateway, here = cell.gateway, cell.gateway.namespace
    for tenant in gateway.tenants:
        if tenant.credential:
            yield Claim("Secret", here, tenant.credential, f"tenant `{tenant.name}`'s key", ("tenants", tenant.name))
    if gateway.tls.secret is not None:
        certificate: YamlPath = ("gateway", "tls", "secret")
        yield Claim("Secret", here, gateway.tls.secret, "the gateways' certificate", certificate, of_key=False)
    else:
        for tier in gateway.tiers:
            of = f"the certificate of tier `{tier.tier}`"
            yield Claim("Secret", here, tls_secret(tier.tier), of, ("tiers", tier.tier))
        if gateway.tls.kind == "self_signed":
            yield Claim("Secret", here, CA_SECRET, "the cell's own authority", ("gateway", "tls"))
    tokens = {m.token_secret for m in facts.fleet.models if m.token_secret}
    for token in sorted(tokens):
        yield Claim("Secret", SERVING_NAMESPACE, token_secret_name(token), f"the token `{token}`", ("models",))
    if cell.images.pull_secret:
        for namespace in (here, SERVING_NAMESPACE):
            pull: YamlPath = ("images", "pull_secret")
            yield Claim("Secret", namespace, cell.images.pull_secret, "what pulls images", pull, of_key=False)


@rule(
    "IF-NAM-004",
    "a cell with the name of a tier",
    joins=("environment", "cluster"),
    why="both are names in one domain: under a tier's name requests are served, under a cell's only its health is "
    "answered. One name cannot be both, neither in DNS nor as a listener of the gateway.",
    do="rename the cell or the tier.",
    source="Gateway API: listeners of one port have distinct hostnames; Route 53: one set of records a name",
)
def cells_are_no_tiers(facts: Facts) -> Iterator[Problem]:
    tiers = {tier.tier for cell in facts.fleet.cells for tier in cell.gateway.tiers}
    for cell in facts.fleet.cells:
        if cell.name in tiers:
            yield Problem(
                ("cells", cell.name),
                f"`{cell.gateway.hostname}` would be the name of the cell and of the tier `{cell.name}`",
                f"rename `{cell.name}`",
                of_key=True,
            )
