"""The whole environment file."""

from typing import Annotated

from pydantic import AfterValidator, Field

from inferfab.environment.autoscaling import Autoscaling
from inferfab.environment.base import Cidr, Input, Items, Name, impossible, matching
from inferfab.environment.cells import Cell
from inferfab.environment.engine import Engine
from inferfab.environment.gateway import Gateway
from inferfab.environment.images import Images
from inferfab.environment.money import Budget, Prices
from inferfab.environment.observability import Observability
from inferfab.environment.ownership import Access, Accounts, PrivateAccess, State
from inferfab.environment.pools import Pool
from inferfab.environment.rollout import Rollout
from inferfab.environment.routing import Routing
from inferfab.environment.rule_changes import RuleChange
from inferfab.environment.served_models import ServedModel
from inferfab.environment.tenants import Tenant
from inferfab.environment.tiers import Tier

_TAKEN = {
    "sg": "EC2 refuses security groups whose name begins with",
    "internal": "Elastic Load Balancing refuses names that begin with",
    "sthree": "S3 refuses buckets whose name begins with",
    "amzn-s3-demo": "S3 refuses buckets whose name begins with",
    "xn-": "S3 refuses buckets whose name begins with",
}
"""Beginnings that AWS keeps for itself. Source: EC2, ELB and S3 API references, naming rules."""


def _not_taken(name: str) -> str:
    """Names of what is made begin with the environment's."""
    for first, why in _TAKEN.items():
        if f"{name}-".startswith(f"{first}-"):
            raise impossible(f"{why} `{first}-`", "choose another beginning")
    return name


TagValue = Annotated[
    str,
    matching(
        r"^[\w .:/=+@-]*$", "write letters, digits, spaces and + - = . _ : / @, which is what AWS takes", max_length=256
    ),
]


def _not_reserved(key: str) -> str:
    for first, whose in (("aws:", "AWS's own"), ("inferfab-", "written by inferfab")):
        if key.lower().startswith(first):
            raise impossible(f"tags `{first}…` are {whose}", "choose another key")
    return key


TagKey = Annotated[
    str,
    matching(
        r"^[\w .:/=+@-]+$",
        "write one or more letters, digits, spaces and + - = . _ : / @, which is what AWS takes",
        max_length=128,
    ),
    AfterValidator(_not_reserved),
]


def _not_system(pool: str) -> str:
    """Node groups are named by their pools."""
    if pool == "system":
        raise impossible("`system` is the node group that every cell has for what needs no GPU", "choose another name")
    return pool


class KeptApart(Input):
    """Ranges of other traffic that must not meet inference traffic."""

    storage: Items[Cidr] = ()
    """Ranges of storage traffic."""
    storage_ports: Items[Annotated[int, Field(ge=1, le=65535)]] = ()
    """Ports on which GPU nodes may reach storage: 2049 is NFS, 988 Lustre. Default: none, so they reach none of it."""
    training: Items[Cidr] = ()
    """Ranges of training clusters."""


class Alerts(Input):
    """Who hears of alarms and of the budget."""

    emails: Items[
        Annotated[
            str,
            matching(
                r"^[A-Za-z0-9._%+-]+@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$",
                "write an email address, like ml-platform@example.com",
                max_length=254,
            ),
        ]
    ] = ()
    """Addresses that alarms and the budget write to, in each region with a cell. AWS asks each once a region, and sends
    nothing more until the link in that mail was followed. Default: nobody.
    """


class Environment(Input):
    """One deployable whole: dev, staging, prod."""

    version: Annotated[int, Field(ge=1, le=1)] = 1
    """Version of this format."""
    name: Annotated[Name, Field(max_length=20), AfterValidator(_not_taken)]
    """Short name; it begins the name of everything that is made."""
    owner: Annotated[str, Field(min_length=1, max_length=100)]
    """Team that answers for it; on AWS it becomes a tag."""
    tags: Annotated[dict[TagKey, TagValue], Field(max_length=40)] = {}
    """Tags on every cloud resource, at most 40: AWS takes 50, and ours are among them."""
    protected: bool = True
    """Refuse to destroy clusters, state and the model store. Default: yes; an environment to be thrown away says no."""
    accounts: Accounts
    state: State | None = None
    """Default: bucket `inferfab-state-<account>-<environment>` in the first AWS cell's region."""
    access: Access = PrivateAccess()
    """How a runner reaches the clusters. Default: private endpoints only."""
    engine: Engine
    images: Images = Images()
    """Default: every image and chart from its own registry."""
    models: Annotated[dict[Name, ServedModel], Field(min_length=1)]
    tiers: Annotated[dict[Name, Tier], Field(min_length=1)] | None = None
    """Default: `priority`, `standard` and `batch` with the promises described there."""
    pools: Annotated[dict[Annotated[Name, AfterValidator(_not_system)], Pool], Field(min_length=1)]
    """GPUs of one tier; declared here once, placed by the cells."""
    autoscaling: Autoscaling = Autoscaling()
    """How pools that have room to scale follow demand."""
    cells: Annotated[dict[Name, Cell], Field(min_length=1)]
    """Where pools run: each cell is one zone, one cluster, one fabric."""
    routing: Routing | None = None
    """Default: no names in DNS; each cell answers under its load balancer's own."""
    gateway: Gateway = Gateway()
    """What the gateways of all cells ask of a request. Default: as described there."""
    tenants: Annotated[dict[Name, Tenant], Field(max_length=200)] = {}
    """Who may use which tier, and how much of it. Default: nobody is told apart."""
    rollout: Rollout | None = None
    """How changes reach the cells. Default: by hand; no workflow is written."""
    kept_apart: KeptApart = KeptApart()
    """Default: no other ranges are known."""
    alerts: Alerts = Alerts()
    """Default: alarms and budget reach a topic that nobody listens to."""
    observability: Observability = Observability()
    """Default: metrics, rules and dashboards in every cell; no Grafana, and nobody is told."""
    budget: Budget | None = None
    """Default: no ceiling."""
    prices: Prices = Prices()
    """Default: list prices from the catalog."""
    checks: Annotated[Items[RuleChange], Field(max_length=200)] = ()
    """Rules that count for less here, each with its reason. Default: every rule as it is."""
