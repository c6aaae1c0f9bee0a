"""Observability: what is kept, who is told, and where people look."""

from typing import Annotated, Literal

from pydantic import Field

from inferfab.environment.base import Input, Items, matching
from inferfab.environment.images import ImageReference

KubernetesName = Annotated[
    str,
    matching(
        r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        "write the name of a Secret: lower-case letters, digits, dashes and dots",
        max_length=253,
    ),
]
SecretKey = Annotated[
    str, matching(r"^[-._a-zA-Z0-9]+$", "write a key of a Secret: letters, digits, dashes, dots", max_length=253)
]
HttpsUrl = Annotated[str, matching(r"^https?://[^\s/]+(/\S*)?$", "write an address, like https://metrics.example.com/")]


class Grafana(Input):
    """Dashboards in the cell."""

    admin_secret: KubernetesName
    """Secret in the namespace `monitoring` with `admin-user` and `admin-password`; it has to be there before the
    platform is deployed, because Grafana does not start without it.
    """


class PagerDuty(Input):
    """PagerDuty, Events API v2."""

    kind: Literal["pagerduty"]
    secret: KubernetesName
    """Secret in `monitoring` that holds the routing key."""
    key: SecretKey = "routing-key"
    """Default: `routing-key`."""


class Slack(Input):
    """A Slack channel."""

    kind: Literal["slack"]
    channel: Annotated[str, matching(r"^[#@]?[\w.-]+$", "write a channel, like #gpu-fleet", max_length=81)]
    """Where to write."""
    secret: KubernetesName
    """Secret in `monitoring` that holds the address of the webhook."""
    key: SecretKey = "url"
    """Default: `url`."""


class Webhook(Input):
    """Any service that takes Alertmanager's webhook."""

    kind: Literal["webhook"]
    secret: KubernetesName
    """Secret in `monitoring` that holds the address."""
    key: SecretKey = "url"
    """Default: `url`."""


Receiver = Annotated[PagerDuty | Slack | Webhook, Field(discriminator="kind")]


class Route(Input):
    """Which receiver takes what."""

    page: str | None = None
    """Receiver of what cannot wait for the morning. Default: nobody is woken."""
    ticket: str | None = None
    """Receiver of what can. Default: such alerts show in Alertmanager and Grafana only."""
    dead_mans_switch: str | None = None
    """Receiver that expects word every few minutes and raises the alarm by itself when none comes: the only one that
    hears of a dead Prometheus. Default: nobody notices.
    """


class RemoteWrite(Input):
    """A store that keeps the recorded series of all cells together."""

    url: HttpsUrl
    """Address that takes Prometheus' remote write."""
    secret: KubernetesName | None = None
    """Secret in `monitoring` that holds a bearer token. Default: none is sent."""
    key: SecretKey = "token"
    """Default: `token`."""


class Observability(Input):
    """Metrics, alerts and dashboards of every cell."""

    grafana: Grafana | None = None
    """Default: no Grafana in the cells; the dashboards are installed as ConfigMaps all the same."""
    retention_days: Annotated[int, Field(ge=1, le=400)] = 35
    """How long a cell's Prometheus keeps series, if its volume holds them. Default: 35 days, so that a 30-day error
    budget and two weeks of cost are there.
    """
    storage_gib: Annotated[int, Field(ge=10, le=16_000)] = 200
    """Volume of each Prometheus. Default: 200 GiB."""
    prometheus_replicas: Annotated[int, Field(ge=1, le=2)] = 1
    """Prometheus servers in a cell, each with all series and a volume of its own. Default: 1: while it is away nothing
    alerts in that cell, planners see no demand, and no free capacity is published. With 2, one may be away.
    """
    receivers: dict[Annotated[str, matching(r"^[a-z][-a-z0-9]*$", "write a short name", max_length=40)], Receiver] = {}
    """Who can be told. Secrets are named, never written here. Default: nobody."""
    route: Route = Route()
    """Default: nobody is told."""
    runbooks: HttpsUrl | None = None
    """Address of the folder with the runbook pages; an alert links `<address>/<alert>.md`. Default: the alert names
    the page in inferfab's own `docs/runbooks`.
    """
    least_requests: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    """An error budget alerts only when so many requests began in the alert's longer window, for two failures of three
    requests at night say little. Default: 50.
    """
    cost_rise_percent: Annotated[float, Field(ge=1, le=1000)] = 20.0
    """Dollars per million tokens of a week over the week before that open a ticket. Default: 20 %."""
    remote_write: RemoteWrite | None = None
    """Where recorded series go as well, labelled with environment and cell. Default: nowhere, and each cell's
    dashboards show that cell.
    """
    efa_exporter_image: ImageReference | None = None
    """Image of AWS's patched node_exporter with EFA counters, which has no public one. Default: EFA counters are not
    collected, and a fallback to TCP shows only in the speed of KV transfers.
    """

    def named_receivers(self) -> Items[tuple[str, str]]:
        """(field of `route`, receiver) of those that are named."""
        return tuple((field, name) for field, name in self.route if name is not None)
