"""Prometheus' HTTP API, as much of it as a judgement needs."""

import math
from typing import Protocol

from inferfab.prometheus_http import SECONDS, NoAnswer, PrometheusHttp

Sample = tuple[dict[str, str], float]
"""Labels and value."""


class Querier(Protocol):
    """Who answers an instant query."""

    def query(self, promql: str) -> list[Sample]:
        """Samples of an instant vector, now.

        :raises NoAnswer: if there is none.
        """
        ...


class Prometheus:
    """One server.

    :param url: ``http://127.0.0.1:9090``, with a path before ``/api`` where a proxy adds one.
    :raises BadAddress: if it is none.
    """

    def __init__(self, url: str, *, seconds: float = SECONDS) -> None:
        self._http = PrometheusHttp(url, seconds=seconds)

    def query(self, promql: str) -> list[Sample]:
        """:raises NoAnswer: for errors of the network, of HTTP, and of the query."""
        try:
            return [
                ({str(k): str(v) for k, v in one["metric"].items()}, float(one["value"][1]))
                for one in self._http.ask("query", {"query": promql})
            ]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise NoAnswer(f"{self._http.shown}: a sample is not as Prometheus writes one") from None


def number(samples: list[Sample]) -> float | None:
    """The one value of a sum; None where there is no series, or no number."""
    if not samples:
        return None
    value = math.fsum(v for _, v in samples)
    return value if math.isfinite(value) else None


def buckets(samples: list[Sample]) -> dict[float, float]:
    """Cumulative counts by edge; those that stay under a smaller edge's (scrapes a moment apart) are lifted to it."""
    found: dict[float, float] = {}
    for labels, value in samples:
        try:
            edge = float(labels["le"].replace("+Inf", "inf"))
        except (KeyError, ValueError):
            continue
        if math.isfinite(value):
            found[edge] = found.get(edge, 0.0) + value
    highest = 0.0
    for edge in sorted(found):
        highest = found[edge] = max(highest, found[edge])
    return found
