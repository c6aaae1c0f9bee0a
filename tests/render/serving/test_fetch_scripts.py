"""The scripts that bring a model to a node, run by a shell with stores and a hub that are folders."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inferfab.render.templates import render

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
    if (repo_id, revision) != ("org/model", "abc"):
        raise RuntimeError("401 for " + repo_id)
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

    def run(self, script: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        text = render(f"dynamo/{script}.j2", models_path=str(self.models), complete=".complete")
        return subprocess.run(
            ["sh", "-c", text, script, *arguments],
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
