"""docs/deploy.md: commands that can run here run, in order, in a copy of the repository; others name what there is."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "deploy.md"
COPIED = ("constructs", "stacks", "templates", "environments", "tools")
FILES = ("Makefile", "cdktf.json", "pyproject.toml", "constraints.txt", "constraints-moto.txt")
TERRAFORM_COMMANDS = {"init", "plan", "apply", "destroy"}
AWS = {
    "eks update-kubeconfig",
    "eks update-nodegroup-config",
    "autoscaling describe-auto-scaling-groups",
    "autoscaling update-auto-scaling-group",
    "ec2 describe-network-interfaces",
    "secretsmanager create-secret",
}
CELL_STACKS = ("foundation", "platform", "serving")
CLUSTER = {"--name", "--cluster-name"}
KUBECTL = {
    "get services",
    "get pv",
    "delete pvc",
    "get dynamographdeployments,deployments,pods",
    "delete dynamographdeployments",
}


def commands(text: str) -> list[str]:
    """Lines of the fenced ``sh`` blocks, also of those inside lists."""
    blocks = re.findall(r"^( *)```sh\n(.*?)^\1```$", text, re.DOTALL | re.MULTILINE)
    return [line.strip() for _, block in blocks for line in block.splitlines() if line.strip()]


@dataclass
class Machine:
    """A copy of the repository with an environment that needs no pip."""

    root: Path
    env: dict[str, str]
    ran: list[str] = field(default_factory=list)

    def run(self, command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command], cwd=self.root, env=self.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        self.ran.append(command)
        return done.stdout

    @property
    def stacks(self) -> set[str]:
        manifest = json.loads((self.root / "cdktf.out" / "manifest.json").read_text(encoding="utf-8"))
        return set(manifest["stacks"])


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    root = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    for name in FILES:
        shutil.copy2(ROOT / name, root / name)
    bin_ = root / ".venv" / "bin"
    bin_.mkdir(parents=True)
    for name, module in (("inferfab", " -m inferfab.cli"), ("python", "")):
        script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{module} "$@"\n'
        (bin_ / name).write_text(script, encoding="utf-8")
        (bin_ / name).chmod(0o755)
    for mark in ("python", "installed"):
        (root / ".venv" / mark).touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TF_", "INFERFAB_"))}
    path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
    return Machine(root, {**kept, "PATH": path, "PYTHONPATH": str(root / "constructs"), "MOTO_SERVER": "none"})


@pytest.fixture(scope="module")
def helps() -> dict[str, str]:
    """What the Terraform of this machine says of each command; empty without one."""
    program = shutil.which("terraform") or shutil.which("tofu")
    if program is None:
        return {}
    return {
        name: subprocess.run([program, name, "-help"], capture_output=True, text=True, check=False).stdout
        for name in TERRAFORM_COMMANDS
    }


def _terraform(words: list[str], machine: Machine, helps: dict[str, str]) -> None:
    option, command, *rest = words
    folder = option.removeprefix("-chdir=")
    assert folder != option and (machine.root / folder / "cdk.tf.json").is_file(), f"no stack in {folder}"
    assert command in TERRAFORM_COMMANDS
    flags = [word.partition("=")[0] for word in rest if word.startswith("-")]
    text = helps.get(command)
    # `destroy` refers to `apply` for its options.
    assert text is None or all(re.search(rf"^\s+{re.escape(flag)}\b", text, re.MULTILINE) for flag in flags), rest


def _cdktf(words: list[str], command: str, machine: Machine) -> None:
    assert "INFERFAB_ENV=prod" in command
    what, *names = words
    assert what in {"synth", "diff", "deploy"}
    assert set(names) <= machine.stacks
    if what == "synth":
        app = json.loads((machine.root / "cdktf.json").read_text(encoding="utf-8"))["app"]
        # As cdktf-cli does it.
        machine.run(f"CDKTF_OUTDIR=cdktf.out INFERFAB_ENV=prod {app}")


@pytest.mark.slow
def test_every_command_of_the_document(machine: Machine, helps: dict[str, str]) -> None:
    """In the order of the document, so that a folder exists when a command names it."""
    for command in commands(DOCUMENT.read_text(encoding="utf-8")):
        words = [word for word in shlex.split(command) if not re.match(r"[A-Z_]+=", word)]
        program, *rest = words
        if program == "make":
            # Installing is for people; that the target is there is enough.
            machine.run(f"make -n {rest[0]}" if rest[0] == "moto" else command)
        elif program == "inferfab":
            machine.run(command)
        elif program in {"terraform", "tofu"}:
            _terraform(rest, machine, helps)
        elif program == "cdktf":
            _cdktf(rest, command, machine)
        elif program == "python":
            # Exit code 3: what it needs is not on this machine, and it says so.
            machine.run(f"{command}; test $? -eq 3")
        elif program == "rm":
            assert (machine.root / rest[-1]).parent.is_dir()
        else:
            assert " ".join(rest[:2]) in {"aws": AWS, "kubectl": KUBECTL}.get(program, set()), command
            named = [rest[at + 1] for at, word in enumerate(rest) if word in CLUSTER and rest[0] == "eks"]
            assert all(f"{name}-foundation" in machine.stacks for name in named)
    assert len(machine.ran) >= 6


def test_the_document_shows_every_kind_of_stack() -> None:
    """Bootstrap, region, foundation, platform, serving, global: applied and destroyed, in opposite order."""
    text = DOCUMENT.read_text(encoding="utf-8")
    stack = r"terraform -chdir=\S*/(\S+) "
    applied, destroyed = (re.findall(stack + word, text) for word in ("apply", "destroy"))
    first, *rest = "prod-bootstrap", "prod-us-east-1-region", *(f"prod-use1-a-{s}" for s in CELL_STACKS)
    assert applied == [first, *rest, "prod-global"]
    assert destroyed == applied[::-1]


def test_links_of_the_documents_lead_somewhere() -> None:
    """Files that Markdown links name, and headings of the document itself."""
    for path in (DOCUMENT, ROOT / "README.md"):
        text = path.read_text(encoding="utf-8")
        headings = {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in re.findall(r"^#+ (.+)$", text, re.M)}
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if target.startswith("#"):
                assert target[1:] in headings, target
            elif "://" not in target:
                assert (path.parent / target.partition("#")[0]).exists(), target
