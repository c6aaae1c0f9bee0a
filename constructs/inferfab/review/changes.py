"""One resource change of a plan, reduced to what a review needs. No secret gets past here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inferfab.review.masking import changed_paths, masked, path_in_words

NO_OP = ("no-op",)
ACTIONS = frozenset({"no-op", "create", "read", "update", "delete", "forget"})
"""hashicorp/terraform internal/command/jsonplan, actionString; another one is not taken for harmless."""
_LONGEST = 1000
"""Characters of a name or address; the plan's own are far shorter."""


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """A change of one resource instance; ``before`` and ``after`` hold the wanted attributes, masked."""

    address: str
    module: str
    mode: str
    type: str
    name: str
    index: str
    actions: tuple[str, ...]
    reason: str = ""
    replace_paths: tuple[str, ...] = ()
    moved_from: str = ""
    imported: bool = False
    deposed: bool = False
    changed: tuple[str, ...] = ()
    more_changed: int = 0
    before: Mapping[str, Any] | None = field(default=None, hash=False)
    after: Mapping[str, Any] | None = field(default=None, hash=False)

    @property
    def no_op(self) -> bool:
        return self.actions == NO_OP

    @property
    def destroys(self) -> bool:
        """Upstream's advice: look for ``delete``, so that new combinations are caught."""
        return "delete" in self.actions

    @property
    def forgets(self) -> bool:
        return "forget" in self.actions


class Malformed(Exception):
    """A member of a plan's list is not what its format says; the message says which and why."""


def read_change(raw: Any, wanted: Mapping[str, tuple[str, ...]]) -> ResourceChange:
    """Read one member of ``resource_changes`` or ``resource_drift``; keep the attributes wanted of its type.

    :raises Malformed: if it has no address, no type or no actions.
    """
    if not isinstance(raw, dict):
        raise Malformed("a member is not an object")
    type_, name = _text(raw, "type"), _text(raw, "name")
    # Drift in plans of Terraform 1.0 has no address (../shared/data/plans/delete-update-create.json).
    address = _text(raw, "address") or (f"{type_}.{name}" if type_ and name else "")
    change = raw.get("change")
    if not address or not type_ or not isinstance(change, dict):
        raise Malformed(f"{address or 'a member'} lacks its address, type or change")
    actions = change.get("actions")
    if not isinstance(actions, list) or not actions or not all(isinstance(a, str) for a in actions):
        raise Malformed(f"{address} has no actions")
    before, after = (_object(change.get(side)) for side in ("before", "after"))
    unknown = change.get("after_unknown")
    marks = [m for m in (change.get("before_sensitive"), change.get("after_sensitive")) if m]
    paths: tuple[str, ...] = ()
    more = 0
    if "update" in actions or ("create" in actions and len(actions) > 1):
        paths, more = changed_paths(before or {}, after or {}, marks, unknown)
    index = raw.get("index")
    return ResourceChange(
        address=address,
        module=_text(raw, "module_address"),
        mode=_text(raw, "mode") or "managed",
        type=type_,
        name=name,
        index="" if index is None or isinstance(index, dict | list) else str(index)[:_LONGEST],
        actions=tuple(actions),
        reason=_text(raw, "action_reason"),
        replace_paths=tuple(_replace_paths(change.get("replace_paths"), marks)),
        moved_from=_text(raw, "previous_address"),
        imported=isinstance(change.get("importing"), dict),
        deposed=bool(raw.get("deposed")),
        changed=paths,
        more_changed=more,
        before=_kept(before, marks, None, wanted.get(type_, ())),
        after=_kept(after, marks, unknown, wanted.get(type_, ())),
    )


def _replace_paths(raw: Any, marks: list[Any]) -> Iterator[str]:
    if isinstance(raw, list):
        yield from dict.fromkeys(path_in_words(path, marks)[:_LONGEST] for path in raw[:50])


def _kept(
    values: dict[str, Any] | None, marks: list[Any], unknown: Any, wanted: tuple[str, ...]
) -> dict[str, Any] | None:
    if values is None:
        return None
    later = unknown if isinstance(unknown, dict) else {}
    if any(m is True for m in marks):
        return {}
    return {
        name: masked(values.get(name), [m.get(name) for m in marks if isinstance(m, dict)], later.get(name))
        for name in wanted
        if name in values or later.get(name)
    }


def _object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _text(raw: dict[str, Any], key: str) -> str:
    value = raw.get(key)
    return value[:_LONGEST] if isinstance(value, str) else ""
