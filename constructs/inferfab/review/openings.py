"""Network and IAM that is wider after a change than before."""

import json
import re
from collections.abc import Iterator
from typing import Any

from inferfab.catalog.openings import CidrRule, FlagRule, GrantRule, PolicyRule, opening_rules
from inferfab.review.changes import ResourceChange
from inferfab.review.gpus.values import Values, at, block, blocks, text
from inferfab.review.lines import Opening, Unseen
from inferfab.review.masking import Hidden

_SERVICE = re.compile(r"\*|[a-z][a-z0-9-]{0,40}:\*")
"""What an action of AWS may look like; anything else in its place is not shown."""


def wanted() -> dict[str, tuple[str, ...]]:
    """Top-level attributes to keep, by type."""
    rules = opening_rules()
    found: dict[str, dict[str, None]] = {}
    ports = ("from_port", "to_port", "protocol", "ip_protocol", "allow")

    def keep(type_: str, *paths: str) -> None:
        found.setdefault(type_, {}).update(dict.fromkeys(p.split(".")[0] for p in paths))

    for type_, cidrs in rules.cidrs.items():
        keep(type_, *cidrs.paths, *cidrs.only, *(ports if cidrs.ports is not None else ("allow",)))
    for type_, flags in rules.flags.items():
        keep(type_, *(f.path for f in flags))
    for type_, policy in rules.policies.items():
        keep(type_, policy.path)
    for type_, grant in rules.grants.items():
        keep(type_, grant.path)
    return {type_: tuple(names) for type_, names in found.items()}


def openings(change: ResourceChange, stack: str) -> Iterator[Opening | Unseen]:
    """What ``after`` lets in and ``before`` did not; what cannot be seen is listed as such."""
    if change.no_op or change.mode != "managed" or change.after is None:
        return
    after = dict(_open(change.type, change.after))
    before = dict(_open(change.type, change.before)) if change.before is not None else {}
    for what, kind in after.items():
        if kind == "unseen":
            yield Unseen(subject=change.address, what=what)
        elif what not in before:
            yield Opening(subject=change.address, stack=stack, kind=kind, what=what)


def _open(type_: str, values: Values) -> Iterator[tuple[str, Any]]:
    rules = opening_rules()
    if cidrs := rules.cidrs.get(type_):
        yield from _cidrs(cidrs, values, rules.world)
    for flag in rules.flags.get(type_, ()):
        yield from _flag(flag, values)
    if policy := rules.policies.get(type_):
        yield from _policy(policy, values)
    if grant := rules.grants.get(type_):
        yield from _grant(grant, values)


def _cidrs(rule: CidrRule, values: Values, world: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for path, wants in rule.only.items():
        here = at(values, path)
        if here and not any(isinstance(v, Hidden) or v == wants for v in here):
            return
    for path in rule.paths:
        prefix, _, name = path.rpartition(".")
        holders: list[Any] = [values] if rule.ports in (None, "") or not prefix else at(values, prefix)
        for holder in holders:
            found = at(holder, name if holder is not values else path)
            if any(isinstance(v, Hidden) for v in found):
                yield f"`{path}` is known only after apply, or sensitive", "unseen"
            for value in dict.fromkeys(v for v in found if isinstance(v, str)):
                if value in world:
                    yield f"lets in {value}{_ports(holder)}", "network"


def _ports(holder: Any) -> str:
    if not isinstance(holder, dict):
        return ""
    protocol = text(holder.get("protocol")) or text(holder.get("ip_protocol"))
    low, high = holder.get("from_port"), holder.get("to_port")
    if protocol in ("-1", "all"):
        return ", every port and protocol"
    if not (_port(low) and _port(high)):
        allowed = [
            f"{text(a.get('protocol'))} {', '.join(filter(None, map(text, a.get('ports') or [])))}".strip()
            for a in blocks(holder.get("allow"))
            if isinstance(a.get("ports") or [], list)
        ]
        return f", {'; '.join(allowed)}" if allowed else ""
    return f", {protocol or 'any protocol'} {low}" + (f"–{high}" if low != high else "")


def _port(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -1 <= value <= 65535


def _flag(rule: FlagRule, values: Values) -> Iterator[tuple[str, str]]:
    for value in at(values, rule.path):
        if type(value) is type(rule.opens) and value == rule.opens:
            yield rule.what, rule.kind


def _grant(rule: GrantRule, values: Values) -> Iterator[tuple[str, str]]:
    for value in at(values, rule.path):
        if isinstance(value, Hidden):
            yield f"`{rule.path}` is known only after apply, or sensitive", "unseen"
        for wide in rule.wide:
            if isinstance(value, str) and (value == wide or (len(wide) > 1 and value.endswith(wide))):
                yield f"grants {wide.lstrip('/')}", "iam"


def _policy(rule: PolicyRule, values: Values) -> Iterator[tuple[str, str]]:
    value = values.get(rule.path)
    if isinstance(value, Hidden):
        yield f"`{rule.path}` is known only after apply, or sensitive", "unseen"
        return
    if not isinstance(value, str) or not value:
        return
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        yield f"`{rule.path}` is no JSON", "unseen"
        return
    if not isinstance(document, dict):
        return
    statements = document.get("Statement")
    for statement in blocks(statements):
        if statement.get("Effect") != "Allow":
            continue
        principals = _words(_principal(statement.get("Principal")))
        conditional = ", under a condition" if block(statement.get("Condition")) else ""
        if "*" in principals and not rule.caller_is_inside and not conditional:
            yield "anybody may use it", "iam"
        actions, resources = _words(statement.get("Action")), _words(statement.get("Resource"))
        owner = rule.account_root_is_owner and principals and all(p.endswith(":root") for p in principals)
        if owner or rule.caller_is_inside or (rule.account_root_is_owner and not conditional and not principals):
            continue
        if "NotAction" in statement:
            yield f"allows everything but a list of actions{conditional}", "iam"
        for action in dict.fromkeys(a for a in actions if a == "*" or a.endswith(":*")):
            if action == "*" or "*" in resources:
                what = "every resource" if "*" in resources else "some resources"
                shown = action if _SERVICE.fullmatch(action) else "every action of a service"
                yield f"allows {shown} on {what}{conditional}", "iam"


def _principal(value: Any) -> Any:
    if isinstance(value, dict):
        return [word for one in value.values() for word in _words(one)]
    return value


def _words(value: Any) -> list[str]:
    return [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]
