"""Asking Prometheus, and reading what it answered. Source: Prometheus HTTP API, /api/v1/query_range."""

import math
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError, field_validator

from inferfab.prometheus_http import SECONDS, NoAnswer, PrometheusHttp, result_of

DAY_SECONDS = 86_400
COST, TOKENS = "inferfab:pool_cost_usd:sum1d", "inferfab:pool_tokens:sum1d"
QUERY = f'{{__name__=~"{COST}|{TOKENS}"}}'
"""Both series in one answer; each value is the sum over the day that ends at its time."""


class Series(BaseModel):
    """One series over time: (unix time, value as text)."""

    metric: dict[str, str]
    values: list[tuple[float, str]]

    @field_validator("values")
    @classmethod
    def _numbers(cls, values: list[tuple[float, str]]) -> list[tuple[float, str]]:
        for at, value in values:
            float(value)
            if not math.isfinite(at):
                raise ValueError("a time is none")
        return values


class Source(Protocol):
    """What has the series of one or several cells."""

    name: str

    def series(self, start: int, end: int) -> list[Series]:
        """Series of :data:`QUERY` at every midnight from ``start`` to ``end``, in unix time.

        :raises NoAnswer: if there is no answer that can be read.
        """


class PrometheusServer:
    """A server by its address.

    :raises BadAddress: if it is none.
    """

    def __init__(self, url: str, *, seconds: float = SECONDS) -> None:
        self._http = PrometheusHttp(url, seconds=seconds)
        self.name = self._http.shown

    def series(self, start: int, end: int) -> list[Series]:
        asked: dict[str, str | int] = {"query": QUERY, "start": start, "end": end, "step": DAY_SECONDS}
        return _series(self._http.ask("query_range", asked), self.name)


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
    return _series(result_of(text, "query_range", whose), whose)


def _series(result: list[Any], whose: str) -> list[Series]:
    try:
        return [Series.model_validate(one) for one in result]
    except ValidationError as error:
        raise NoAnswer(f"{whose}: a series is not as Prometheus' query_range writes one") from error
