"""Names in DNS, weights of cells, and round trips between users and cells."""

from pydantic import NonNegativeFloat, PositiveInt

from inferfab.catalog.regions import round_trips_ms
from inferfab.environment.environment import Environment
from inferfab.environment.tiers import Spill
from inferfab.record import Record

SAME_REGION_RTT_MS = 2.0
"""Within one region, zone to zone: AWS documents single-digit milliseconds; 2 ms is the usual figure."""


class CellRecord(Record):
    """One cell's record under a tier's hostname."""

    cell: str
    region: str
    """``cloud:region``."""
    share: NonNegativeFloat
    """Of the tier's traffic, over the cells that serve it."""
    weight: PositiveInt
    """The share in hundredths, as weighted DNS records want it; they count among the cells of one region."""
    health: str


class TierRoute(Record):
    """How requests of one tier find a cell."""

    tier: str
    hostname: str | None
    cells: tuple[CellRecord, ...]
    spill: Spill
    when_all_unhealthy: str


class RoundTripPlan(Record):
    """From where users are to a cell."""

    users_near: str
    cell: str
    rtt_ms: float | None
    """None where the catalog has no measurement of the pair."""


class RoutingPlan(Record):
    """Geo-routing of the environment."""

    domain: str | None
    zone: str | None
    """Hosted zone that holds the names."""
    policy: str
    routes: tuple[TierRoute, ...]
    round_trips: tuple[RoundTripPlan, ...]


def traffic_shares(environment: Environment) -> dict[str, float]:
    """Share of traffic by cell: as stated, the rest in equal parts among cells that state none."""
    stated = {name: c.traffic_share for name, c in environment.cells.items() if c.traffic_share is not None}
    silent = [name for name in environment.cells if name not in stated]
    rest = max(0.0, 1 - sum(stated.values()))
    return {name: stated[name] if name in stated else rest / len(silent) for name in environment.cells}


def round_trip_ms(a: str, b: str) -> float | None:
    """Measured round trip between two regions (``cloud:region``)."""
    return SAME_REGION_RTT_MS if a == b else round_trips_ms().get(frozenset((a, b)))


_UNROUTED = "no routing: each cell answers under its own name only"
_NO_HEALTH = "not asked: no name in DNS leads here"


def _health(environment: Environment) -> str:
    if environment.routing is None:
        return _NO_HEALTH
    words = "HTTPS check of the gateway and a capacity alarm, both needed"
    return f"{words} (CALCULATED, threshold 2)" if environment.accounts.aws else words


def _all_down(environment: Environment) -> str:
    """Route 53 is named where there is an account for it; what other services answer is theirs to say."""
    if environment.routing is None:
        return _UNROUTED
    if environment.accounts.aws:
        return "Route 53 answers with every record, so clients reach a gateway that answers 503 with Retry-After"
    return "DNS should answer with every record, so that clients reach a gateway that answers 503 with Retry-After"


def plan_routing(environment: Environment, tiers: dict[str, Spill], serving: dict[str, tuple[str, ...]]) -> RoutingPlan:
    """Routes by tier.

    :param tiers: spill by tier.
    :param serving: cells that serve a tier.
    """
    shares = traffic_shares(environment)
    asked = environment.routing
    routes = []
    for tier, spill in tiers.items():
        cells = serving.get(tier, ())
        whole = sum(shares[c] for c in cells)
        routes.append(
            TierRoute(
                tier=tier,
                hostname=f"{tier}.{asked.domain}" if asked else None,
                cells=tuple(_record(environment, c, shares[c] / whole if whole else 1 / len(cells)) for c in cells),
                spill=spill,
                when_all_unhealthy=_all_down(environment),
            )
        )
    users = (asked.users_near if asked else ()) or tuple(
        dict.fromkeys(_region(environment, c) for c in environment.cells)
    )
    trips = tuple(
        RoundTripPlan(users_near=u, cell=c, rtt_ms=round_trip_ms(u, _region(environment, c)))
        for u in users
        for c in environment.cells
    )
    return RoutingPlan(
        domain=asked.domain if asked else None,
        zone=(asked.zone or asked.domain) if asked else None,
        policy=asked.policy if asked else "none",
        routes=tuple(routes),
        round_trips=trips,
    )


def _record(environment: Environment, cell: str, share: float) -> CellRecord:
    return CellRecord(
        cell=cell,
        region=_region(environment, cell),
        health=_health(environment),
        share=share,
        # Route 53 sends nothing to a record of weight 0.
        weight=max(1, round(100 * share)),
    )


def _region(environment: Environment, cell: str) -> str:
    return f"{environment.cells[cell].cloud}:{environment.cells[cell].region}"
