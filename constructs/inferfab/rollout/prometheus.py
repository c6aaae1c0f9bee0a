"""Prometheus' HTTP API, as much of it as a judgement needs."""

import json
import math
from http import HTTPStatus
from typing import Any, Protocol

from inferfab.prometheus_http import NoAnswer, post

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
    """

    def __init__(self, url: str, *, timeout_seconds: float = 30.0) -> None:
        self.url, self._timeout = url.rstrip("/"), timeout_seconds

    def query(self, promql: str) -> list[Sample]:
        """:raises NoAnswer: for errors of the network, of HTTP, and of the query."""
        status, text = post(self.url, "/api/v1/query", timeout_seconds=self._timeout, query=promql)
        said = text[:300].decode("utf-8", "replace").strip()
        if status != HTTPStatus.OK:
            raise NoAnswer(f"{self.url} answered {status} to {promql}: {said}")
        try:
            body: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise NoAnswer(f"{self.url} gave no answer that can be read: {said}") from error
        try:
            if body["status"] != "success" or body["data"]["resultType"] != "vector":
                raise NoAnswer(f"{self.url} did not answer with a vector to {promql}: {json.dumps(body)[:300]}")
            return [(dict(one["metric"]), float(one["value"][1])) for one in body["data"]["result"]]
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise NoAnswer(f"{self.url} does not answer as Prometheus does: {json.dumps(body)[:300]}") from error


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
