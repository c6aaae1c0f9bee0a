"""How requests find a cell."""

from typing import Annotated, Literal

from inferfab.environment.base import Input, Items, matching


class Routing(Input):
    """Names and geo-routing. DNS cannot see a tier, so each tier has a hostname of its own."""

    domain: Annotated[
        str,
        matching(
            r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$",
            "write a domain name in lower case, like llm.example.com; each part between dots has at most 63 letters, "
            "digits and dashes",
            max_length=200,
        ),
    ]
    """Zone under which the tiers' names stand: `priority.<domain>`, `standard.<domain>`, …"""
    zone: str | None = None
    """Hosted zone in Route 53 that exists already and holds the names. Default: the domain itself."""
    policy: Literal["latency", "geoproximity", "weighted"] = "latency"
    """How a client is matched to a cell. Default: lowest latency. Names are alias records of load balancers:
    clients keep an answer for 60 s, which AWS sets.
    """
    users_near: Items[str] = ()
    """Regions (`aws:eu-west-1`) near which users sit; the plan shows each one's round trip. Default: the cells' own."""
