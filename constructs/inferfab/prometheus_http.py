"""Asking a Prometheus server over HTTP: what rollouts and costs have in common."""

import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException

MOST_BYTES = 64 * 1024 * 1024


class NoAnswer(Exception):
    """A server did not answer, or not as Prometheus does; the message says which and how."""


def post(url: str, path: str, *, timeout_seconds: float, **form: str | int) -> tuple[int, bytes]:
    """HTTP status and body, of errors too: Prometheus' own come with a body of the same form.

    A form, as a long query is no good address.

    :raises NoAnswer: if nobody answers, or with more than :data:`MOST_BYTES`.
    """
    request = urllib.request.Request(f"{url}{path}", urllib.parse.urlencode(form).encode())
    try:
        with urllib.request.urlopen(request, timeout=timeout_seconds) as answer:
            status, body = answer.status, answer.read(MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        return error.code, error.read(MOST_BYTES)
    except (OSError, HTTPException, ValueError) as error:
        raise NoAnswer(f"{url} gave no answer: {getattr(error, 'reason', None) or error}") from error
    if len(body) > MOST_BYTES:
        raise NoAnswer(f"{url} answers with more than {MOST_BYTES:,} bytes: ask for less")
    return status, body
