"""Licences on the model hub: accepted by the token's owner, or not. Asked for only where somebody wants it."""

import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException
from typing import Literal, Protocol

from inferfab.plan.fleet import FleetPlan
from inferfab.preflight.probe import Probe, Seen
from inferfab.preflight.reader import ReadFailed
from inferfab.preflight.report import Area, Row, Status

Access = Literal["readable", "refused", "no such model"]
TOKEN = "HF_TOKEN"
ENDPOINT = "HF_ENDPOINT"
_SECONDS = 15


class Hub(Protocol):
    """The model hub, with or without a token."""

    has_token: bool

    def access(self, source: str, revision: str) -> Access:
        """Whether the files of a revision may be read.

        :raises ReadFailed: if the hub does not answer.
        """
        ...


class PublicHub:
    """Hugging Face's hub, or a mirror that HF_ENDPOINT names, with the token in HF_TOKEN."""

    def __init__(self) -> None:
        self._endpoint = os.environ.get(ENDPOINT, "https://huggingface.co").rstrip("/")
        self._token = os.environ.get(TOKEN, "")
        self.has_token = bool(self._token)

    def access(self, source: str, revision: str) -> Access:
        """One HEAD request for config.json: model pages of gated models are public, their files are not."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            asked = urllib.request.Request(
                f"{self._endpoint}/{source}/resolve/{revision}/config.json", headers=headers, method="HEAD"
            )
            with _OPENER.open(asked, timeout=_SECONDS):
                return "readable"
        except urllib.error.HTTPError as error:
            with error:
                if error.code in (301, 302, 303, 307, 308):
                    return "readable"
                if error.code in (401, 403):
                    return "refused"
                if error.code == 404:
                    return "no such model"
                raise ReadFailed(f"the hub answers with {error.code}") from error
        except urllib.error.URLError as error:
            raise ReadFailed(f"the hub does not answer: {getattr(error.reason, 'strerror', None) or 'no'}") from error
        except OSError as error:
            raise ReadFailed(f"the hub does not answer: {error.strerror or 'the network refuses'}") from error
        except (HTTPException, ValueError) as error:
            # Not in the library's words: they hold the address, and that may hold a password.
            raise ReadFailed(f"what {ENDPOINT} names is no hub: it is no URL, or does not speak HTTP") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect to the file's store says enough, and would take the token to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def hub_probes(fleet: FleetPlan, hub: Hub | None) -> Iterator[Probe]:
    """One question for each gated model; without a hub it stays unknown, and the row says how to ask."""
    for model in fleet.models:
        if "://" in model.source:
            continue
        adapters = [(f"{model.name}: adapter {a.name}", a.source, a.revision) for a in model.adapters]
        for what, source, revision, gated in (
            (model.name, model.source, model.revision, model.gated),
            *((name, source, revision, False) for name, source, revision in adapters),
        ):
            if gated or hub is not None:
                yield Probe("licence", "hub", what, _needed(source, gated=gated), _asking(hub, what, source, revision,
                            gated=gated, secret=model.token_secret))  # fmt: skip


def _needed(source: str, *, gated: bool) -> str:
    return f"{source}: licence accepted, token may read it" if gated else f"{source}: there"


def _asking(
    hub: Hub | None, what: str, source: str, revision: str, *, gated: bool, secret: str | None
) -> Callable[[Seen], list[Row]]:
    area: Area = "licence"

    def row(found: str, status: Status, do: str = "") -> list[Row]:
        needed = _needed(source, gated=gated)
        return [Row(area=area, where="hub", what=what, needed=needed, found=found, status=status, do=do)]

    def ask(_: Seen) -> list[Row]:
        again = f"{TOKEN}=… inferfab preflight ENV --hub, with the token of secret {secret}"
        if hub is None:
            return row("not asked", "unknown", again)
        access = hub.access(source, revision)
        if access == "no such model":
            return row(f"no config.json at {revision[:12]}", "missing", "look at `source` and `revision`")
        if access == "readable":
            return row("readable with the token" if hub.has_token else "readable without a token", "ok")
        if not hub.has_token:
            return row("gated, and no token was given", "unknown", again)
        do = f"accept the licence on the page of {source} with the token's account, or let the token read it"
        return row("the token may not read it", "missing", do)

    return ask
