"""Tenants: who may use which tier, and how much of it."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfab.environment.base import Count, Input, Name, contradiction, matching
from inferfab.environment.served_models import SecretName


class TenantTier(Input):
    """A tenant's part of one tier, in each cell."""

    share_percent: Annotated[float, Field(gt=0, le=100)] | None = None
    """Part of the tokens that a cell's workers of the tier read and write at their planned load."""
    tokens_per_minute: Annotated[int, Field(ge=1, le=4_294_967_295)] | None = None
    """The same as a number."""
    requests_per_minute: Annotated[int, Field(ge=1, le=4_294_967_295)] | None = None
    """Requests, beside tokens. Default: not limited."""

    @model_validator(mode="after")
    def _one_measure(self) -> "TenantTier":
        if self.share_percent is not None and self.tokens_per_minute is not None:
            raise contradiction(
                "share_percent and tokens_per_minute both say how many tokens",
                "keep one of share_percent and tokens_per_minute",
            )
        return self


class TenantNamespace(Input):
    """A namespace for the tenant's own programs beside the fleet, without GPUs."""

    cpu: Annotated[int, Field(ge=1, le=10_000)] = 8
    """CPUs that its pods may ask for together. Default: 8."""
    memory_gib: Annotated[int, Field(ge=1, le=100_000)] = 32
    """Memory that they may ask for together. Default: 32 GiB."""
    pods: Count = 50
    """Default: 50."""


class Tenant(Input):
    """One user of the fleet: a team, a product, a customer."""

    tiers: Annotated[dict[Name, TenantTier | None], Field(min_length=1)]
    """Tiers that it may use, each with its part; a tier without one is not limited."""
    api_key: SecretName | None = None
    """With `api_keys`: name of the secret, in the secret store of each cell's account, whose text is the key. Default:
    `<environment>/tenants/<tenant>`.
    """
    claim: Annotated[str, matching(r"^[\x21-\x7e]+$", "write letters without spaces", max_length=200)] | None = None
    """With `oidc`: value of the tenant claim. Default: the tenant's name."""
    cost_label: (
        Annotated[
            str,
            matching(
                r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
                "write a Kubernetes label value: letters, digits and - _ . between them",
                max_length=63,
            ),
        ]
        | None
    ) = None
    """Whom its tokens are put down to. Default: the tenant's name."""
    namespace: TenantNamespace | None = None
    """Default: none; it calls from outside."""
    serving: Literal["shared", "dedicated"] = "shared"
    """Whether GPUs are its own. Only `shared` is supported: tenants meet on the pools of a tier. Default: shared."""
