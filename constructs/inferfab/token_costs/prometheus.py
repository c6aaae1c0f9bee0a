"""Asking Prometheus, and reading what it answered. Source: Prometheus HTTP API, /api/v1/query_range."""

import json
from http import HTTPStatus
from typing import Protocol

from pydantic import BaseModel, ValidationError

from inferfab.prometheus_http import NoAnswer, post

DAY_SECONDS = 86_400
COST, TOKENS = "inferfab:pool_cost_usd:sum1d", "inferfab:pool_tokens:sum1d"
QUERY = f'{{__name__=~"{COST}|{TOKENS}"}}'
"""Both series in one answer; each value is the sum over the day that ends at its time."""


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
        try:
            status, text = post(
                self.name, "/api/v1/query_range", timeout_seconds=self._timeout, query=QUERY, start=start, end=end,
                step=DAY_SECONDS,
            )  # fmt: skip
        except NoAnswer as error:
            raise NoAnswer(
                f"{error}; within a cell it is reached by `kubectl -n monitoring port-forward "
                "svc/prometheus-kube-prometheus-prometheus 9090`, then --prometheus http://127.0.0.1:9090"
            ) from error
        return read_answer(text, self.name if status == HTTPStatus.OK else f"{self.name} (HTTP {status})")


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
