"""What the gateways are asked to do, against what the tiers promise and what can be done."""

import re
from collections.abc import Iterator

from inferfab.catalog.kubernetes import minor
from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import plain
from inferfab.environment.gateway import GlobalLimits
from inferfab.environment.problems import meant
from inferfab.findings import YamlPath
from inferfab.plan.draining import MOST_ANSWER_SECONDS
from inferfab.plan.gateway.gateway import MIB, authentication_of
from inferfab.plan.tiers import DEFAULT_TIERS

_BYTES_PER_TOKEN = 4
"""Of text in a request, at least: English in common tokenizers. Estimate."""
_ENVELOPE_BYTES = 4096
"""Of a request beside its text."""
_ZONE_LABELS = "1.35"
"""Kubernetes that puts a node's zone on its pods by itself."""


@rule(
    "IF-GTW-001",
    "a public entrance that asks nobody who they are",
    severity="warning",
    joins=("environment", "cloud"),
    why="whoever finds the name uses the GPUs, in any tier, and nobody is told apart in limits, costs and logs.",
    do="name `tenants`, or make the gateways internal.",
    source="OWASP API security top 10: broken authentication, unrestricted resource consumption",
)
def somebody_is_asked(facts: Facts) -> Iterator[Problem]:
    if authentication_of(facts.environment).kind != "none":
        return
    open_cells = [
        name for name, cell in facts.environment.cells.items() if cell.gateways.public and cell.gateways.replicas
    ]
    if open_cells:
        asked = facts.environment.gateway.authentication
        yield Problem(
            ("gateway", "authentication") if asked else ("cells", open_cells[0]),
            f"the gateways of {', '.join(f'`{c}`' for c in open_cells)} are public and serve whoever comes",
            "name `tenants` (each with a key), or write `public: false` under `gateways`",
            value="none",
            of_key=asked is None,
        )


@rule(
    "IF-GTW-002",
    "credentials that the authentication does not read",
    stage="reference",
    joins=("environment",),
    why="a tenant comes with a key or with a token of an issuer, not with both; the other one would be written down "
    "and never asked for, and who holds it would be refused.",
    do="keep what `gateway.authentication` reads: `api_key` with `api_keys`, `claim` with `oidc`.",
    source="Envoy Gateway 1.9: SecurityPolicy, apiKeyAuth and jwt each require their own credential",
)
def one_kind_of_credential(facts: Facts) -> Iterator[Problem]:
    kind = authentication_of(facts.environment).kind
    for name, tenant in facts.environment.tenants.items():
        for field, of in (("api_key", "api_keys"), ("claim", "oidc")):
            if getattr(tenant, field) is not None and kind != of:
                yield Problem(
                    ("tenants", name, field),
                    f"`{name}` has `{field}`, and the gateways read {_reads(kind)}",
                    f"remove `{field}`, or write `gateway.authentication: {{kind: {of}}}`",
                    of_key=True,
                )


def _reads(kind: str) -> str:
    return {"none": "nothing", "api_keys": "API keys", "oidc": "tokens of an issuer"}[kind]


@rule(
    "IF-GTW-003",
    "token limits that nobody counts",
    stage="reference",
    joins=("environment", "cluster"),
    why="tokens are known only at the end of an answer, and only limits that count together in Redis can be charged "
    "then; local limits count requests at their beginning.",
    do="use `rate_limits: {kind: global}`, or limit requests.",
    source="Envoy Gateway 1.9: BackendTrafficPolicy, cost is supported for global rate limits only",
)
def tokens_are_counted(facts: Facts) -> Iterator[Problem]:
    if isinstance(facts.environment.gateway.rate_limits, GlobalLimits):
        return
    for name, tenant in facts.environment.tenants.items():
        for tier, part in tenant.tiers.items():
            if part is None:
                continue
            field = "share_percent" if part.share_percent is not None else "tokens_per_minute"
            if getattr(part, field) is not None:
                yield Problem(
                    ("tenants", name, "tiers", tier, field),
                    f"`{name}` has so many tokens in `{tier}`, and `rate_limits: local` counts requests only",
                    "write `gateway.rate_limits: {kind: global}`, or `requests_per_minute` here",
                )


@rule(
    "IF-GTW-004",
    "a timeout shorter than the answers that are promised",
    joins=("environment", "promise"),
    why="the gateway would cut off streams in the middle, of requests that the tier was sized for.",
    do="give the tier more time, or leave `timeout_seconds` out.",
    source="the tier's workload at its promised TTFT and pace (plan/gateway)",
)
def timeouts_fit(facts: Facts) -> Iterator[Problem]:
    said = set()
    for cell in facts.fleet.cells:
        for tier in cell.gateway.tiers:
            if tier.timeout_seconds < tier.least_timeout_seconds and tier.tier not in said:
                said.add(tier.tier)
                yield Problem(
                    ("gateway", "tiers", tier.tier, "timeout_seconds"),
                    f"an answer of `{tier.tier}` takes up to {plain(round(tier.least_timeout_seconds, 1))} s at its "
                    f"promises, and the gateway gives {tier.timeout_seconds} s",
                    f"write `timeout_seconds: {int(tier.least_timeout_seconds) + 1}` or more",
                )


@rule(
    "IF-GTW-005",
    "a body limit below the context",
    joins=("environment", "engine"),
    why="the model takes prompts that no gateway lets through: they end with 413.",
    do="raise `body_limit_mib`, or leave it out.",
    source="4 bytes of text a token (estimate); Envoy Gateway 1.9: requestBuffer.limit",
)
def bodies_fit(facts: Facts) -> Iterator[Problem]:
    if facts.environment.gateway.body_limit_mib is None:
        return
    served = {name for pool in facts.fleet.pools for name in pool.models}
    longest = max((m for m in facts.fleet.models if m.name in served), key=lambda m: m.context_tokens)
    needed = longest.context_tokens * _BYTES_PER_TOKEN + _ENVELOPE_BYTES
    limit = facts.environment.gateway.body_limit_mib * MIB
    if limit < needed:
        yield Problem(
            ("gateway", "body_limit_mib"),
            f"`{longest.name}` takes {longest.context_tokens:,} tokens, about {needed / MIB:.1f} MiB of text",
            f"write `body_limit_mib: {-(-needed // MIB)}` or more",
        )


@rule(
    "IF-GTW-006",
    "a tier at the gateways that is not there",
    stage="reference",
    joins=("environment",),
    why="what is said of it holds for no request; the tier that was meant keeps its defaults, or the tenant is "
    "refused.",
    do="correct the name, or declare the tier and place a pool of it.",
    source="inferfab's environment format",
)
def tiers_are_there(facts: Facts) -> Iterator[Problem]:
    declared = facts.loaded.declared["tiers"] or frozenset(DEFAULT_TIERS)
    environment = facts.environment
    pools = {name for cell in environment.cells.values() for name in cell.pools}
    served = {environment.pools[name].tier for name in pools if name in environment.pools}
    whole = all(len(getattr(environment, part)) == len(facts.loaded.declared[part]) for part in ("pools", "cells"))
    named: list[tuple[YamlPath, str]] = [(("gateway", "tiers", tier), tier) for tier in environment.gateway.tiers]
    named += [(("tenants", name, "tiers", tier), tier) for name, t in environment.tenants.items() for tier in t.tiers]
    for path, tier in named:
        if tier not in declared:
            fix = meant(tier, sorted(declared))
            if hit := re.match(r"did you mean `([^`]+)`", fix):
                fix = f"rename `{tier}` to `{hit[1]}`"
            yield Problem(path, f"there is no tier `{tier}`", fix, of_key=True)
        elif whole and tier not in served:
            yield Problem(
                path,
                f"no cell has a pool of tier `{tier}`, so it has no name and nobody answers",
                f"place a pool of `{tier}`, or name a tier that is served",
                severity="warning",
                of_key=True,
            )


@rule(
    "IF-GTW-007",
    "certificates that cannot be proven",
    severity="warning",
    joins=("environment", "cloud"),
    why="an authority wants a record in DNS for each name. Only cells on AWS may write into the zone; elsewhere the "
    "gateways would have self-signed certificates, which clients refuse.",
    do="name a certificate of your own with `kind: secret`, or let `routing` name a zone in Route 53.",
    source="cert-manager documentation: DNS01 with Route 53; inferfab's stacks",
)
def names_can_be_proven(facts: Facts) -> Iterator[Problem]:
    tls = facts.environment.gateway.tls
    if tls is None or tls.kind != "acme":
        return
    if facts.environment.routing is None:
        yield Problem(
            ("gateway", "tls", "kind"),
            "without `routing` there is no zone in which names could be proven, so certificates are self-signed",
            "add `routing`, or use `kind: secret` or `self_signed`",
        )
        return
    google = [name for name, cell in facts.environment.cells.items() if cell.cloud == "gcp"]
    if google:
        yield Problem(
            ("gateway", "tls", "kind"),
            f"{', '.join(f'`{name}`' for name in google)} on Google cannot write into the zone, and would have "
            "self-signed certificates",
            "name a certificate of your own: `{kind: secret, secret: …}`",
        )


@rule(
    "IF-GTW-008",
    "self-signed certificates under public names",
    severity="info",
    joins=("environment", "cloud"),
    why="clients refuse them unless they are given the cell's own authority, and each cell has another.",
    do="use `kind: acme`, or `kind: secret` with a certificate of your own.",
    source="RFC 5280, section 6: path validation ends at a trust anchor that the client has",
)
def names_are_trusted(facts: Facts) -> Iterator[Problem]:
    environment = facts.environment
    public = any(cell.gateways.public and cell.gateways.replicas for cell in environment.cells.values())
    if environment.routing is None or not public:
        return
    if environment.gateway.tls is None or environment.gateway.tls.kind == "self_signed":
        asked = environment.gateway.tls is not None
        yield Problem(
            ("gateway", "tls", "kind") if asked else ("routing",),
            f"the names under `{environment.routing.domain}` have self-signed certificates",
            "write `gateway.tls: {kind: acme, email: …}`",
            value="self_signed",
            of_key=not asked,
        )


@rule(
    "IF-GTW-009",
    "keys that nobody has",
    stage="reference",
    joins=("environment",),
    why="keys belong to tenants: without any, every request is refused with 401.",
    do="name `tenants`, or leave `authentication` out.",
    source="Envoy Gateway 1.9: SecurityPolicy, apiKeyAuth.credentialRefs",
)
def somebody_has_a_key(facts: Facts) -> Iterator[Problem]:
    asked = facts.environment.gateway.authentication
    if asked is not None and asked.kind == "api_keys" and not facts.loaded.has("tenants"):
        yield Problem(
            ("gateway", "authentication", "kind"), "`api_keys` without tenants: there is no key", "name `tenants`"
        )


@rule(
    "IF-GTW-010",
    "racks whose pods do not know where they are",
    severity="warning",
    stage="reference",
    joins=("environment", "cluster", "pod"),
    why="gateways find the pods of their rack by the label that Kubernetes copies from the node; an older one does "
    "not, so every rack would seem empty and requests would go to any of them.",
    do="use Kubernetes 1.35 or newer for a cell with racks.",
    source="KEP-4742, node topology labels on pods: on by default since 1.35",
)
def racks_are_seen(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        version = cell.cluster.kubernetes
        if cell.racks is not None and minor(version) < minor(_ZONE_LABELS):
            yield Problem(
                ("cells", name, "cluster", "kubernetes"),
                f"pods of Kubernetes {version} do not carry their node's zone, which is their rack",
                f'write "{_ZONE_LABELS}" or newer',
            )


@rule(
    "IF-GTW-016",
    "requests longer than anything waits for them",
    severity="info",
    joins=("environment", "cloud", "pod"),
    why="a pod or a node that goes is given an hour at most, so longer answers are cut off at every update.",
    do="give the tier an hour or less, or let its clients try again.",
    source="plan/draining: AWS target groups deregister within 3,600 s; GKE gives pods an hour",
)
def answers_end(facts: Facts) -> Iterator[Problem]:
    said = set()
    for cell in facts.fleet.cells:
        for tier in cell.gateway.tiers:
            if tier.timeout_seconds > MOST_ANSWER_SECONDS and tier.tier not in said:
                said.add(tier.tier)
                yield Problem(
                    ("gateway", "tiers", tier.tier, "timeout_seconds"),
                    f"a request of `{tier.tier}` may take {tier.timeout_seconds:,} s, and what serves it waits "
                    f"no longer than {MOST_ANSWER_SECONDS:,} s for it when it goes",
                    f"write `timeout_seconds: {MOST_ANSWER_SECONDS}` or less",
                )
