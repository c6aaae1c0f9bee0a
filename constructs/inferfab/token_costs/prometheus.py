"""Asking Prometheus, and reading what it answered. Source: Prometheus HTTP API, /api/v1/query_range."""

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Protocol

from pydantic import BaseModel, ValidationError

DAY_SECONDS = 86_400
COST, TOKENS = "inferfab:pool_cost_usd:sum1d", "inferfab:pool_tokens:sum1d"
QUERY = f'{{__name__=~"{COST}|{TOKENS}"}}'
"""Both series in one answer; each value is the sum over the day that ends at its time."""
MOST_BYTES = 64 * 1024 * 1024


class NoAnswer(Exception):
    """Prometheus did not answer, or something else did; the message says what was asked and what to do."""


class Series(BaseModel):
    """One series over time: (unix time, value as text)."""

    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(BaseModel):
    resultType: str  # noqa: N815 - Prometheus' name
    result: list[Series]


class _Answer(BaseModel):
    status: str
    data: _Data | None = None
    error: str = ""


class Source(Protocol):
    """What has the series of one or several cells."""

    name: str

    def series(self, start: int, end: int) -> list[Series]:
        """Series of :data:`QUERY` at every midnight from ``start`` to ``end``, in unix time.

        :raises NoAnswer: if there is no answer that can be read.
        """


class PrometheusServer:
    """A server by its address."""

    def __init__(self, url: str, *, timeout_seconds: float = 30.0) -> None:
        self.name = url.rstrip("/")
        self._timeout = timeout_seconds

    def series(self, start: int, end: int) -> list[Series]:
        asked = urllib.parse.urlencode({"query": QUERY, "start": start, "end": end, "step": DAY_SECONDS})
        address = f"{self.name}/api/v1/query_range?{asked}"
        try:
            with urllib.request.urlopen(address, timeout=self._timeout) as answer:
                text = answer.read(MOST_BYTES + 1)
        except urllib.error.HTTPError as error:
            # Errors of Prometheus itself come with a body of the same form.
            return read_answer(error.read(MOST_BYTES), f"{self.name} (HTTP {error.code})")
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise NoAnswer(
                f"{self.name} does not answer: {reason}; within a cell it is reached by `kubectl -n monitoring "
                "port-forward svc/prometheus-kube-prometheus-prometheus 9090`, then --prometheus http://127.0.0.1:9090"
            ) from error
        if len(text) > MOST_BYTES:
            raise NoAnswer(f"{self.name} answers with more than {MOST_BYTES:,} bytes: ask for fewer days")
        return read_answer(text, self.name)


class AnswerFile:
    """An answer that was kept: what ``curl`` got for the same question."""

    def __init__(self, name: str, text: bytes) -> None:
        self.name = name
        self._text = text

    def series(self, start: int, end: int) -> list[Series]:
        found = []
        for one in read_answer(self._text, self.name):
            values = [(at, value) for at, value in one.values if start <= at <= end]
            if values:
                found.append(one.model_copy(update={"values": values}))
        return found


def read_answer(text: bytes, whose: str) -> list[Series]:
    """
    :raises NoAnswer: if it is not an answer of Prometheus, or one that says what went wrong.
    """
    try:
        answer = _Answer.model_validate(json.loads(text))
    except (ValueError, ValidationError, RecursionError) as error:
        raise NoAnswer(f"{whose}: this is no answer of Prometheus' query_range") from error
    if answer.status != "success" or answer.data is None:
        raise NoAnswer(f"{whose}: Prometheus says: {answer.error or answer.status}")
    if answer.data.resultType != "matrix":
        raise NoAnswer(f"{whose}: an answer of kind {answer.data.resultType}, where query_range gives a matrix")
    return answer.data.result
