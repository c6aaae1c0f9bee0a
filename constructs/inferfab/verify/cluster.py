"""What is asked of a cluster: a small protocol, and kubectl behind it."""

import contextlib
import json
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from inferfab.record import Record

Object = dict[str, Any]
"""A Kubernetes object as the API server gives it."""
REQUEST_SECONDS = 20
ANSWER_SECONDS = 120
"""A first token of a large model after a cold start of the engine's graphs."""

NotSeenKind = Literal["unreachable", "forbidden", "no such kind", "not there", "broken"]


class NotSeen(Exception):
    """A question that the cluster did not answer; the message says why."""

    def __init__(self, kind: NotSeenKind, why: str) -> None:
        super().__init__(why)
        self.kind: NotSeenKind = kind


class Answer(Record):
    """An HTTP answer of a pod."""

    status: int
    text: str


class Cluster(Protocol):
    """One cluster. Every question may raise :class:`NotSeen`."""

    def list(self, kind: str, namespace: str | None = None, selector: str = "") -> list[Object]:
        """Objects of a kind (``nodes``, ``deployments.apps``), of all namespaces where none is named."""

    def raw(self, path: str) -> str:
        """What the API server answers to GET on a path."""

    def post(self, namespace: str, service: str, port: int, path: str, body: Object) -> Answer:
        """What a Service's pod answers to a JSON body."""


def _object(kind: str, item: Any) -> Object:
    """The object without its nulls, which mean the same as nothing (API conventions, optional fields).

    :raises NotSeen: if it has no name, or labels that are none.
    """
    found = _without_nulls(item)
    meta = found.get("metadata") if isinstance(found, dict) else None
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        raise NotSeen("broken", f"kubectl's answer for {kind} holds something without a name, which is no object")
    meta.setdefault("namespace", "")
    if not isinstance(meta["namespace"], str) or not isinstance(meta.get("labels", {}), dict):
        raise NotSeen("broken", f"{kind} {meta['name']} has metadata that are not those of an object")
    return dict(found)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


_FORWARDED = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+)")


class Kubectl:
    """A cluster through ``kubectl``, with whatever credentials it has."""

    def __init__(self, *, context: str | None = None, kubeconfig: str | None = None, program: str = "kubectl") -> None:
        self._options = [
            *([f"--context={context}"] if context else []),
            *([f"--kubeconfig={kubeconfig}"] if kubeconfig else []),
        ]
        self._program = program

    def list(self, kind: str, namespace: str | None = None, selector: str = "") -> list[Object]:
        where = [f"--namespace={namespace}"] if namespace else ["--all-namespaces"]
        only = [f"--selector={selector}"] if selector else []
        try:
            items = json.loads(self._run(["get", kind, "-o", "json", *where, *only]))["items"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise NotSeen("broken", f"kubectl's answer for {kind} is no list of objects") from error
        if not isinstance(items, list):
            raise NotSeen("broken", f"kubectl's answer for {kind} is no list of objects")
        return [_object(kind, item) for item in items]

    def raw(self, path: str) -> str:
        return self._run(["get", "--raw", path])

    def post(self, namespace: str, service: str, port: int, path: str, body: Object) -> Answer:
        # Not by the API server's proxy: `kubectl create --raw` names no content type, which frontends want, and the
        # namespace's network policies keep the control plane's addresses out.
        with self._forwarded(namespace, service, port) as local:
            request = urllib.request.Request(
                f"http://127.0.0.1:{local}{path}",
                data=json.dumps(body).encode(),
                headers={"Content-Type": "application/json"},
            )
            try:
                with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                    request, timeout=ANSWER_SECONDS
                ) as answer:
                    return Answer(status=answer.status, text=answer.read().decode(errors="replace"))
            except urllib.error.HTTPError as error:
                return Answer(status=error.code, text=error.read().decode(errors="replace"))
            except OSError as error:
                raise NotSeen("unreachable", f"{service}:{port} closed the connection: {error}") from error

    def _run(self, words: Sequence[str]) -> str:
        command = [self._program, *self._options, f"--request-timeout={REQUEST_SECONDS}s", *words]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, timeout=3 * REQUEST_SECONDS
            )
        except OSError as error:
            raise _no_program(self._program, error) from error
        except subprocess.TimeoutExpired as error:
            raise NotSeen("unreachable", f"the API server did not answer within {3 * REQUEST_SECONDS} s") from error
        if done.returncode:
            raise _refused(done.stderr)
        return done.stdout

    @contextlib.contextmanager
    def _forwarded(self, namespace: str, service: str, port: int) -> Iterator[int]:
        if shutil.which(self._program) is None:
            raise NotSeen("unreachable", f"there is no {self._program} on this machine")
        target = ["port-forward", f"--namespace={namespace}", f"service/{service}", f":{port}", "--address=127.0.0.1"]
        process = subprocess.Popen(
            [self._program, *self._options, *target],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        # A forward that hangs has no port to tell, and no end.
        clock = threading.Timer(REQUEST_SECONDS, process.kill)
        clock.start()
        try:
            assert process.stdout is not None and process.stderr is not None
            match = _FORWARDED.search(process.stdout.readline())
            clock.cancel()
            if match is None:
                process.kill()
                raise _refused(process.stderr.read())
            yield int(match[1])
        finally:
            clock.cancel()
            process.kill()
            process.communicate()


def _refused(stderr: str) -> NotSeen:
    """kubectl's own words, sorted by what they mean."""
    lines = [line for line in stderr.strip().splitlines() if line.strip()]
    why = lines[-1].strip() if lines else "kubectl said nothing"
    if "have a resource type" in why or "could not find the requested resource" in why:
        return NotSeen("no such kind", why)
    if "(Forbidden)" in why or "Unauthorized" in why or "forbidden:" in why:
        return NotSeen("forbidden", why)
    if "(NotFound)" in why or "no endpoints available" in why:
        return NotSeen("not there", why)
    return NotSeen("unreachable", why)


def _no_program(program: str, error: OSError) -> NotSeen:
    if isinstance(error, FileNotFoundError):
        return NotSeen("unreachable", f"there is no {program} on this machine")
    return NotSeen("unreachable", f"{program} cannot be run: {error.strerror or error}")


def contexts(kubeconfig: str | None = None, program: str = "kubectl") -> list[str]:
    """Contexts that kubectl knows.

    :raises NotSeen: where it cannot say.
    """
    if kubeconfig and not Path(kubeconfig).is_file():
        raise NotSeen("unreachable", f"there is no kubeconfig {kubeconfig}")
    command = [program, *([f"--kubeconfig={kubeconfig}"] if kubeconfig else []), "config", "get-contexts", "-o", "name"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=REQUEST_SECONDS
        )
    except OSError as error:
        raise _no_program(program, error) from error
    except subprocess.TimeoutExpired as error:
        raise NotSeen("unreachable", f"{program} did not list its contexts within {REQUEST_SECONDS} s") from error
    if done.returncode:
        raise NotSeen("unreachable", f"{program} cannot list its contexts: {_refused(done.stderr)}")
    return done.stdout.split()


def context_of(cluster: str, known: Sequence[str]) -> str | None:
    """The context of a cluster by the names that ``aws eks update-kubeconfig`` and ``gcloud`` give, or by its own.

    None where none fits, or more than one does.
    """
    found = fitting(cluster, known)
    return found[0] if len(found) == 1 else None


def fitting(cluster: str, known: Sequence[str]) -> list[str]:
    """Contexts that have a cluster's name in one of these forms."""
    return [name for name in known if name == cluster or name.endswith((f":cluster/{cluster}", f"_{cluster}"))]
