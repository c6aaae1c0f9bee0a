"""What the gateways of all cells ask of a request before it reaches a GPU."""

from typing import Annotated, Literal

from pydantic import Field

from inferfab.environment.base import Input, Items, Name, PositiveCount, matching

_URL = r"^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[^\s?#]*)?$"
HttpsUrl = Annotated[str, matching(_URL, "write an https URL without query, like https://login.example.com/realms/ml")]


class AcmeTls(Input):
    """A certificate a tier from an ACME authority, proven by DNS records in the environment's zone (Route 53)."""

    kind: Literal["acme"]
    email: Annotated[str, matching(r"^[^@\s]+@[^@\s]+\.[a-z]{2,63}$", "write an email address", max_length=254)]
    """Whom the authority writes to before a certificate ends."""
    server: HttpsUrl = "https://acme-v02.api.letsencrypt.org/directory"
    """Directory of the authority. Default: Let's Encrypt."""
    dns_role: (
        Annotated[
            str,
            matching(
                r"^arn:aws:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]{1,512}$",
                "write the ARN of an IAM role, like arn:aws:iam::123456789012:role/inferfab-certificates",
            ),
        ]
        | None
    ) = None
    """Role of another account that owns the hosted zone, which cert-manager takes on to prove names. Default:
    `accounts.aws.dns_role`.
    """


class SecretTls(Input):
    """A certificate of your own."""

    kind: Literal["secret"]
    secret: Annotated[
        str, matching(r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "write the name of a Kubernetes Secret", max_length=253)
    ]
    """Secret of type `kubernetes.io/tls` in the namespace of the gateways, of every cell. It covers all their names."""


class SelfSignedTls(Input):
    """A certificate that the cell's cert-manager signs itself: clients have to be given its authority."""

    kind: Literal["self_signed"] = "self_signed"


Tls = Annotated[AcmeTls | SecretTls | SelfSignedTls, Field(discriminator="kind")]


class NoAuthentication(Input):
    """Whoever reaches a gateway is served."""

    kind: Literal["none"]


class ApiKeys(Input):
    """Each tenant has a key in the secret store; requests carry it as `Authorization: Bearer …`."""

    kind: Literal["api_keys"] = "api_keys"


class Oidc(Input):
    """Requests carry a token (JWT) of an issuer, as `Authorization: Bearer …`."""

    kind: Literal["oidc"]
    issuer: HttpsUrl
    """Value of the claim `iss`."""
    jwks_uri: HttpsUrl
    """Where the issuer publishes its keys: `jwks_uri` of its discovery document."""
    audiences: Annotated[Items[str], Field(min_length=1)]
    """Values of the claim `aud` that are taken."""
    tenant_claim: Annotated[
        str, matching(r"^[A-Za-z0-9_.-]+$", "write the name of a claim: letters, digits, dots, dashes")
    ] = "sub"
    """Claim whose value is the tenant's name. Default: `sub`."""


Authentication = Annotated[NoAuthentication | ApiKeys | Oidc, Field(discriminator="kind")]


class LocalLimits(Input):
    """Each gateway instance counts for itself, and counts requests: tokens cannot be counted this way."""

    kind: Literal["local"]


class GlobalLimits(Input):
    """The instances of a cell count together, in its Redis: requests and tokens."""

    kind: Literal["global"] = "global"
    redis: (
        Annotated[
            str,
            matching(r"^[a-z0-9.-]+:[0-9]{1,5}$", "write host and port, like redis.example.com:6379", max_length=253),
        ]
        | None
    ) = None
    """A Redis that is there already. Default: one in the cell, without disks: a restart forgets the last minute."""
    when_down: Literal["allow", "refuse"] = "allow"
    """What a request gets while nobody can count. Default: it is served."""


RateLimits = Annotated[LocalLimits | GlobalLimits, Field(discriminator="kind")]


class TierGate(Input):
    """What differs for one tier."""

    timeout_seconds: Annotated[int, Field(ge=1, le=86_400)] | None = None
    """Longest time of one request, waiting and streaming included. Default: ten times the strictest TTFT promise (at
    least 60 s), and time for an answer as long as the context allows at the tier's pace.
    """
    queue_per_worker: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Requests that wait in Dynamo's router for each worker before more are refused. Default: places of the engine's
    batch times 4 in the first tier, 2 in the next, 1 in all others, so the last tier refuses first.
    """
    retry_after_seconds: Annotated[int, Field(ge=1, le=3_600)] | None = None
    """What a refused request is told. Default: 2 s in the first tier, 10 s in the next, 60 s in all others."""


class Gateway(Input):
    """The gateways of every cell. How many there are is the cells' (`gateways`)."""

    tls: Tls | None = None
    """Default: `self_signed`; the plan shows it."""
    authentication: Authentication | None = None
    """Default: `api_keys` where there are tenants, otherwise nobody is asked."""
    rate_limits: RateLimits = GlobalLimits()
    """Who counts what tenants use; nothing is counted without tenants. Default: `global`."""
    body_limit_mib: Annotated[int, Field(ge=1, le=1_024)] | None = None
    """Largest request. Default: 8 bytes for each token of the longest context and 1 MiB, rounded up: text. Images in
    requests need more.
    """
    connections_per_instance: Annotated[PositiveCount, Field(ge=10)] = 10_000
    """Client connections that one gateway instance keeps at a time. Default: 10,000."""
    tiers: dict[Name, TierGate] = {}
    """Default: every tier as described there."""
