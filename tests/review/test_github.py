"""The sticky comment, against a server on loopback that behaves like GitHub's REST API for issue comments."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from inferfab.review import ReviewError
from inferfab.review.github import comment_of, post, settings
from review.conftest import Run
from review.plans import change, plan, report_of, written

TOKEN = "t0ken"
BOT = "github-actions[bot]"


class Hub:
    """Comments of one pull request, and what was asked."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str]] = []
        self.status: dict[str, int] = {}
        self.user: dict[str, Any] | None = None
        self.redirect = ""
        self.raw = b""
        self.login = BOT
        self.last_id = 100

    def add(self, body: str, login: str = BOT) -> dict[str, Any]:
        self.last_id += 1
        self.comments.append({"id": self.last_id, "body": body, "user": {"login": login}})
        return self.comments[-1]

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if method in self.status:
            return self.status[method], {"message": "no, because"}
        if path == "/user":
            return (200, self.user) if self.user else (403, {"message": "Resource not accessible by integration"})
        if found := re.fullmatch(r"/repos/o/r/issues/7/comments\?per_page=100&page=(\d+)", path):
            first = (int(found[1]) - 1) * 100
            return 200, self.comments[first : first + 100]
        if method == "POST" and path == "/repos/o/r/issues/7/comments":
            if len(body["body"]) > 65_536:
                return 422, {"message": "Body is too long"}
            return 201, self.add(body["body"], self.login)
        if found := re.fullmatch(r"/repos/o/r/issues/comments/(\d+)", path):
            one = next((c for c in self.comments if c["id"] == int(found[1])), None)
            if one is not None and method == "PATCH":
                one["body"] = body["body"]
                return 200, one
            if one is not None and method == "DELETE":
                self.comments.remove(one)
                return 204, None
        return 404, {"message": "Not Found"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    made = Hub()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            made.asked.append((self.command, self.path))
            code, answer = made.answer(self.command, self.path, body)
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                code, answer = 401, {"message": "Bad credentials"}
            if made.redirect:
                code, answer = 302, None
            if made.raw:
                self.wfile.write(made.raw)
                self.close_connection = True
                return
            data = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(code)
            if made.redirect:
                self.send_header("Location", made.redirect)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = _any  # noqa: N815 - the names that http.server asks for

        def log_message(self, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    yield made
    server.shutdown()
    server.server_close()


NOON, ONE = "2026-11-30T12:00:00+00:00", "2026-11-30T14:00:00+01:00"


def say(folder: Path, name: str = "t", at: str = NOON) -> str:
    report = report_of(folder, plan(change(f"aws_sns_topic.{name}", "create", None, {})))
    return post(comment_of(report, at=at), settings("o/r", 7))


def test_one_comment_is_made_then_updated_in_place(hub: Hub, tmp_path: Path) -> None:
    hub.add("Looks good to me!", login="somebody")
    assert say(tmp_path).startswith("made comment")
    assert say(tmp_path, "other", at=ONE).startswith("updated comment")
    assert len(hub.comments) == 2
    assert hub.comments[0]["body"] == "Looks good to me!"
    assert "aws_sns_topic.other" in hub.comments[1]["body"]
    assert re.match(
        r"<!-- inferfab-review digest=[0-9a-f]{16} at=2026-11-30T13:00:00\+00:00 -->\n## ", hub.comments[1]["body"]
    )


def test_a_stale_writer_loses(hub: Hub, tmp_path: Path) -> None:
    """The job of an older commit that ends later leaves the newer answer; times compare across zones."""
    say(tmp_path, "newer", at=ONE)
    assert "newer review" in say(tmp_path, "older", at="2026-11-30T12:30:00Z")
    assert "aws_sns_topic.newer" in hub.comments[0]["body"]
    assert not [m for m, _ in hub.asked if m == "PATCH"]


def test_the_same_answer_is_not_written_again(hub: Hub, tmp_path: Path) -> None:
    say(tmp_path)
    assert "is current" in say(tmp_path)
    assert not [m for m, _ in hub.asked if m == "PATCH"]


def test_two_that_began_together_end_as_one(hub: Hub, tmp_path: Path) -> None:
    """Both found nothing and made a comment: the newest stays."""
    say(tmp_path, "a")
    twin = {**hub.comments[0], "id": 7}
    hub.comments.append(twin)
    hub.comments.append({**twin, "id": 8, "body": twin["body"].replace("T12:00:00", "T11:00:00")})
    say(tmp_path, "b", at=ONE)
    assert len(hub.comments) == 1 and "aws_sns_topic.b" in hub.comments[0]["body"]


def test_a_marker_of_somebody_else_counts_for_nothing(hub: Hub, tmp_path: Path) -> None:
    """Nobody can silence the review by writing its marker with a date to come, nor one inside of a text."""
    forged = "<!-- inferfab-review digest=0000000000000000 at=2099-01-01T00:00:00+00:00 -->"
    hub.add(forged, login="mallory")
    hub.add(f"quoting {forged}")
    assert say(tmp_path).startswith("made comment")
    assert len(hub.comments) == 3


def test_our_own_marker_from_the_future_is_not_believed(hub: Hub, tmp_path: Path) -> None:
    """A clock that was wrong once must not end all reviews."""
    hub.add("<!-- inferfab-review digest=0000000000000000 at=2999-01-01T00:00:00+00:00 -->")
    assert say(tmp_path).startswith("updated comment")


def test_it_is_found_on_a_later_page(hub: Hub, tmp_path: Path) -> None:
    for n in range(130):
        hub.add(f"comment {n}", login="somebody")
    say(tmp_path)
    say(tmp_path, "other", at=ONE)
    assert len(hub.comments) == 131


def test_a_token_of_a_person_comments_as_that_person(hub: Hub, tmp_path: Path) -> None:
    hub.user = {"login": "reviewer"}
    mine = hub.add("<!-- inferfab-review digest=0000000000000000 at=2026-01-01T00:00:00+00:00 -->", login="reviewer")
    assert say(tmp_path) == f"updated comment {mine['id']}"


@pytest.mark.parametrize(
    ("status", "says"), [(401, "not valid"), (403, "pull-requests: write"), (404, "does not see it"), (500, "gave 500")]
)
def test_a_refusal_says_what_to_do(status: int, says: str, hub: Hub, run: Run, tmp_path: Path) -> None:
    """Exit code 1, one message with GitHub's own words, the token in none of them."""
    hub.status = {"POST": status}
    file = written(tmp_path, plan(change("aws_sns_topic.t", "create", None, {})))
    code, out, err = run(str(file), "--comment", "7", "--at", NOON)
    assert code == 1 and says in err and "no, because" in err and TOKEN not in err + out


def test_the_token_follows_no_redirect(hub: Hub, tmp_path: Path) -> None:
    hub.redirect = "http://127.0.0.1:1/elsewhere"
    with pytest.raises(ReviewError, match="gave 302"):
        say(tmp_path)


def test_a_token_is_not_sent_in_the_clear(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "http://github.example.com")
    with pytest.raises(ReviewError, match="https"):
        settings("o/r", 7)


def test_nobody_answers(hub: Hub, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    file = written(tmp_path, plan(change("aws_sns_topic.t", "create", None, {})))
    code, _, err = run(str(file), "--comment", "7")
    assert code == 1 and "cannot be reached" in err


def test_from_the_command_line(hub: Hub, run: Run, tmp_path: Path) -> None:
    """The exit code is the verdict's, and the report goes where it was asked to."""
    file = written(tmp_path, plan(change("aws_sns_topic.t", "delete", {}, None)))
    code, out, err = run(str(file), "--comment", "7", "--at", NOON, "--out", str(tmp_path / "r.md"))
    assert code == 4 and out == "" and "made comment" in err
    assert (tmp_path / "r.md").read_text() == hub.comments[0]["body"].split("-->\n", 1)[1]


def test_a_dry_run_prints_and_asks_nobody(hub: Hub, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    file = written(tmp_path, plan(change("aws_sns_topic.t", "create", None, {})))
    code, out, _ = run(str(file), "--comment", "7", "--dry-run")
    assert code == 0 and out.startswith("<!-- inferfab-review digest=") and hub.asked == []


def test_a_large_review_is_taken(hub: Hub, tmp_path: Path) -> None:
    """1,500 destroyed resources and the marker still fit GitHub's limit."""
    report = report_of(tmp_path, plan(*(change(f"aws_s3_bucket.b{n}", "delete", {}, None) for n in range(1500))))
    assert post(comment_of(report, at=NOON), settings("o/r", 7)).startswith("made comment")


@pytest.mark.parametrize("said", [False, True])
def test_an_apps_token_leaves_one_comment(said: bool, hub: Hub, tmp_path: Path) -> None:
    """It may not ask who it is: the login is given, or learned from what it wrote."""
    hub.login = "our-app[bot]"
    for name, at in (("a", NOON), ("b", ONE)):
        report = report_of(tmp_path, plan(change(f"aws_sns_topic.{name}", "create", None, {})))
        done = post(comment_of(report, at=at), settings("o/r", 7, hub.login if said else ""))
    assert done.startswith("updated" if said else "made")
    assert len(hub.comments) == 1 and "aws_sns_topic.b" in hub.comments[0]["body"]


def test_a_pasted_token_is_trimmed(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", f" {TOKEN}\n")
    assert say(tmp_path).startswith("made comment")


@pytest.mark.parametrize("token", ["s3cret\nX-Evil: 1", "s3cret\u00e9", "s3\u2028cret", "s3 cret"])
def test_no_token_is_quoted(token: str, hub: Hub, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", token)
    code, out, err = run(str(written(tmp_path, plan())), "--comment", "7")
    assert code == 1 and "GITHUB_TOKEN holds" in err and "s3" not in out + err and hub.asked == []


@pytest.mark.parametrize(
    "api", ["https://[::1", "https://exa mple.com", "https://", "https://\u00fc\u2028.example", "http://localhost:port"]
)
def test_an_odd_address_is_no_fault_of_ours(
    api: str, hub: Hub, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_API_URL", api)
    code, _, err = run(str(written(tmp_path, plan())), "--comment", "7")
    said = " ".join(err.split())
    assert code == 1 and TOKEN not in err and "Traceback" not in err
    assert "no address of GitHub's API" in said or "cannot be reached" in said


@pytest.mark.parametrize(
    "raw", [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n[", b"HTTP/1.1 abc\r\n\r\n"]
)
def test_a_broken_answer_is_no_fault_of_ours(raw: bytes, hub: Hub, run: Run, tmp_path: Path) -> None:
    """A bad status line, a body that is cut off; the review is printed all the same."""
    hub.raw = raw
    code, out, err = run(str(written(tmp_path, plan())), "--comment", "7")
    assert code == 1 and "broken off" in err and TOKEN not in err and out.startswith("## ")


def test_a_review_is_not_lost_with_its_comment(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.status = {"POST": 403}
    file = written(tmp_path, plan())
    code, out, _ = run(str(file), "--comment", "7", "--out", str(tmp_path / "r.md"))
    assert code == 1 and out == "" and (tmp_path / "r.md").read_text().startswith("## ")
    code, out, _ = run(str(file), "--comment", "7")
    assert code == 1 and out == (tmp_path / "r.md").read_text()


@pytest.mark.parametrize("words", [("--dry-run",), ("--at", NOON), ("--comment-author", "a[bot]")])
def test_what_is_about_a_comment_needs_one(words: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    code, out, err = run(str(written(tmp_path, plan())), *words)
    assert code == 1 and out == "" and f"{words[0]} is about the comment" in err
