"""Plan synthesized stacks with the real providers, against AWS's APIs as moto plays them on this machine.

    inferfab synth prod
    python tools/plan_against_moto.py cdktf.out/stacks/prod-use1-a-foundation --mirror providers

What it proves: the providers' own validation takes our JSON, and their plan creates every resource in it. What it does
not prove: that AWS takes it. Nothing is applied, no account is touched, and no credentials of yours are used: the
stack is copied, and an override file in the copy gives it a local backend, false credentials and endpoints on
127.0.0.1.

What it needs, and says when it is missing (exit code 3):

- `terraform` or `tofu` on PATH, or named by --terraform.
- The providers that the stacks pin, in a folder as `terraform providers mirror` makes it, named by --mirror or
  TF_PROVIDER_MIRROR. On a machine that reaches a registry:
  `terraform -chdir=cdktf.out/stacks/prod-use1-a-platform providers mirror -platform=linux_amd64 DIR`
- moto in a virtual environment of its own: `make moto`, or the program that MOTO_SERVER or --moto names.

Stacks that install Helm charts are validated, not planned: moto's clusters have no Kubernetes behind them. A stack that
looks up load balancers or hosted zones finds what `--seed` (default) puts there before.

Exit codes: 0 all planned, 1 Terraform or moto failed, 2 wrong usage, 3 something is missing.
"""

import argparse
import contextlib
import http.client
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OVERRIDE = "moto_override.tf.json"
REGISTRIES = {"terraform": "registry.terraform.io", "tofu": "registry.opentofu.org"}
SERVICES = (
    "acm", "autoscaling", "budgets", "cloudwatch", "ec2", "ecr", "efs", "eks", "elbv2", "iam", "kms", "logs",
    "route53", "s3", "secretsmanager", "sns", "ssm", "sts",
)  # fmt: skip
"""Keys of the AWS provider's `endpoints` block, for every service that our resource classes reach."""
MOTO_ACCOUNT = "123456789012"
"""Whose account it is where a stack does not say."""
_START_SECONDS = 60.0


class Missing(Exception):
    """Something is not on this machine; one line each of what, and how to get it."""


class Failed(Exception):
    """Terraform or moto did not do it."""


@dataclass(frozen=True)
class Provider:
    source: str
    version: str


@dataclass(frozen=True)
class Stack:
    """A synthesized stack."""

    folder: Path
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def providers(self) -> tuple[Provider, ...]:
        wanted = self.document.get("terraform", {}).get("required_providers", {})
        return tuple(Provider(one["source"], one["version"]) for one in wanted.values())

    @property
    def resources(self) -> int:
        return sum(len(by_name) for by_name in self.document.get("resource", {}).values())

    @property
    def uses_aws(self) -> bool:
        return bool(self.document.get("provider", {}).get("aws"))

    @property
    def plannable(self) -> bool:
        """Without a cluster."""
        return "helm" not in self.document.get("provider", {})

    @property
    def accounts(self) -> set[str]:
        return {a for block in self.document.get("provider", {}).get("aws", []) for a in block["allowed_account_ids"]}

    def lookups(self, type_: str) -> list[Mapping[str, Any]]:
        return list(self.document.get("data", {}).get(type_, {}).values())


def read_stack(folder: Path) -> Stack:
    """:raises Failed: if there is no synthesized stack in the folder."""
    try:
        return Stack(folder, json.loads((folder / "cdk.tf.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise Failed(f"{folder} is not the folder of a synthesized stack ({error})") from error


# What has to be there.


def terraform_binary(named: str | None) -> Path:
    """:raises Missing: if there is neither Terraform nor OpenTofu."""
    for name in [named] if named else list(REGISTRIES):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise Missing(
        f"{named or 'terraform or tofu'}: not found; put it on PATH or name it with --terraform "
        "(Terraform 1.11 or OpenTofu 1.10, or newer)"
    )


def platform_name() -> str:
    """As registries write it, ``linux_amd64``."""
    machine = platform.machine().lower()
    return f"{platform.system().lower()}_{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(machine, machine) }"


def registry_of(terraform: Path) -> str:
    """Where a source without host comes from: Terraform and OpenTofu have one each."""
    return REGISTRIES["tofu" if "tofu" in terraform.name else "terraform"]


def check_mirror(stacks: Iterable[Stack], mirror: Path | None, terraform: Path) -> None:
    """Both layouts of a mirror count: packed (a zip a release) and unpacked (a folder a platform).

    :raises Missing: names every provider that is not there.
    """
    host, where = registry_of(terraform), platform_name()
    wanted = {provider: stack for stack in stacks for provider in stack.providers}
    lines = []
    for provider, stack in sorted(wanted.items(), key=lambda item: item[0].source):
        path = f"{host}/{provider.source}"
        short = provider.source.rpartition("/")[2]
        packed = f"{path}/terraform-provider-{short}_{provider.version}_{where}.zip"
        unpacked = f"{path}/{provider.version}/{where}"
        if mirror is None:
            lines.append(f"provider {provider.source} {provider.version} ({where}): no mirror was named")
        elif not (mirror / packed).is_file() and not any((mirror / unpacked).glob("terraform-provider-*")):
            lines.append(
                f"provider {provider.source} {provider.version} ({where}): neither {packed} nor {unpacked}/ is in "
                f"{mirror}"
            )
        else:
            continue
        lines.append(
            f"  get it where a registry is reachable: {terraform.name} -chdir={stack.folder} providers mirror "
            f"-platform={where} {mirror or 'DIR'}"
        )
    if lines:
        hint = [] if mirror else ["  then name that folder with --mirror or TF_PROVIDER_MIRROR"]
        raise Missing("\n".join(lines + hint))


def moto_server(named: str | None) -> Path:
    """:raises Missing: if moto is not installed."""
    beside = ROOT / ".venv-moto" / "bin" / "moto_server"
    chosen = named or os.environ.get("MOTO_SERVER")
    found = shutil.which(chosen or str(beside))
    if found:
        return Path(found)
    raise Missing(
        f"{chosen or 'moto_server'}: not found; `make moto` installs it into .venv-moto (or: python3 -m venv "
        ".venv-moto && .venv-moto/bin/pip install -c constraints-moto.txt 'moto[server]'), --moto or MOTO_SERVER name "
        "another"
    )


# What Terraform gets.


def cli_config(mirror: Path | None) -> str:
    """Providers from the mirror and from nowhere else; without one, from nowhere."""
    method = f"  filesystem_mirror {{\n    path = {json.dumps(str(mirror.resolve()))}\n  }}\n" if mirror else ""
    nowhere = '  direct {\n    exclude = ["*/*/*"]\n  }\n'
    return f"disable_checkpoint = true\n\nprovider_installation {{\n{method or nowhere}}}\n"


def override(stack: Stack, endpoint: str | None) -> dict[str, Any]:
    """What stands over the stack's own settings in the copy."""
    changed: dict[str, Any] = {"terraform": {"backend": {"local": {"path": "moto.tfstate"}}}}
    if stack.uses_aws:
        assert endpoint is not None
        changed["provider"] = {
            "aws": [
                {
                    "access_key": "moto",
                    "secret_key": "moto",
                    "endpoints": [dict.fromkeys(SERVICES, endpoint)],
                    "s3_use_path_style": True,
                    "skip_metadata_api_check": "true",
                    "skip_region_validation": True,
                }
            ]
        }
    return changed


def copied(stack: Stack, work: Path, endpoint: str | None) -> Path:
    """The stack's folder without what Terraform left in it, with the override beside."""
    target = work / stack.name
    left = shutil.ignore_patterns(".terraform", ".terraform.lock.hcl", "*.tfstate", "*.tfstate.backup")
    shutil.copytree(stack.folder, target, ignore=left)
    (target / OVERRIDE).write_text(json.dumps(override(stack, endpoint), indent=2) + "\n", encoding="utf-8")
    return target


def environment(work: Path, endpoint: str | None) -> dict[str, str]:
    """Nobody's credentials, profiles or Terraform settings; whatever is not told of moto still goes nowhere else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TF_"))}
    kept |= {
        "TF_CLI_CONFIG_FILE": str(work / "terraform.rc"),
        "TF_IN_AUTOMATION": "1",
        "CHECKPOINT_DISABLE": "1",
        "AWS_CONFIG_FILE": str(work / "no-aws-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(work / "no-aws-credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    return kept | ({"AWS_ENDPOINT_URL": endpoint} if endpoint else {})


# moto.


@contextlib.contextmanager
def moto(program: Path, account: str, log: Path) -> Iterator[str]:
    """A moto server on a free port of 127.0.0.1; its address.

    :raises Failed: if it does not answer in time.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {**os.environ, "MOTO_ACCOUNT_ID": account}
    with log.open("wb") as out:
        server = subprocess.Popen(
            [str(program), "-H", "127.0.0.1", "-p", str(port)], stdout=out, stderr=subprocess.STDOUT, env=own
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(port):
            if server.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise Failed(f"moto does not answer on 127.0.0.1:{port}\n{said}")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/moto-api/data.json")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


SEED = """
import json, sys
import boto3

endpoint, wanted = sys.argv[1], json.loads(sys.argv[2])
session = boto3.Session(aws_access_key_id="moto", aws_secret_access_key="moto", region_name="us-east-1")
for region, name in wanted["load_balancers"]:
    ec2 = session.client("ec2", region_name=region, endpoint_url=endpoint)
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    elb = session.client("elbv2", region_name=region, endpoint_url=endpoint)
    elb.create_load_balancer(Name=name, Subnets=[subnet], Type="network")
for name in wanted["zones"]:
    session.client("route53", endpoint_url=endpoint).create_hosted_zone(Name=name, CallerReference=name)
"""
"""Runs in moto's own Python, which has boto3. Subnets: those of the default VPC that moto begins with."""


def seed(program: Path, endpoint: str, stacks: Sequence[Stack]) -> None:
    """Make what the stacks look up by name.

    :raises Failed: if moto refuses.
    """
    wanted = {
        "load_balancers": sorted({(one["region"], one["name"]) for s in stacks for one in s.lookups("aws_lb")}),
        "zones": sorted({one["name"] for s in stacks for one in s.lookups("aws_route53_zone")}),
    }
    if not any(wanted.values()):
        return
    python = program.parent / "python"
    done = subprocess.run(
        [str(python), "-c", SEED, endpoint, json.dumps(wanted)],
        env=environment(program.parent, endpoint), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise Failed(f"moto did not take what the stacks look up:\n{done.stderr[-2000:]}")


# The run.


def terraform_runs(terraform: Path, folder: Path, env: Mapping[str, str], *words: str) -> str:
    """:raises Failed: with what Terraform said."""
    done = subprocess.run(
        [str(terraform), f"-chdir={folder}", *words],
        env=dict(env), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        raise Failed(f"{folder.name}: {terraform.name} {' '.join(words)} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def plan_stack(terraform: Path, stack: Stack, folder: Path, env: Mapping[str, str]) -> str:
    """Init, validate, and plan where it can be planned; one line of what came of it.

    :raises Failed: if a step fails, or the plan would create anything but what the JSON has.
    """
    terraform_runs(terraform, folder, env, "init", "-input=false", "-no-color")
    terraform_runs(terraform, folder, env, "validate", "-no-color")
    if not stack.plannable:
        return f"{stack.name}: valid; not planned, its Helm releases need a cluster that answers"
    terraform_runs(terraform, folder, env, "plan", "-input=false", "-no-color", "-lock=false", "-out=moto.plan")
    shown = json.loads(terraform_runs(terraform, folder, env, "show", "-json", "moto.plan"))
    changes = [one for one in shown.get("resource_changes", []) if one["mode"] == "managed"]
    odd = [one["address"] for one in changes if one["change"]["actions"] != ["create"]]
    if odd or len(changes) != stack.resources:
        raise Failed(
            f"{stack.name}: the plan creates {len(changes) - len(odd)} of {stack.resources} resources"
            + (f"; it would change {', '.join(odd)}" if odd else "")
        )
    return f"{stack.name}: valid; the plan creates all {stack.resources} resources"


def run(arguments: argparse.Namespace) -> None:
    """:raises Missing: before anything is started. :raises Failed: at the first stack that fails."""
    stacks = [read_stack(folder) for folder in arguments.stacks]
    accounts = {account for stack in stacks for account in stack.accounts}
    if len(accounts) > 1:
        raise Failed(f"stacks of several accounts ({', '.join(sorted(accounts))}); plan those of one at a time")
    missing: list[str] = []
    terraform = server = None
    try:
        terraform = terraform_binary(arguments.terraform)
    except Missing as error:
        missing.append(str(error))
    try:
        check_mirror(stacks, arguments.mirror, terraform or Path(arguments.terraform or "terraform"))
    except Missing as error:
        missing.append(str(error))
    if any(stack.uses_aws for stack in stacks):
        try:
            server = moto_server(arguments.moto)
        except Missing as error:
            missing.append(str(error))
    if missing or terraform is None:
        raise Missing("\n".join(missing))
    with contextlib.ExitStack() as open_things:
        work = arguments.keep or Path(open_things.enter_context(tempfile.TemporaryDirectory()))
        work.mkdir(parents=True, exist_ok=True)
        (work / "terraform.rc").write_text(cli_config(arguments.mirror), encoding="utf-8")
        endpoint = None
        if server is not None:
            account = next(iter(accounts), MOTO_ACCOUNT)
            endpoint = open_things.enter_context(moto(server, account, work / "moto.log"))
            if arguments.seed:
                seed(server, endpoint, stacks)
        env = environment(work, endpoint)
        for stack in stacks:
            print(plan_stack(terraform, stack, copied(stack, work, endpoint), env), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], epilog="The head of this file has the whole story."
    )
    parser.add_argument("stacks", nargs="+", type=Path, metavar="STACK", help="folder of a synthesized stack")
    mirror = os.environ.get("TF_PROVIDER_MIRROR")
    parser.add_argument(
        "--mirror", type=Path, default=Path(mirror) if mirror else None, help="folder of providers (TF_PROVIDER_MIRROR)"
    )
    parser.add_argument("--terraform", help="terraform or tofu, if not the one on PATH")
    parser.add_argument("--moto", help="moto_server, if not the one of .venv-moto (MOTO_SERVER)")
    parser.add_argument("--keep", type=Path, help="leave copies, configuration and moto's log in this new folder")
    parser.add_argument("--seed", action=argparse.BooleanOptionalAction, default=True, help="make what stacks look up")
    arguments = parser.parse_args(argv)
    if arguments.keep and arguments.keep.exists():
        parser.error(f"--keep {arguments.keep}: there is something already; name a new folder")
    try:
        run(arguments)
    except Missing as error:
        print(f"cannot plan, because this is missing:\n{error}", file=sys.stderr)
        return 3
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
