"""Prometheus' HTTP API, as much of it as a judgement needs."""

import json
import math
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from typing import Any, Protocol

Sample = tuple[dict[str, str], float]
"""Labels and value."""


class NoAnswer(Exception):
    """A server did not answer, or not as Prometheus does; the message says which and how."""


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
        data = urllib.parse.urlencode({"query": promql}).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/query", data)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                body: Any = json.load(answer)
        except urllib.error.HTTPError as error:
            said = error.read(300).decode("utf-8", "replace").strip()
            raise NoAnswer(f"{self.url} answered {error.code} to {promql}: {said}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise NoAnswer(f"{self.url} gave no answer: {getattr(error, 'reason', error)}") from error
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
