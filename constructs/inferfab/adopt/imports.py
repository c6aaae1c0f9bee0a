"""Import blocks for what is there already, stack by stack."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from inferfab.adopt.network import NETWORK
from inferfab.adopt.services import LOOKUPS, SERVICES
from inferfab.adopt.stack_view import Ambiguous, Finder, Match, StackView, Unlookable
from inferfab.input_files import read_bytes
from inferfab.preflight.reader import Reader, ReadFailed
from inferfab.record import Record

FILE = "imports.tf.json"
FINDERS: Mapping[str, Finder] = {**NETWORK, **SERVICES}
NOT_NEEDED: Mapping[str, str] = {
    "aws_autoscaling_group_tag": "AWS writes a tag over one of the same key",
    "aws_autoscaling_schedule": "AWS writes an action over one of the same name (PutScheduledUpdateGroupAction)",
    "aws_default_security_group": "the provider adopts the VPC's own by itself",
    "aws_s3_bucket_lifecycle_configuration": "S3 writes it over what is there",
    "aws_s3_bucket_ownership_controls": "S3 writes it over what is there",
    "aws_s3_bucket_policy": "S3 writes it over what is there: read it before, if it is somebody else's",
    "aws_s3_bucket_public_access_block": "S3 writes it over what is there",
    "aws_s3_bucket_server_side_encryption_configuration": "S3 writes it over what is there",
    "aws_s3_bucket_versioning": "S3 writes it over what is there",
    "aws_s3_object": "S3 writes it over what is there",
    "aws_sns_topic_policy": "SNS writes it over what is there",
    "aws_sns_topic_subscription": "SNS gives back the subscription that an address has",
}
"""Types whose creation does no harm to one that is there, and why."""
CANNOT: Mapping[str, str] = {
    "helm_release": "releases are in the cluster: terraform import ADDRESS NAMESPACE/NAME, where it can be reached",
}
State = Literal["found", "absent", "ambiguous", "unknown", "not needed", "cannot"]


class Looked(Record):
    """One resource of a stack, and what was found of it."""

    stack: str
    address: str
    state: State
    import_id: str | None = None
    why: str = ""


class UnreadableStacks(Exception):
    """There are no synthesized stacks to look at; the message says what to do."""


def stacks_in(out: Path, environment: str) -> dict[str, Mapping[str, Any]]:
    """The Terraform JSON of an environment's stacks by name.

    :raises UnreadableStacks: if there are none, or they are of another environment.
    """
    found = {}
    for path in sorted((out / "stacks").glob("*/cdk.tf.json")):
        try:
            found[path.parent.name] = json.loads(read_bytes(path))
        except (OSError, ValueError) as error:
            raise UnreadableStacks(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not found:
        raise UnreadableStacks(f"there are no stacks in {out}: run `inferfab synth {environment} --out {out}` before")
    others = [name for name in found if not name.startswith(f"{environment}-")]
    if others:
        raise UnreadableStacks(
            f"{out} holds {', '.join(others)}, which is not {environment}'s: run `inferfab synth {environment} "
            f"--out {out}`, or name its folder by --stacks"
        )
    return found


def look(stacks: Mapping[str, Mapping[str, Any]], reader: Reader) -> tuple[Looked, ...]:
    """What of the stacks is there; every stack at the same time, nothing is changed."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        parts = pool.map(lambda item: _stack(item[0], item[1], reader), stacks.items())
        return tuple(one for part in parts for one in part)


def _stack(name: str, document: Mapping[str, Any], reader: Reader) -> list[Looked]:
    resources = document.get("resource", {})
    if "aws" not in document.get("provider", {}) or not any("alias" not in p for p in document["provider"]["aws"]):
        return [
            Looked(stack=name, address=f"{t}.{n}", state="cannot", why=CANNOT.get(t, "only AWS is looked at"))
            for t, by_name in resources.items()
            for n in by_name
        ]
    view = StackView(document, reader, FINDERS, LOOKUPS)
    return [_one(view, name, type_, own) for type_, by_name in sorted(resources.items()) for own in sorted(by_name)]


def _one(view: StackView, stack: str, type_: str, own: str) -> Looked:
    address = f"{type_}.{own}"

    def said(state: State, why: str = "", match: Match | None = None) -> Looked:
        found = match.import_id if match else None
        return Looked(stack=stack, address=address, state=state, import_id=found, why=why)

    if type_ in NOT_NEEDED:
        return said("not needed", NOT_NEEDED[type_])
    if type_ not in FINDERS:
        return said("cannot", CANNOT.get(type_, f"{type_} is not looked up"))
    try:
        match = view.match(type_, own)
    except Ambiguous as error:
        return said("ambiguous", str(error))
    except (Unlookable, ReadFailed) as error:
        return said("unknown", str(error))
    return said("found", match=match) if match is not None else said("absent")


def imports_file(looked: Sequence[Looked]) -> str:
    """The blocks of one stack, as Terraform and OpenTofu read them."""
    blocks = [{"to": one.address, "id": one.import_id} for one in looked if one.state == "found"]
    return json.dumps({"import": blocks}, indent=2) + "\n"
