"""Real environments as the stacks that they become; each is synthesized once a process."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from inferfab import check, load_text
from inferfab.plan.fleet import FleetPlan
from inferfab.synthesis import synthesize

ROOT = Path(__file__).resolve().parents[2]
OWN = Path(__file__).parent / "environments"
ENVIRONMENTS = ("dev", "staging", "prod")
"""The repository's own that become Terraform."""
FABRICS = ("prod-gcp", "prod-global", "prod-hybrid")
"""Those on Google Cloud and on owned racks."""
ALL = (*ENVIRONMENTS, "existing-network", "existing-cluster")
"""And those of this folder."""

Document = Mapping[str, Any]
"""A stack's Terraform JSON."""


def file_of(name: str) -> Path:
    """Where an environment is."""
    folder = ROOT / "environments" if name in (*ENVIRONMENTS, *FABRICS) else OWN
    return folder / f"{name}.yaml"


def body_of(name: str) -> dict[str, Any]:
    """An environment to be changed."""
    body: dict[str, Any] = yaml.safe_load(file_of(name).read_text(encoding="utf-8"))
    return body


def plan_of(text: str) -> FleetPlan:
    """The plan of an environment, which must have no errors."""
    checked = check(load_text(text))
    assert checked.plan is not None, [f"{f.rule} {f.what}" for f in checked.findings if f.severity == "error"]
    assert checked.ok, [f"{f.rule} {f.what}" for f in checked.findings if f.severity == "error"]
    return checked.plan


@cache
def fleet(name: str) -> FleetPlan:
    return plan_of(file_of(name).read_text(encoding="utf-8"))


def written(plan: FleetPlan) -> dict[str, Document]:
    """Every stack of a fleet by name, in the order in which they are applied."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        return {stack.name: json.loads((out / stack.path).read_bytes()) for stack in synthesize(plan, out)}


def charts_of(plan: FleetPlan) -> list[tuple[str, str]]:
    """Path and text of every object of our own charts, as Helm installs them where nothing is there yet.

    Helm itself is compared with this in tests/kubernetes, where it is on the machine.
    """
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        synthesize(plan, out)
        files = sorted((out / "stacks").glob("*/assets/*/*/templates/*.yaml"))
        return [(file.relative_to(out).as_posix(), first_install(file.read_text(encoding="utf-8"))) for file in files]


def first_install(text: str) -> str:
    """``lookup`` finds nothing then, so a number that is left to its owner is the plan's."""
    return re.sub(r"\{\{- \$live := (\d+) -\}\}.*?\{\{ \$live \}\}", r" \1", text).replace('{{ "{{" }}', "{{")


@cache
def stacks(name: str) -> Mapping[str, Document]:
    return written(fleet(name))


def changed(body: Mapping[str, Any]) -> dict[str, Document]:
    """The stacks of a changed environment, its keys in the order given."""
    return written(plan_of(yaml.safe_dump(dict(body), sort_keys=False, allow_unicode=True)))


def addresses(documents: Mapping[str, Document]) -> set[str]:
    """``stack address`` of every managed resource, as the golden lists have them."""
    return {
        f"{stack} {type_}.{name}"
        for stack, document in documents.items()
        for type_, by_name in document.get("resource", {}).items()
        for name in by_name
    }


def every(documents: Mapping[str, Document], type_: str, kind: str = "resource") -> Iterator[tuple[str, Any]]:
    """Resources of a type in all stacks, each with ``stack/path of its construct``."""
    for document in documents.values():
        for body in document.get(kind, {}).get(type_, {}).values():
            yield body["//"]["metadata"]["path"], body


def at(document: Document, type_: str, path: str) -> Any:
    """The resource whose construct is at a path, ``stack/construct/…``."""
    found = [body for there, body in every({"": document}, type_) if there == path]
    assert len(found) == 1, f"{type_} at {path}: {len(found)}"
    return found[0]


def reference(type_: str, body: Mapping[str, Any], attribute: str) -> str:
    """``${aws_kms_key.key_….arn}``"""
    return f"${{{type_}.{body['//']['metadata']['uniqueId']}.{attribute}}}"
