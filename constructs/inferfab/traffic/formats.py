"""Formats of traces: which one a file is, and a request from each of its rows."""

import csv
import json
from collections.abc import Callable, Sequence
from typing import Literal

from inferfab.traffic.rows import BadRow, Request, UnusableTrace, moment, tokens

Format = Literal["azure", "mooncake", "burstgpt", "rates", "csv"]
MOONCAKE_BLOCK_TOKENS = 512
"""Tokens that one of the trace's hashes stands for (Mooncake FAST25 release, README)."""
_TIMES = ("timestamp", "arrival", "arrival_time", "arrived_at", "time", "ts", "start_time")
_PROMPTS = (
    "prompt_tokens",
    "input_tokens",
    "contexttokens",
    "request tokens",
    "input_length",
    "isl",
    "num_prefill_tokens",
)
_ANSWERS = (
    "output_tokens", "completion_tokens", "generated_tokens", "generatedtokens", "response tokens", "output_length",
    "osl", "num_decode_tokens",
)  # fmt: skip
Reader = Callable[[str], tuple[Request, bool] | None]
"""A line to a request and whether its time is a date; None for a row that is right but no request."""


class Columns:
    """Where a CSV file has what."""

    def __init__(self, header: Sequence[str]) -> None:
        self.names = [name.strip().lower().lstrip("\ufeff") for name in header]

    def find(self, wanted: Sequence[str]) -> int | None:
        return next((self.names.index(name) for name in wanted if name in self.names), None)


def split(line: str) -> list[str]:
    """Cells of a CSV line.

    :raises BadRow: if its quotes do not close.
    """
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error as error:
        raise BadRow(f"not CSV: {error}") from None


def detect(first: str) -> Format:
    """From the first line.

    :raises UnusableTrace: if no format begins like this.
    """
    text = first.lstrip("\ufeff").strip()
    if text.startswith("{"):
        return "mooncake"
    try:
        columns = Columns(split(text))
    except BadRow:
        columns = Columns([])
    if "window_start_s" in columns.names and "rate_rps" in columns.names:
        return "rates"
    if {"contexttokens", "generatedtokens"} <= set(columns.names):
        return "azure"
    if {"request tokens", "response tokens"} <= set(columns.names):
        return "burstgpt"
    if columns.find(_TIMES) is not None and columns.find(_PROMPTS) is not None and columns.find(_ANSWERS) is not None:
        return "csv"
    raise UnusableTrace(
        f"no format of a trace begins with {text!r:.100}. Known: Azure LLM trace (TIMESTAMP,ContextTokens,"
        "GeneratedTokens), Mooncake JSONL, BurstGPT CSV, rates (window_start_s,rate_rps,…), or a CSV with the columns "
        "timestamp,prompt_tokens,output_tokens"
    )


def reader(kind: Format, header: str) -> Reader:
    """Reads the lines after the header; all lines of JSONL."""
    if kind == "mooncake":
        return _mooncake
    columns = Columns(split(header))
    time, prompt, answer = columns.find(_TIMES), columns.find(_PROMPTS), columns.find(_ANSWERS)
    assert time is not None
    assert prompt is not None
    assert answer is not None
    width = max(time, prompt, answer)

    def read(line: str) -> tuple[Request, bool] | None:
        cells = split(line)
        if len(cells) <= width:
            raise BadRow(f"{len(cells)} columns where the header has {len(columns.names)}")
        at, dated = moment(cells[time], columns.names[time])
        out = tokens(cells[answer], columns.names[answer])
        if kind == "burstgpt" and out == 0:
            # Its own words: a response of 0 tokens is a failed request.
            return None
        asked = tokens(cells[prompt], columns.names[prompt], least=1)
        return Request(at_s=at, prompt_tokens=asked, output_tokens=max(1, out)), dated

    return read


def _mooncake(line: str) -> tuple[Request, bool] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise BadRow("not JSON") from None
    if not isinstance(row, dict):
        raise BadRow("not a JSON object")
    missing = [key for key in ("timestamp", "input_length", "output_length") if key not in row]
    if missing:
        raise BadRow(f"without {', '.join(missing)}")
    at, _ = moment(row["timestamp"], "timestamp")
    blocks = row.get("hash_ids") or []
    if not isinstance(blocks, list) or not all(isinstance(b, int) and not isinstance(b, bool) for b in blocks):
        raise BadRow("hash_ids is not a list of whole numbers")
    asked = tokens(row["input_length"], "input_length", least=1)
    out = max(1, tokens(row["output_length"], "output_length"))
    return Request(at_s=at / 1000, prompt_tokens=asked, output_tokens=out, blocks=tuple(blocks)), False
