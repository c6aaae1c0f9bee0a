"""The client of Prometheus against servers on loopback that misbehave; and that no secret of an address is shown."""

import base64
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inferfab.cli.main import main
from inferfab.prometheus_http import BadAddress, NoAnswer, PrometheusHttp, address_of

PROD = str(Path(__file__).resolve().parents[1] / "environments" / "prod.yaml")
SECRET = "S3CRETPW"
EMPTY = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}})


@contextmanager
def says(answer: Callable[[socket.socket], None] | bytes, heard: list[bytes] | None = None) -> Iterator[str]:
    """A server of bytes: what it is asked is kept, what it answers is not looked at."""
    listening = socket.create_server(("127.0.0.1", 0))

    def one(connection: socket.socket) -> None:
        with connection:
            asked = b""
            # The body is read too: closing on unread bytes is a reset, which loses the answer.
            while b"query=" not in asked and (piece := connection.recv(65536)):
                asked += piece
            if heard is not None:
                heard.append(asked)
            if callable(answer):
                answer(connection)
            else:
                connection.sendall(answer)

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    with listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def page(body: str, head: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def asked(url: str, **more: float) -> str:
    with pytest.raises(NoAnswer) as error:
        PrometheusHttp(url, **more).ask("query", {"query": "up"})  # type: ignore[arg-type]
    return str(error.value)


def test_a_user_becomes_a_header_and_the_query_goes_along() -> None:
    """RFC 7617: base64 of user:password, percent-decoded."""
    heard: list[bytes] = []
    with says(page(EMPTY), heard) as at:
        assert PrometheusHttp(f"http://me:p%40ss@{at}/prom/?token={SECRET}").ask("query", {"query": "up"}) == []
    head = heard[0].decode()
    assert head.startswith(f"POST /prom/api/v1/query?token={SECRET} HTTP/1.1\r\n")
    assert f"Authorization: Basic {base64.b64encode(b'me:p@ss').decode()}\r\n" in head and f"Host: {at}\r\n" in head


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (page("<html>"), "no answer of Prometheus"),
        (page("<html>", "502 Bad Gateway"), "(HTTP 502): this is no answer of Prometheus"),
        (page("no", "401 Unauthorized"), "HTTP 401"),
        (page('{"status":"error","error":"too slow"}', "422 Bad"), "(HTTP 422): Prometheus says: too slow"),
        (page(EMPTY, "404 Not Found"), "refuses (HTTP 404)"),
        (page("", "302 Found\r\nLocation: http://other/"), "HTTP 302"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "does not speak HTTP"),
        (b"", "closed the connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", "closed the connection"),
        (page("[" * 100_000), "no answer of Prometheus"),
        (page('{"status":"success","data":[]}'), "there is no data in it"),
    ],
)
def test_whatever_is_no_answer_is_one_sentence_without_the_secret(answer: bytes, said: str) -> None:
    with says(answer) as at:
        text = asked(f"http://me:{SECRET}@{at}/?token={SECRET}")
    assert said in text and SECRET not in text and "me:" not in text and "\n" not in text
    assert text.startswith(f"http://{at}?…")


def test_a_server_that_drips_is_given_up() -> None:
    """A byte each tenth of a second never runs into a timeout of one read; headers that drip do not either."""

    def body(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        drip(connection)

    def drip(connection: socket.socket) -> None:
        for _ in range(100):
            try:
                connection.sendall(b" ")
            except OSError:
                return
            time.sleep(0.1)

    for answer in (body, drip):
        begun = time.monotonic()
        with says(answer) as at:
            assert "not whole within 0.5 s" in asked(f"http://{at}", seconds=0.5)
        assert time.monotonic() - begun < 5


def test_an_answer_that_does_not_end_is_given_up() -> None:
    sent = 0

    def endless(connection: socket.socket) -> None:
        nonlocal sent
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while sent < 1 << 30:
                sent += connection.send(b" " * 65536)
        except OSError:
            return

    with says(endless) as at:
        assert "more than 1,000,000 bytes" in asked(f"http://{at}", most_bytes=1_000_000)
    assert sent < 1 << 27


@pytest.mark.parametrize(
    "url",
    ["http://[::1", "http://127.0.0.1:abc", "http://127.0.0.1:99999", "ftp://h", "h:9090", "", "http://", "http://a b",
     f"http://me:{SECRET}@", f"htp://me:{SECRET}@h", f"http://me:{SECRET} @h", f"http://me:{SECRET}@h:x"],
)  # fmt: skip
def test_what_is_no_address_is_said_without_it(url: str) -> None:
    with pytest.raises(BadAddress) as error:
        address_of(url)
    assert SECRET not in str(error.value)


def test_addresses_of_ipv6_stay_whole() -> None:
    assert address_of("https://u:p@[::1]:9090/a/").base == "https://[::1]:9090/a"


@pytest.mark.parametrize(
    "words",
    [
        ("cost", PROD, "--prometheus", f"http://user:{SECRET}@127.0.0.1:1"),
        ("cost", PROD, "--prometheus", f"http://127.0.0.1:1?token={SECRET}"),
        ("cost", PROD, "--prometheus", f"htp://user:{SECRET}@127.0.0.1:1"),
        ("cost", PROD, "--prometheus", f"http://user:{SECRET}@127.0.0.1:abc"),
        ("rollout", "judge", PROD, "-c", "use1-b", "-p", f"http://user:{SECRET}@127.0.0.1:1"),
        ("rollout", "judge", PROD, "-c", "use1-b", "-p", f"http://user:{SECRET}@[::1"),
        ("rollout", "judge", PROD, "-c", "use1-b", "-p", "http://h", "-b", f"http://u:{SECRET}@h?token={SECRET}"),
    ],
)
def test_no_command_prints_a_secret(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["inferfab", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    out, err = capsys.readouterr()
    assert stop.value.code in (1, 2, 10) and SECRET not in out + err and "fault of inferfab" not in out + err
