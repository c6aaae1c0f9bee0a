"""Tenants: their parts together, each one's limits, and what one topology can give them."""

from collections import Counter
from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import plain
from inferfab.plan.gateway.gateway import authentication_of


@rule(
    "IF-TEN-001",
    "shares of a tier that are more than the whole",
    stage="reference",
    joins=("environment", "promise"),
    why="tenants that all use what they were given ask for more tokens than the workers have at their planned load: "
    "queues fill and the tier's promise breaks for everybody in it.",
    do="make the shares of each tier add up to 100 or less.",
    source="shares are parts of what the cell's workers do at their planned utilization (plan/gateway/tenants)",
)
def shares_fit(facts: Facts) -> Iterator[Problem]:
    given: dict[str, list[tuple[str, float]]] = {}
    for name, tenant in facts.environment.tenants.items():
        for tier, part in tenant.tiers.items():
            if part is not None and part.share_percent is not None:
                given.setdefault(tier, []).append((name, part.share_percent))
    for tier, parts in given.items():
        total = sum(share for _, share in parts)
        if total > 100 + 1e-9:
            last, share = parts[-1]
            yield Problem(
                ("tenants", last, "tiers", tier, "share_percent"),
                f"the shares of `{tier}` add up to {plain(round(total, 6))} %",
                f"take {plain(round(total - 100, 6))} away, here or from others",
                value=f"{share:g}",
            )


@rule(
    "IF-TEN-002",
    "a limit below one request of its tier",
    joins=("environment", "promise"),
    why="the first request of the size that the tier is made for uses the whole minute, and the tenant gets 429 for "
    "the rest of it.",
    do="allow at least some requests of the tier's workload a minute.",
    source="the tier's workload: prompt and answer",
)
def limits_let_a_request_in(facts: Facts) -> Iterator[Problem]:
    said = set()
    for cell in facts.fleet.cells:
        for tenant in cell.gateway.tenants:
            for part in tenant.tiers:
                workload = facts.tier(part.tier).workload
                one = workload.prompt_tokens + workload.output_tokens
                tokens = part.tokens_per_minute
                if tokens is None or tokens >= one or (tenant.name, part.tier) in said:
                    continue
                said.add((tenant.name, part.tier))
                field = "share_percent" if part.share_percent is not None else "tokens_per_minute"
                yield Problem(
                    ("tenants", tenant.name, "tiers", part.tier, field),
                    f"{tokens:,} tokens a minute in {cell.name}, and one request of `{part.tier}` has {one:,}",
                    f"give at least {one} tokens a minute",
                )


@rule(
    "IF-TEN-003",
    "GPUs of a tenant's own",
    stage="reference",
    joins=("environment", "engine"),
    why="tenants meet on the pools of a tier: Dynamo finds its workers within one namespace, and all that serves in a "
    "cell is in that one, so nothing would keep others off the tenant's GPUs.",
    do="give the tenant a tier of its own with a pool of its own, which no other tenant names.",
    source="ai-dynamo 1.6.1 lib/runtime, Kubernetes discovery in one namespace",
)
def tenants_share(facts: Facts) -> Iterator[Problem]:
    for name, tenant in facts.environment.tenants.items():
        if tenant.serving == "dedicated":
            yield Problem(
                ("tenants", name, "serving"),
                f"`{name}` would have GPUs of its own, which is not supported in a cell with one serving namespace",
                "declare a tier and a pool for it alone, and write `shared`",
            )


@rule(
    "IF-TEN-004",
    "keys in Google cells",
    severity="warning",
    joins=("environment", "cloud", "cluster"),
    why="External Secrets is not installed in clusters on Google; until the Secrets are there, every request is "
    "refused.",
    do="make the Secrets by hand in the gateways' namespace, or use `oidc`.",
    source="inferfab's stacks",
)
def keys_reach_google(facts: Facts) -> Iterator[Problem]:
    if facts.fleet.ownership.accounts.gcp is None or authentication_of(facts.environment).kind != "api_keys":
        return
    cells = [cell for cell in facts.fleet.cells if cell.cloud == "gcp" and cell.gateway.groups]
    if cells and facts.environment.tenants:
        first = cells[0].gateway.tenants[0]
        names = ", ".join(f"`{cell.name}`" for cell in cells)
        yield Problem(
            ("tenants",),
            f"nothing brings keys into {names}",
            f"kubectl create secret generic {first.credential} --namespace {cells[0].gateway.namespace} "
            f"--from-literal={first.identity}=…, for each tenant",
            of_key=True,
        )


@rule(
    "IF-TEN-005",
    "two tenants with one credential",
    stage="reference",
    joins=("environment",),
    why="the gateway cannot tell them apart: both are counted and billed as whichever stands first.",
    do="give each tenant a secret, or a claim, of its own.",
    source="Envoy: api_key_auth refuses duplicate keys; authorization takes the first rule that matches",
)
def tenants_are_told_apart(facts: Facts) -> Iterator[Problem]:
    for field in ("api_key", "claim"):
        said = Counter(
            value for tenant in facts.environment.tenants.values() if (value := getattr(tenant, field)) is not None
        )
        seen: dict[str, str] = {}
        for name, tenant in facts.environment.tenants.items():
            value = getattr(tenant, field)
            if value is None or said[value] < 2:
                continue
            if value in seen:
                yield Problem(
                    ("tenants", name, field), f"`{seen[value]}` has the same", f"give `{name}` one of its own"
                )
            seen.setdefault(value, name)


@rule(
    "IF-TEN-006",
    "a share of nobody knows what",
    joins=("environment", "promise"),
    why="there is no estimate of what the pools of the tier do in a minute, so a share of it is no number and the "
    "tenant would not be limited.",
    do="write `tokens_per_minute`.",
    source="plan/gateway/tenants: rate of the tier's pools in the cell",
)
def shares_are_numbers(facts: Facts) -> Iterator[Problem]:
    said = set()
    for cell in facts.fleet.cells:
        for tenant in cell.gateway.tenants:
            for part in tenant.tiers:
                key = (tenant.name, part.tier)
                if part.share_percent is not None and part.tokens_per_minute is None and key not in said:
                    said.add(key)
                    yield Problem(
                        ("tenants", tenant.name, "tiers", part.tier, "share_percent"),
                        f"what `{part.tier}` does in a minute in {cell.name} is not known",
                        "write `tokens_per_minute: …` in its place",
                    )


@rule(
    "IF-TEN-007",
    "tenants that nobody tells apart",
    stage="reference",
    joins=("environment",),
    why="with `authentication: none` no request says whose it is, so whoever comes uses every tier, and no share or "
    "limit is ever counted: budgets are written down that hold for nobody.",
    do="let requests bring a key or a token, or remove the tenants.",
    source="Envoy Gateway 1.9: limits are counted by a header that only its key or token filter writes",
)
def tenants_are_known(facts: Facts) -> Iterator[Problem]:
    asked = facts.environment.gateway.authentication
    if asked is not None and asked.kind == "none" and facts.loaded.has("tenants"):
        names = ", ".join(f"`{name}`" for name in facts.environment.tenants)
        yield Problem(
            ("gateway", "authentication", "kind"),
            f"`none` asks nobody, and tenants have tiers of their own: {names}",
            "leave `authentication` out (each tenant has a key), or use `oidc`",
            value="none",
        )
