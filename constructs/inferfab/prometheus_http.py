"""Asking a Prometheus: the one client of every command that does.

An address may hold a secret, as a user's password or in its query (``?token=``). It is sent, and never shown.
Source: Prometheus HTTP API, prometheus.io/docs/prometheus/latest/querying/api.
"""

import base64
import json
import queue
import re
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException, IncompleteRead
from typing import Any, Literal, NamedTuple

Api = Literal["query", "query_range"]
KINDS: dict[Api, str] = {"query": "vector", "query_range": "matrix"}
"""What the result of each is; an instant query is asked for a vector here."""
MOST_BYTES = 64 * 1024 * 1024
SECONDS = 30.0
_PIECE = 1 << 16
_PORT_FORWARD = (
    "within a cell it is reached by `kubectl -n monitoring port-forward svc/prometheus-kube-prometheus-prometheus "
    "9090`, then http://127.0.0.1:9090"
)


class BadAddress(Exception):
    """It is no address of a server; the message says why and holds nothing of it."""


class NoAnswer(Exception):
    """A server did not answer, or not as Prometheus does; one sentence says which and how."""


class Address(NamedTuple):
    """Where to ask."""

    base: str
    """Without user, query, and slash at its end."""
    query: str
    """Sent with every question."""
    authorization: str | None
    shown: str
    """For people: where there is a query it is a mark."""


def address_of(url: str) -> Address:
    """Take an address apart; a user in it becomes basic authentication.

    :raises BadAddress: if it is none.
    """
    if not re.fullmatch(r"[!-~]+", url):
        raise BadAddress("it is empty, or holds blanks or letters that an address has only percent-encoded")
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadAddress("its host or port is none") from error
    if parts.scheme not in ("http", "https"):
        raise BadAddress("it begins with neither http:// nor https://")
    if not host or port == 0:
        raise BadAddress("its host or port is none")
    where = f"[{host}]" if ":" in host else host
    where += f":{port}" if port is not None else ""
    base = f"{parts.scheme}://{where}{parts.path}".rstrip("/")
    authorization = None
    if "@" in parts.netloc:
        user, password = (urllib.parse.unquote(each or "") for each in (parts.username, parts.password))
        authorization = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return Address(base, parts.query, authorization, f"{base}?…" if parts.query else base)


class PrometheusHttp:
    """One server.

    :param url: ``http://127.0.0.1:9090``, with a path before ``/api`` where a proxy adds one.
    :param seconds: for a whole answer, however it comes: a server that drips is a server that does not answer.
    :raises BadAddress: if it is no address.
    """

    def __init__(self, url: str, *, seconds: float = SECONDS, most_bytes: int = MOST_BYTES) -> None:
        self._address = address_of(url)
        self._seconds, self._most_bytes = seconds, most_bytes

    @property
    def shown(self) -> str:
        """Its address without secrets."""
        return self._address.shown

    def ask(self, api: Api, asked: Mapping[str, str | int]) -> list[Any]:
        """The result of a query, as JSON has it.

        :raises NoAnswer: if there is none.
        """
        # By POST, so that a long query is no long address.
        at = self._address
        request = urllib.request.Request(
            f"{at.base}/api/v1/{api}" + (f"?{at.query}" if at.query else ""),
            urllib.parse.urlencode(asked).encode(),
            {"Authorization": at.authorization} if at.authorization else {},
        )
        # In a thread of its own: the deadline holds for looking up the name and for the headers, too.
        answers: queue.Queue[str | Exception] = queue.Queue(1)
        until = time.monotonic() + self._seconds
        threading.Thread(target=lambda: answers.put(self._caught(request, until)), daemon=True).start()
        try:
            found = answers.get(timeout=self._seconds + 0.5)
        except queue.Empty:
            found = TimeoutError()
        if isinstance(found, str):
            status, _, text = found.partition("\n")
            result = result_of(text, api, f"{at.shown} ({status})" if status else at.shown)
            if status:
                raise NoAnswer(f"{at.shown} refuses ({status}): is this the address of Prometheus' API?")
            return result
        raise self._explained(found) from None

    def _caught(self, request: urllib.request.Request, until: float) -> str | Exception:
        """What :meth:`ask` waits for: an error's status or nothing, a line's end, and the text; or what went wrong."""
        try:
            try:
                answer = _OPENER.open(request, timeout=self._seconds)
            except urllib.error.HTTPError as error:
                if 300 <= error.code < 400:
                    error.close()
                    return NoAnswer(f"{self.shown} answers that it is elsewhere (HTTP {error.code}): name that address")
                with error:  # Prometheus' own errors have the form of its answers
                    return f"HTTP {error.code}\n{self._body(error, until)}"
            with answer:
                return f"\n{self._body(answer, until)}"
        except Exception as error:  # it is raised in the thread that asked
            return error

    def _body(self, answer: Any, until: float) -> str:
        pieces, size = [], 0
        while piece := answer.read1(_PIECE):
            size += len(piece)
            pieces.append(piece)
            if size > self._most_bytes:
                raise NoAnswer(
                    f"{self.shown} answers with more than {self._most_bytes:,} bytes: ask for less, as fewer days"
                )
            if time.monotonic() > until:
                raise TimeoutError
        if answer.length:  # `read1` does not say that more was promised
            raise IncompleteRead(b"")
        return b"".join(pieces).decode("utf-8", "replace")

    def _explained(self, error: Exception) -> NoAnswer:
        """Never in the library's words: these may hold the address."""
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, NoAnswer):
            return reason
        if isinstance(reason, TimeoutError):
            why = f"not whole within {self._seconds:g} s"
        elif isinstance(reason, ConnectionError | IncompleteRead):
            why = getattr(reason, "strerror", None) or "it closed the connection before its answer was whole"
        elif isinstance(reason, HTTPException):
            return NoAnswer(f"{self.shown} is something else than Prometheus: it does not speak HTTP")
        elif isinstance(reason, ssl.SSLError):
            why = f"no TLS with it: {reason.reason or 'its certificate is not trusted'}"
        elif isinstance(reason, OSError):
            why = reason.strerror or "the network refuses"
        else:
            why = f"its host cannot be asked ({type(reason).__name__})"
        return NoAnswer(f"{self.shown} gave no answer: {why}; {_PORT_FORWARD}")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Another host must not get the password of this one."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def result_of(text: str | bytes, api: Api, whose: str) -> list[Any]:
    """The result within an answer.

    :param whose: begins the message.
    :raises NoAnswer: if it is not an answer of Prometheus, or one that says what went wrong.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("status"), str):
        raise NoAnswer(f"{whose}: this is no answer of Prometheus' {api}, but something else")
    data = body.get("data")
    if body["status"] != "success":
        raise NoAnswer(f"{whose}: Prometheus says: {str(body.get('error') or body['status'])[:300]}")
    if not isinstance(data, dict):
        raise NoAnswer(f"{whose}: this is no answer of Prometheus' {api}: there is no data in it")
    if data.get("resultType") != KINDS[api] or not isinstance(data.get("result"), list):
        kind = str(data.get("resultType"))[:30]
        raise NoAnswer(f"{whose}: an answer of kind {kind}, where {api} is asked for a {KINDS[api]}")
    return list(data["result"])
