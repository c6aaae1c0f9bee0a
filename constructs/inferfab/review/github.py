"""One sticky comment on a GitHub pull request, through the REST API with a token from the environment.

The comment is found again by a hidden marker, which carries a digest of the report and the time of the event that was
answered: a job that was slow never overwrites the answer to a newer one. (Not the commit's time: a branch may be set
back to an older commit.) Comments of other people are never
touched, whatever stands in them. API: docs.github.com/rest/issues/comments.
"""

import hashlib
import http.client
import json
import os
import re
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from inferfab.review.errors import ReviewError
from inferfab.review.report import Report

_MARKER = re.compile(r"<!-- inferfab-review digest=([0-9a-f]{16}) at=(\S{1,40}) -->")
_BOT = "github-actions[bot]"
"""Who comments with the token that GitHub gives a job; such a token may not ask who it is."""
_SECONDS = 30
_PAGES = 50
_AHEAD = timedelta(days=1)
"""A marker from further in the future than clocks differ is not believed: it would silence every later review."""


class Unposted(ReviewError):
    """The review is there, and GitHub did not take it."""


@dataclass(frozen=True)
class Comment:
    """What to say, and as of when."""

    body: str
    digest: str
    at: datetime


@dataclass(frozen=True)
class Settings:
    """Where to say it."""

    api: str
    repository: str
    number: int
    token: str = field(repr=False)
    author: str = ""
    """Login that the token comments as; asked of GitHub where it is not said."""


@dataclass(frozen=True)
class _Found:
    id: int
    digest: str
    at: datetime


def comment_of(report: Report, *, at: str = "") -> Comment:
    """The comment of a report, within GitHub's limit.

    :raises ReviewError: if ``at`` is no ISO 8601 time.
    """
    from inferfab.render.review.markdown import GITHUB_LIMIT, length, markdown

    when = _time(at) if at else datetime.now(UTC)
    if when is None:
        raise ReviewError(f"--at {at}: write an ISO 8601 time, 2026-11-30T12:00:00Z")
    digest = hashlib.sha256(report.model_dump_json().encode("utf-8", "backslashreplace")).hexdigest()[:16]
    marker = f"<!-- inferfab-review digest={digest} at={when.isoformat(timespec='seconds')} -->\n"
    body = markdown(report, limit=GITHUB_LIMIT - length(marker), whole="the summary and the artifact of this job")
    return Comment(body=marker + body, digest=digest, at=when)


def settings(repository: str, number: int, author: str = "") -> Settings:
    """From the environment of a GitHub job: GITHUB_TOKEN, GITHUB_API_URL. ``author``: who the token comments as.

    :raises ReviewError: if something is missing.
    """
    # A secret that was pasted ends with a line's end.
    token = (os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN") or "").strip()
    if not token:
        raise ReviewError("--comment needs a token in GITHUB_TOKEN, or `--dry-run` to print what it would post")
    if not re.fullmatch(r"[\x21-\x7e]{1,1000}", token):
        raise ReviewError("GITHUB_TOKEN holds a space, a line's end or a sign that no token has: set it again")
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}", repository):
        raise ReviewError("--comment needs `--repository OWNER/NAME` (or GITHUB_REPOSITORY)")
    api = os.environ.get("GITHUB_API_URL") or "https://api.github.com"
    if not api.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise ReviewError("GITHUB_API_URL must begin with https://: a token travels there")
    return Settings(api=api.rstrip("/"), repository=repository, number=number, token=token, author=author)


def post(comment: Comment, to: Settings) -> str:
    """Create or update the one comment; returns in words what was done.

    :raises ReviewError: if GitHub does not take it.
    """
    authors = {to.author or _author(to)}
    found = _ours(to, authors)
    newest = max(found, key=lambda c: c.at, default=None)
    if newest is not None and newest.at > comment.at:
        return f"a newer review ({newest.at.isoformat()}) is there already: left as it is"
    if newest is not None and newest.digest == comment.digest and newest.at == comment.at:
        said = "the comment is current: left as it is"
    elif newest is not None:
        _call(to, "PATCH", f"/repos/{to.repository}/issues/comments/{newest.id}", {"body": comment.body})
        said = f"updated comment {newest.id}"
    else:
        made = _call(to, "POST", f"/repos/{to.repository}/issues/{to.number}/comments", {"body": comment.body})
        said = f"made comment {made.get('id') if isinstance(made, dict) else '?'}"
        # An app's token may not ask who it is; what it wrote says so, and older ones of the same app then go.
        user = made.get("user") if isinstance(made, dict) else None
        login = user.get("login") if isinstance(user, dict) else None
        if isinstance(login, str):
            authors.add(login)
    _leave_one(to, authors)
    return said


def _leave_one(to: Settings, authors: set[str]) -> None:
    """Two jobs that began together may both have made one: the newest stays, of equally new ones the first."""
    found = sorted(_ours(to, authors), key=lambda c: (-c.at.timestamp(), c.id))
    for extra in found[1:]:
        _call(to, "DELETE", f"/repos/{to.repository}/issues/comments/{extra.id}")


def _author(to: Settings) -> str:
    try:
        user = _call(to, "GET", "/user")
    except ReviewError:
        return _BOT
    login = user.get("login") if isinstance(user, dict) else None
    return login if isinstance(login, str) else _BOT


def _ours(to: Settings, authors: set[str]) -> list[_Found]:
    """Our comments: by the marker at the very beginning, and by who wrote them."""
    found = []
    for page in range(1, _PAGES + 1):
        listed = _call(to, "GET", f"/repos/{to.repository}/issues/{to.number}/comments?per_page=100&page={page}")
        if not isinstance(listed, list):
            raise ReviewError("GitHub answered something that is no list of comments")
        for one in listed:
            if not isinstance(one, dict) or not isinstance(one.get("user"), dict):
                continue
            marker = _MARKER.match(one["body"]) if isinstance(one.get("body"), str) else None
            if marker is None or one["user"].get("login") not in authors or not isinstance(one.get("id"), int):
                continue
            at = _time(marker[2])
            if at is None or at > datetime.now(UTC) + _AHEAD:
                at = datetime.min.replace(tzinfo=UTC)
            found.append(_Found(id=one["id"], digest=marker[1], at=at))
        if len(listed) < 100:
            break
    return found


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token is not carried to wherever an answer points."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


def _call(to: Settings, method: Literal["GET", "POST", "PATCH", "DELETE"], path: str, body: Any = None) -> Any:
    headers = {
        "Authorization": f"Bearer {to.token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
        "User-Agent": "inferfab-review",
        "Content-Type": "application/json",
    }
    sent = None if body is None else json.dumps(body).encode("utf-8", "backslashreplace")
    try:
        request = urllib.request.Request(f"{to.api}{path}", method=method, data=sent, headers=headers)
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
            data = answer.read()
    except urllib.error.HTTPError as error:
        raise ReviewError(_refusal(method, error)) from error
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise ReviewError(f"GitHub cannot be reached at {to.api}: {reason}") from error
    except (http.client.HTTPException, ValueError) as error:
        # Neither shown nor carried along: such a message may quote a header, and with it the token.
        kind = type(error).__name__
        raise ReviewError(
            f"{to.api} is no address of GitHub's API, or its answer was broken off ({kind}); look at GITHUB_API_URL"
        ) from None
    try:
        return json.loads(data) if data.strip() else None
    except (ValueError, RecursionError) as error:
        raise ReviewError(f"{to.api} answered something that is no JSON") from error


def _refusal(method: str, error: urllib.error.HTTPError) -> str:
    try:
        answer = json.loads(error.read(100_000))
        message = answer.get("message", "") if isinstance(answer, dict) else ""
    except (ValueError, OSError, RecursionError, http.client.HTTPException):
        message = ""
    hint = {
        401: "the token in GITHUB_TOKEN is not valid",
        403: "the token may not comment: give the job `permissions: pull-requests: write`; on a pull request from a "
        "fork GitHub gives none, and the job summary has the review",
        404: "there is no such repository or pull request, or the token does not see it",
    }.get(error.code, "")
    said = f" ({message})" if isinstance(message, str) and message else ""
    return f"GitHub refused the comment: {method} gave {error.code}{said}" + (f"; {hint}" if hint else "")
