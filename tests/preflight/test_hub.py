"""The model hub over HTTP, played on loopback: what each answer means, and where the token goes."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from inferfab.preflight.hub import PublicHub
from inferfab.preflight.reader import ReadFailed

ANSWERS = {"/open/model": 200, "/stored/model": 302, "/gated/model": 403, "/private/model": 401, "/none/model": 404,
           "/broken/model": 503}  # fmt: skip
REVISION = "0e9e39f249a16976918f6564b8830bc894c89659"
SEEN: list[tuple[str, str | None]] = []


class _Hub(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        SEEN.append((self.path, self.headers.get("Authorization")))
        model, _, rest = self.path.partition("/resolve/")
        assert rest == f"{REVISION}/config.json"
        self.send_response(ANSWERS[model])
        if ANSWERS[model] == 302:
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[PublicHub]:
    server = HTTPServer(("127.0.0.1", 0), _Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    SEEN.clear()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("HF_TOKEN", "hf_of_nobody")
    yield PublicHub()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("address", ["nonsense", "http://[::1", "http://me:S3CRET@h:port", "http://me:S3CRET h/"])
def test_an_address_that_is_none_is_said_without_it(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(ReadFailed, match="HF_ENDPOINT names is no hub") as error:
        PublicHub().access("open/model", REVISION)
    assert "S3CRET" not in str(error.value)


@pytest.mark.parametrize(
    ("model", "access"),
    [
        ("open/model", "readable"),
        ("stored/model", "readable"),
        ("gated/model", "refused"),
        ("private/model", "refused"),
        ("none/model", "no such model"),
    ],
)
def test_answers(hub: PublicHub, model: str, access: str) -> None:
    """One HEAD request with the token; a redirect to the file's store is not followed, so the token stays here."""
    assert hub.access(model, REVISION) == access
    assert [(f"/{model}/resolve/{REVISION}/config.json", "Bearer hf_of_nobody")] == SEEN


def test_a_hub_that_fails_is_no_verdict(hub: PublicHub) -> None:
    with pytest.raises(ReadFailed, match="503") as caught:
        hub.access("broken/model", REVISION)
    assert "hf_of_nobody" not in str(caught.value)


def test_no_hub_and_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    hub = PublicHub()
    assert not hub.has_token
    with pytest.raises(ReadFailed, match="does not answer"):
        hub.access("open/model", REVISION)
