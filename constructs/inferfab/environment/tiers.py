"""Tiers: what is promised to whom. Each promise names metric and percentile."""

from typing import Annotated, Literal

from pydantic import Field

from inferfab.environment.base import Input, Items, Milliseconds, Tokens
from inferfab.environment.traffic import Traffic

Metric = Literal["ttft", "itl", "whole_answer"]
Spill = Literal["never", "when_down", "any"]


class Promise(Input):
    """One latency promise."""

    metric: Metric
    """`ttft`: time to first token; `itl`: time between tokens; `whole_answer`: until the last token."""
    percentile: Annotated[float, Field(gt=0, lt=100)]
    """Share of requests, in percent, that keep it: 50 is the median."""
    at_most_ms: Milliseconds
    """Upper bound in milliseconds."""
    answers_up_to_tokens: Tokens | None = None
    """For `whole_answer`: the promise holds for answers of at most so many tokens. Default: for all."""


class Workload(Input):
    """The request that sizing and bandwidth are worked out for."""

    prompt_tokens: Tokens
    """Prompt length of a typical request."""
    output_tokens: Tokens
    """Answer length of a typical request."""
    utilization: Annotated[float, Field(ge=0.01, le=1)] = 0.7
    """Planned busy share of the desired replicas, from 0.01 to 1; the rest is headroom. Default: 0.7."""


class Tier(Input):
    """A promise to a class of requests. Fields left out come from the tier of that name in the defaults."""

    promises: Items[Promise] | None = None
    """Default: `priority` TTFT p50 200 ms and p95 500 ms; `standard` TTFT p95 2 s and whole answers of up to 128
    tokens p95 5 s; others none.
    """
    availability_percent: Annotated[float, Field(ge=0, lt=100)] | None = None
    """Target share of time in which the tier serves at its planned load. Default: priority 99.9, standard 99.5,
    others none.
    """
    workload: Workload | None = None
    """Default: priority 2,000 in / 300 out, standard 8,000 / 500, others 4,000 / 500 tokens, at 70 % utilization."""
    spill: Spill | None = None
    """When requests may leave their nearest cells: `never`, `when_down`, or `any` time. Default: priority
    `when_down`, others `any`.
    """
    traffic: Traffic | None = None
    """What `simulate` and `size` replay for its pools, all cells together. Default: what they are told."""
