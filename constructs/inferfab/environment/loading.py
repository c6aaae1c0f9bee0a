"""From a file to an :class:`Environment`, or to everything that is wrong with the file."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from inferfab.environment.environment import Environment
from inferfab.environment.problems import findings_of
from inferfab.environment.source import Source
from inferfab.environment.yaml_source import parse_source, read_source
from inferfab.findings import Finding, YamlPath, has_errors, ranked

NAMED_SECTIONS = ("models", "tiers", "pools", "cells")
_ACCOUNTS: dict[str, Any] = {"aws": {"account_id": "000000000000"}, "gcp": {"project": "stand-in"}}
_STAND_INS: dict[str, Any] = {
    "name": "unnamed", "owner": "nobody", "accounts": _ACCOUNTS, "engine": {"dynamo": "1.6.1"}, "version": 1,
}  # fmt: skip
_MOST_ROUNDS = 50


@dataclass(frozen=True)
class Loaded:
    """What came out of a file.

    ``environment`` is whole when there are no findings. Otherwise it is what is sound of the file (or None),
    so that the rest can still be checked and all errors of a file be reported at once.
    """

    source: Source
    environment: Environment | None
    declared: dict[str, frozenset[str]]
    """Names that the file declares by section, broken entries included: referring to one is not a second error."""
    findings: tuple[Finding, ...]

    def has(self, section: str) -> bool:
        """The file says something under that key, sound or not."""
        return self.source.tree.get(section) is not None

    @property
    def broken(self) -> bool:
        return has_errors(self.findings) or self.environment is None


def load(path: str | Path, *, shown_as: str | None = None) -> Loaded:
    """Read an environment file. Bad content is never an exception; it stands in ``findings``."""
    return _loaded(read_source(Path(path), shown_as=shown_as))


def load_text(text: str, *, shown_as: str = "environment.yaml") -> Loaded:
    """The same for text that is already in memory (an editor, a git revision)."""
    return _loaded(parse_source(text.encode("utf-8", "surrogatepass"), Source(file=shown_as)))


def _loaded(source: Source) -> Loaded:
    declared = {
        section: frozenset(str(name) for name in entries)
        if isinstance(entries := source.tree.get(section), dict)
        else frozenset()
        for section in NAMED_SECTIONS
    }
    findings = list(source.findings)
    environment = None
    if "plan_version" in source.tree:
        source.problem(
            "IF-ENV-013",
            source.places[("plan_version",)].key if ("plan_version",) in source.places else (1, 1),
            "is a saved plan, not an environment",
            "a plan is what was decided; it is planned from an environment file.",
            "name the environment file; `inferfab diff` reads saved plans",
            path=("plan_version",),
        )
        return Loaded(source, None, declared, ranked(source.findings))
    if {"apiVersion", "kind"} <= set(source.tree):
        source.problem(
            "IF-ENV-013",
            source.places[("apiVersion",)].key if ("apiVersion",) in source.places else (1, 1),
            "is a Kubernetes manifest, not an environment",
            "manifests are judged by what runs in them, and need no environment file.",
            f"add `--manifests`: `inferfab check --manifests {source.file}`",
            path=("apiVersion",),
        )
        return Loaded(source, None, declared, ranked(source.findings[-1:]))
    if source.tree:
        environment, found = _validate(source)
        findings += found
    return Loaded(source, environment, declared, ranked(findings))


def _validate(source: Source) -> tuple[Environment | None, list[Finding]]:
    """Validate; set broken parts aside and validate again, until what is left is sound."""
    tree: dict[str, Any] = source.tree
    findings: dict[tuple[str, YamlPath], Finding] = {}
    refused = {(f.location.line, f.location.column) for f in source.findings}
    caused: set[YamlPath] = set()
    """What `set_aside` took out, and what held it: that these are missing or empty is our doing."""
    for round_ in range(_MOST_ROUNDS):
        try:
            return Environment.model_validate(tree), list(findings.values())
        except ValidationError as error:
            new = findings_of(error, tree, source)
        for finding in new:
            if finding.path and finding.path[0] in _STAND_INS and round_:
                continue  # a stand-in of ours is not the user's error
            place = source.places.get(finding.path)
            if finding.path in caused or (place is not None and place.value in refused):
                continue  # an alias or a tagged value is reported once, as what it is
            findings.setdefault((finding.rule, finding.path), finding)
        if round_ == 0:
            tree = copy.deepcopy(tree)
        unknown = {f.path for f in new if f.rule == "IF-ENV-010"}
        if not set_aside(tree, (f.path for f in new), unknown_keys=unknown):
            break
        for path in {f.path for f in new} - unknown:
            caused |= {path[:1], path[:2]} if path[:1] and path[0] in NAMED_SECTIONS else {path[:1]}
    return None, list(findings.values())


def set_aside(tree: dict[str, Any], paths: Iterable[YamlPath], *, unknown_keys: set[YamlPath] = frozenset()) -> bool:  # type: ignore[assignment]
    """Remove from ``tree`` the smallest named part that holds each path; False if nothing could be removed."""
    changed = False
    for path in paths:
        if path in unknown_keys:
            changed |= _delete(tree, path)
        elif len(path) >= 2 and path[0] in NAMED_SECTIONS:
            changed |= _delete(tree, path[:2])
        elif len(path) >= 2 and path[0] == "accounts" and path[1] in _ACCOUNTS:
            cloud = str(path[1])
            changed |= tree["accounts"][cloud] != _ACCOUNTS[cloud]
            tree["accounts"][cloud] = _ACCOUNTS[cloud]
        elif path and path[0] in _STAND_INS:
            name = str(path[0])
            changed |= tree.get(name) != _STAND_INS[name]
            tree[name] = _STAND_INS[name]
        elif path:
            changed |= _delete(tree, path[:1])
    return changed


def _delete(tree: Any, path: YamlPath) -> bool:
    for part in path[:-1]:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return False
    try:
        del tree[path[-1]]
    except (KeyError, IndexError, TypeError):
        return False
    return True
