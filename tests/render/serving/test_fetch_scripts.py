"""The scripts that bring a model to a node, run by a shell with stores and a hub that are folders."""

import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from inferfab.model_manifest import MANIFEST, digest_of, manifest_of
from inferfab.render.serving.model_cache import fetch_script

MODEL = "m-0123456789ab"
URI = {"s3": "s3://models/m/1/", "gcs": "gs://models/m/1/"}
AWS = """#!/bin/sh
# aws s3 ls URI | aws s3 cp --recursive --only-show-errors URI FOLDER [--exclude GLOB]...
src="$STORE/${3#s3://}"
if [ "$2" = ls ]; then
  [ -z "${DENIED:-}" ] || { echo "AccessDenied" >&2; exit 254; }
  found=1
  for file in "$src"*; do [ -e "$file" ] && found=0 && echo "2026-11-30 12:00:00          0 ${file##*/}"; done
  exit $found
fi
src="$STORE/${5#s3://}"; to="$6"; shift 6
mkdir -p "$to"
for file in "$src"*; do
  case "$file" in *.safetensors) case "$*" in *safetensors*) continue;; esac;; esac
  cp "$file" "$to/"
done
[ -e "$src.complete" ] && cp "$src.complete" "$to/"
[ -z "${BROKEN:-}" ]
"""
GCLOUD = """#!/bin/sh
# gcloud storage ls URI | gcloud storage rsync --recursive [--exclude=RE] URI FOLDER
if [ "$2" = ls ]; then
  [ -z "${DENIED:-}" ] || { echo "ERROR: 403 caller does not have storage.objects.list" >&2; exit 1; }
  [ -e "$STORE/${3#gs://}" ] || { echo "ERROR: One or more URLs matched no objects." >&2; exit 1; }
  exit
fi
skip=no; shift 3
case "$1" in --exclude=*) skip=yes; shift;; esac
src="$STORE/${1#gs://}"; to="$2"
for file in "$src"*; do
  case "$file" in *.safetensors) [ $skip = yes ] && continue;; esac
  cp "$file" "$to/"
done
[ -z "${BROKEN:-}" ]
"""
HUB = """
import fnmatch, os, pathlib

FILES = {"config.json": "{}", "model.safetensors": "w", "original/model.pth": "w", "tokenizer.json": "{}"}


def snapshot_download(repo_id, *, revision, local_dir, allow_patterns=None, ignore_patterns=None):
    if repo_id == "org/gone":
        raise RuntimeError("RepositoryNotFoundError: 404 Client Error")
    if (repo_id, revision) != ("org/model", "abc"):
        raise RuntimeError("GatedRepoError: 401 Client Error for " + repo_id)
    for name, text in FILES.items():
        wanted = allow_patterns is None or any(fnmatch.fnmatch(name, p) for p in allow_patterns)
        if wanted and not any(fnmatch.fnmatch(name, p) for p in ignore_patterns or ()):
            file = pathlib.Path(local_dir, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    if os.environ.get("BROKEN"):
        raise RuntimeError("connection lost")
"""
"""In huggingface_hub's place; that its function takes these arguments is held against the real one below."""


class Node:
    """A node's disk, and the programs that the images bring."""

    def __init__(self, folder: Path) -> None:
        self.models, self.store, programs = folder / "models", folder / "store", folder / "bin"
        for made in (self.models, self.store / "models" / "m" / "1", programs):
            made.mkdir(parents=True)
        for name, text in {"aws": AWS, "gcloud": GCLOUD}.items():
            (programs / name).write_text(text, encoding="utf-8")
            (programs / name).chmod(0o755)
        (programs / "huggingface_hub.py").write_text(HUB, encoding="utf-8")
        (programs / "python3").symlink_to(sys.executable)
        self._env = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(programs), "STORE": str(self.store)}

    def fill_store(self, *names: str) -> None:
        for name in names:
            (self.store / "models" / "m" / "1" / name).write_text(name, encoding="utf-8")

    def run(self, script: str, *arguments: str, pinned: str = "none", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", fetch_script(script, str(self.models)), script, *arguments, pinned],
            env={**self._env, **env},
            capture_output=True,
            text=True,
            check=False,
        )

    def has(self) -> set[str]:
        return {path.name for path in (self.models / MODEL).glob("*")}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


STORES = pytest.mark.parametrize("store", ["s3", "gcs"])


@STORES
def test_a_complete_model_comes_whole(node: Node, store: str) -> None:
    """Weights and marker; and a second start asks nobody."""
    node.fill_store("config.json", "model.safetensors", ".complete")
    assert node.run(f"fetch_from_{store}.sh", MODEL, URI[store], "yes", "no").returncode == 0
    assert node.has() == {"config.json", "model.safetensors", ".complete"}
    again = node.run(f"fetch_from_{store}.sh", MODEL, URI[store], "yes", "no", BROKEN="yes")
    assert (again.returncode, again.stdout) == (0, f"{MODEL} is there\n")


@STORES
def test_small_files_come_without_weights(node: Node, store: str) -> None:
    """For routers, which only cut text into tokens."""
    node.fill_store("config.json", "model.safetensors", ".complete")
    assert node.run(f"fetch_from_{store}.sh", MODEL, URI[store], "yes", "yes").returncode == 0
    assert node.has() == {"config.json", ".complete"}


@STORES
def test_an_upload_under_way_is_left_to_the_hub(node: Node, store: str) -> None:
    """Without its marker, a model in the store may be half there: the next container asks the hub."""
    node.fill_store("config.json")
    result = node.run(f"fetch_from_{store}.sh", MODEL, URI[store], "no", "no")
    assert result.returncode == 0 and "the hub is next" in result.stdout
    assert node.has() == set()


@STORES
def test_no_answer_is_not_no(node: Node, store: str) -> None:
    """Without the right to look, nobody knows what the store has: that is no reason to ask the hub."""
    node.fill_store("config.json", "model.safetensors", ".complete")
    result = node.run(f"fetch_from_{store}.sh", MODEL, URI[store], "no", "no", DENIED="yes")
    assert result.returncode == 1 and "did not say whether it has" in result.stderr
    assert node.has() == set()


def test_another_file_is_not_the_marker(node: Node) -> None:
    """`aws s3 ls` lists all that begins so."""
    node.fill_store("config.json", ".completely-else")
    result = node.run("fetch_from_s3.sh", MODEL, URI["s3"], "no", "no")
    assert result.returncode == 0 and "the hub is next" in result.stdout


@STORES
def test_a_broken_copy_is_not_a_model(node: Node, store: str) -> None:
    """The container fails and starts again; no engine sees half a folder."""
    node.fill_store("config.json", "model.safetensors", ".complete")
    assert node.run(f"fetch_from_{store}.sh", MODEL, URI[store], "yes", "no", BROKEN="yes").returncode != 0
    assert node.has() == set()
    assert node.run(f"fetch_from_{store}.sh", MODEL, URI[store], "yes", "no").returncode == 0
    assert ".complete" in node.has()


@STORES
def test_a_wrong_key_is_named(node: Node, store: str) -> None:
    """A team's own bucket where nothing lies: which address it was, and what is missing."""
    result = node.run(f"fetch_from_{store}.sh", MODEL, URI[store].replace("/m/1/", "/x/"), "yes", "no")
    assert result.returncode != 0 and node.has() == set()
    node.fill_store("README.md", ".complete")
    result = node.run(f"fetch_from_{store}.sh", MODEL, URI[store], "yes", "no")
    assert result.returncode != 0 and "holds no config.json" in result.stderr


def test_the_hub_gives_a_pinned_revision(node: Node) -> None:
    """Whole, or without weights where only small files are asked for."""
    assert node.run("fetch_from_hub.sh", MODEL, "org/model", "abc", "no").returncode == 0
    assert node.has() == {"config.json", "tokenizer.json", "model.safetensors", ".complete"}


def test_the_hub_gives_small_files(node: Node) -> None:
    assert node.run("fetch_from_hub.sh", MODEL, "org/model", "abc", "yes").returncode == 0
    assert node.has() == {"config.json", "tokenizer.json", ".complete"}


def test_a_download_goes_on_where_it_broke(node: Node) -> None:
    """What came is kept beside the folder, which appears only when it is whole."""
    assert node.run("fetch_from_hub.sh", MODEL, "org/model", "abc", "no", BROKEN="yes").returncode == 1
    assert node.has() == set()
    assert (node.models / f"{MODEL}.part" / "config.json").is_file()
    assert node.run("fetch_from_hub.sh", MODEL, "org/model", "abc", "no").returncode == 0
    assert ".complete" in node.has() and not (node.models / f"{MODEL}.part").exists()


@STORES
def test_files_are_held_against_their_manifest(node: Node, store: str) -> None:
    """A file that changed on its way is refused; the small ones are checked without the weights."""
    script, uri = f"fetch_from_{store}.sh", URI[store]
    node.fill_store("config.json", "model.safetensors")
    folder = node.store / "models" / "m" / "1"
    text = manifest_of(folder)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    node.fill_store(".complete")
    assert node.run(script, MODEL, uri, "yes", "yes").returncode == 0
    assert node.has() == {"config.json", ".complete", MANIFEST}
    shutil.rmtree(node.models / MODEL)
    assert node.run(script, MODEL, uri, "yes", "no", pinned=digest_of(text)).returncode == 0
    shutil.rmtree(node.models / MODEL)
    (folder / "model.safetensors").write_text("one bit else", encoding="utf-8")
    result = node.run(script, MODEL, uri, "yes", "no")
    assert result.returncode == 1 and f"{uri} is not what its {MANIFEST} says" in result.stderr
    assert "model.safetensors" in result.stdout + result.stderr and node.has() == set()


@STORES
def test_a_manifest_of_somebody_else_is_refused(node: Node, store: str) -> None:
    """Who may write to the store may write a manifest too: the environment's digest is what counts."""
    node.fill_store("config.json", ".complete")
    result = node.run(f"fetch_from_{store}.sh", MODEL, URI[store], "yes", "no", pinned="a" * 64)
    assert result.returncode == 1 and f"holds no {MANIFEST}" in result.stderr
    folder = node.store / "models" / "m" / "1"
    (folder / MANIFEST).write_text(manifest_of(folder), encoding="utf-8")
    result = node.run(f"fetch_from_{store}.sh", MODEL, URI[store], "yes", "no", pinned="a" * 64)
    assert result.returncode == 1 and "is not the one that models.<name>.manifest_sha256 pins" in result.stderr
    assert node.has() == set()


def test_the_hub_is_held_against_the_same_manifest(node: Node, tmp_path: Path) -> None:
    """What the hub's own command line downloads has a README, a cache and formats that no engine reads beside it."""
    folder = tmp_path / "downloaded"
    for name, text in {
        "config.json": "{}", "model.safetensors": "w", "tokenizer.json": "{}", "original/model.pth": "w",
        "README.md": "read", ".cache/huggingface/x.metadata": "m", ".gitattributes": "g",
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    text = manifest_of(folder)
    checked = subprocess.run(["sha256sum", "-c", "--quiet"], input=text, cwd=folder, text=True, check=False)
    assert checked.returncode == 0 and len(text.splitlines()) == 3
    result = node.run("fetch_from_hub.sh", MODEL, "org/model", "abc", "no", pinned="a" * 64)
    assert result.returncode == 1 and "is not what was pinned" in result.stderr and node.has() == set()
    assert node.run("fetch_from_hub.sh", MODEL, "org/model", "abc", "no", pinned=digest_of(text)).returncode == 0
    assert (node.models / MODEL / MANIFEST).read_text(encoding="utf-8") == text


def test_what_is_not_about_rights_says_so(node: Node) -> None:
    """A repository that is not there: no word of licences."""
    result = node.run("fetch_from_hub.sh", MODEL, "org/gone", "abc", "no")
    assert result.returncode == 1 and "not about rights" in result.stderr and "licence" not in result.stderr


@pytest.mark.parametrize(("token", "said"), [("", "models.<name>.token_secret"), ("hf_x", "accepted the model's")])
def test_a_refusal_says_what_to_do(node: Node, token: str, said: str) -> None:
    """Gated models: no token at all, or one whose owner has not accepted the licence."""
    result = node.run("fetch_from_hub.sh", MODEL, "org/gated", "abc", "no", HF_TOKEN=token)
    assert result.returncode == 1
    assert "org/gated at abc did not come from the hub" in result.stderr and said in result.stderr


def test_the_real_library_takes_these_arguments() -> None:
    """huggingface_hub, in the Python that HUB_PYTHON names or in this one; seen with 2.4.0."""
    code = "import inspect, huggingface_hub as h; print(*inspect.signature(h.snapshot_download).parameters)"
    python = os.environ.get("HUB_PYTHON", sys.executable)
    asked = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in asked.stderr:
        pytest.skip("no huggingface_hub: name a Python that has it in HUB_PYTHON")
    names = asked.stdout.split()
    assert {"repo_id", "revision", "local_dir", "allow_patterns", "ignore_patterns"} <= set(names)


class _Refusing(BaseHTTPRequestHandler):
    """A hub that has the repository and asks for more rights: 401 without a token, 403 with one."""

    def do_GET(self) -> None:
        self.send_response(403 if self.headers.get("authorization") else 401)
        self.send_header("X-Error-Code", "GatedRepo")
        self.send_header("X-Error-Message", "Access to model org/gated is restricted")
        self.send_header("content-length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815 - http.server's name

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(("token", "said"), [("", "models.<name>.token_secret"), ("hf_x", "accepted the model's")])
def test_the_real_library_is_refused(node: Node, token: str, said: str) -> None:
    """huggingface_hub against a hub on loopback that answers as the real one does for gated repositories."""
    python = os.environ.get("HUB_PYTHON", "")
    if not python:
        pytest.skip("no huggingface_hub: name a Python that has it in HUB_PYTHON")
    (node.models.parent / "bin" / "huggingface_hub.py").unlink()
    (node.models.parent / "bin" / "python3").unlink()
    (node.models.parent / "bin" / "python3").write_text(f'#!/bin/sh\nexec {python} "$@"\n', encoding="utf-8")
    (node.models.parent / "bin" / "python3").chmod(0o755)
    with HTTPServer(("127.0.0.1", 0), _Refusing) as hub:
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{hub.server_address[1]}"
        result = node.run("fetch_from_hub.sh", MODEL, "org/gated", "a" * 40, "no", HF_ENDPOINT=endpoint, HF_TOKEN=token)
        hub.shutdown()
    assert result.returncode == 1
    assert "The hub refused" in result.stderr and said in result.stderr and "licence" in result.stderr
    assert "hf_x" not in result.stdout + result.stderr
