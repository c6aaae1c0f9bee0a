"""Synthesized stacks as they lie in a folder, and whether they are an environment's."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from inferfab.input_files import read_bytes
from inferfab.plan.fleet import FleetPlan

Document = Mapping[str, Any]
"""A stack's Terraform JSON."""


class UnreadableStacks(Exception):
    """There are no synthesized stacks to look at; the message says what to do."""


def stacks_in(out: Path, environment: str) -> dict[str, Document]:
    """An environment's stacks by name.

    :raises UnreadableStacks: if there are none, they are of another environment, or are not what `synth` writes.
    """
    found = {path.parent.name: _read(path) for path in sorted((out / "stacks").glob("*/cdk.tf.json"))}
    if not found:
        raise UnreadableStacks(f"there are no stacks in {out}: run `inferfab synth {environment} --out {out}` before")
    others = [name for name in found if not name.startswith(f"{environment}-")]
    if others:
        raise UnreadableStacks(
            f"{out} holds {', '.join(others)}, which is not {environment}'s: run `inferfab synth {environment} "
            f"--out {out}`, or name its folder by --stacks"
        )
    return found


def refuse_others(stacks: Mapping[str, Document], fleet: FleetPlan, out: Path) -> None:
    """Whatever an earlier state of the file, or another of the same name, was synthesized to.

    :raises UnreadableStacks: if a stack is of another account, project or state than the environment says.
    """
    name = fleet.ownership.name
    wrong = [f"{stack} is of {why}" for stack, document in stacks.items() for why in _elsewhere(document, fleet)]
    if wrong:
        more = f" ({len(wrong)} such stacks)" if len(wrong) > 1 else ""
        raise UnreadableStacks(
            f"{out} was not synthesized from this file: {wrong[0]}{more}; run `inferfab synth {name} --out {out}`, and "
            "read what it would change"
        )


def _elsewhere(document: Document, fleet: FleetPlan) -> Iterator[str]:
    own = fleet.ownership
    for provider in document.get("provider", {}).get("aws", ()):
        allowed = provider.get("allowed_account_ids")
        if "alias" in provider or allowed is None:
            continue
        account = own.accounts.aws.account_id if own.accounts.aws else "no AWS account"
        if allowed != [account]:
            yield f"AWS account {', '.join(map(str, allowed))}, and the file says {account}"
    for provider in document.get("provider", {}).get("google", ()):
        project = own.accounts.gcp.project if own.accounts.gcp else "no Google project"
        if "project" in provider and provider["project"] != project:
            yield f"Google project {provider['project']}, and the file says {project}"
    bucket = document.get("terraform", {}).get("backend", {}).get("s3", {}).get("bucket")
    if bucket is not None and own.state is not None and bucket != own.state.bucket:
        yield f"the state in bucket {bucket}, and the file says {own.state.bucket}"


def _read(path: Path) -> Document:
    try:
        document = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableStacks(f"{path} cannot be read: {error}") from error
    broken = _broken(document)
    if broken:
        raise UnreadableStacks(f"{path} is not what `inferfab synth` writes: {broken}; synthesize it again")
    assert isinstance(document, dict)
    return document


def _broken(document: object) -> str | None:
    """What is wrong with the shape, as far as this program relies on it."""
    if not isinstance(document, dict):
        return "it is no object"
    for section in ("resource", "data"):
        types = document.get(section, {})
        if not isinstance(types, dict):
            return f"`{section}` is no object"
        for kind, named in types.items():
            if not isinstance(named, dict) or not all(isinstance(body, dict) for body in named.values()):
                return f"`{section}.{kind}` is no object of objects"
    terraform = document.get("terraform", {})
    backend = terraform.get("backend", {}) if isinstance(terraform, dict) else None
    if not isinstance(backend, dict) or not isinstance(backend.get("s3", {}), dict):
        return "`terraform.backend` is no object"
    providers = document.get("provider", {})
    if not isinstance(providers, dict):
        return "`provider` is no object"
    for kind, each in providers.items():
        if not isinstance(each, list) or not all(isinstance(one, dict) for one in each):
            return f"`provider.{kind}` is no list of objects"
    return next((w for p in providers.get("aws", ()) if "alias" not in p and (w := _broken_provider(p))), None)


def _broken_provider(provider: dict[str, Any]) -> str | None:
    accounts, tags = provider.get("allowed_account_ids"), provider.get("default_tags")
    if not isinstance(provider.get("region"), str) or not isinstance(accounts, list) or not accounts:
        return "its AWS provider has no region or no account"
    own = tags[0].get("tags") if isinstance(tags, list) and tags and isinstance(tags[0], dict) else None
    if not isinstance(own, dict) or "inferfab-environment" not in own:
        return "its AWS provider has no tags of the environment"
    return None
