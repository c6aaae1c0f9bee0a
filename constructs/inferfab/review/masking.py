"""Values of a plan with everything secret taken out, before anything looks at them.

Terraform marks what is sensitive beside the values, in ``before_sensitive`` and ``after_sensitive``: ``true`` for a
whole value, else an object or list of the same shape (hashicorp/terraform internal/command/jsonplan/plan.go, Change).
A mark on either side hides both: what is secret afterwards was secret before.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final


class Hidden:
    """Stands in the place of a value. There are two: sensitive, and known only after apply."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why

    def __repr__(self) -> str:
        return f"<{self.why}>"


SENSITIVE: Final = Hidden("sensitive")
UNKNOWN_VALUE: Final = Hidden("known after apply")
NEVER_SHOWN: Final = frozenset({"user_data", "user_data_base64", "custom_data", "metadata_startup_script"})
"""Scripts that start machines: people put tokens there, and providers do not mark them."""
_DEEPEST = 32
_MOST_PATHS = 12
_DEEPEST_PATH = 5
_WHOLE = "(the whole resource)"


def masked(value: Any, marks: Iterable[Any] = (), unknown: Any = None, *, depth: int = 0) -> Any:
    """``value`` with :data:`SENSITIVE` where any of ``marks`` says so, and :data:`UNKNOWN_VALUE` where it is unknown.

    What is nested deeper than any provider's schema counts as unknown.
    """
    marks = [m for m in marks if m]
    if any(m is True for m in marks):
        return SENSITIVE
    if unknown is True or depth > _DEEPEST:
        return UNKNOWN_VALUE
    if isinstance(value, dict) or (value is None and isinstance(unknown, dict)):
        return _masked_object(value or {}, marks, unknown, depth)
    if isinstance(value, list) or (value is None and isinstance(unknown, list) and any(unknown)):
        return _masked_list(value or [], marks, unknown, depth)
    return value


def _masked_object(value: dict[str, Any], marks: list[Any], unknown: Any, depth: int) -> dict[str, Any]:
    later = unknown if isinstance(unknown, dict) else {}
    names = dict.fromkeys([*value, *later])
    return {
        name: SENSITIVE
        if name in NEVER_SHOWN
        else masked(
            value.get(name), [m.get(name) for m in marks if isinstance(m, dict)], later.get(name), depth=depth + 1
        )
        for name in names
    }


def _masked_list(value: list[Any], marks: list[Any], unknown: Any, depth: int) -> list[Any]:
    later = unknown if isinstance(unknown, list) else []
    # A set's marks cannot be matched to its members: one mark hides the whole list.
    if any(not isinstance(m, list) or len(m) > len(value) for m in marks):
        return [SENSITIVE]
    return [
        masked(
            value[n] if n < len(value) else None,
            [m[n] for m in marks if n < len(m)],
            later[n] if n < len(later) else None,
            depth=depth + 1,
        )
        for n in range(max(len(value), len(later)))
    ]


def changed_paths(
    before: Any, after: Any, marks: Iterable[Any] = (), unknown: Any = None
) -> tuple[tuple[str, ...], int]:
    """Attributes that differ, as words: ``scaling_config[0].max_size``, ``password (sensitive)``; and how many more.

    Names only, never a value. Below a sensitive value not even names.
    """
    found: list[str] = []
    more = 0
    for path in _differing(before, after, [m for m in marks if m], unknown, "", 0):
        if len(found) < _MOST_PATHS:
            found.append(path)
        else:
            more += 1
    return tuple(found), more


def _differing(before: Any, after: Any, marks: list[Any], unknown: Any, path: str, depth: int) -> Iterator[str]:
    if any(m is True for m in marks):
        if before != after or unknown:
            yield f"{path or _WHOLE} (sensitive)"
        return
    if unknown is True:
        yield f"{path or _WHOLE} (known after apply)"
        return
    if isinstance(before, dict) and isinstance(after, dict) and depth < _DEEPEST_PATH:
        later = unknown if isinstance(unknown, dict) else {}
        for name in dict.fromkeys([*before, *after, *later]):
            # Most attributes of most changes: not worth a walk.
            if name not in later and name in before and name in after and before[name] == after[name]:
                continue
            inner = [m.get(name) for m in marks if isinstance(m, dict)]
            where = f"{path}.{name}" if path else name
            yield from _differing(
                before.get(name), after.get(name), [m for m in inner if m], later.get(name), where, depth + 1
            )
        return
    if (
        isinstance(before, list)
        and isinstance(after, list)
        and len(before) == len(after)
        and depth < _DEEPEST_PATH
        and all(isinstance(one, dict) for one in [*before, *after])
    ):
        later_list = unknown if isinstance(unknown, list) else []
        for n, (old, new) in enumerate(zip(before, after, strict=True)):
            inner = [m[n] if isinstance(m, list) and n < len(m) else None for m in marks]
            later_one = later_list[n] if n < len(later_list) else None
            yield from _differing(old, new, [m for m in inner if m], later_one, f"{path}[{n}]", depth + 1)
        return
    if before != after or _any(unknown):
        # Whatever is marked below stays unnamed.
        where = path or _WHOLE
        yield f"{where} (sensitive)" if marks and _any(marks) else where


def _any(marks: Any, depth: int = 0) -> bool:
    """Whether anything is true in nested marks."""
    if marks is True:
        return True
    if depth > _DEEPEST:
        return False
    inner = marks.values() if isinstance(marks, dict) else marks if isinstance(marks, list) else ()
    return any(_any(one, depth + 1) for one in inner)


def path_in_words(path: Any, marks: Iterable[Any] = ()) -> str:
    """A ``replace_paths`` member: ``network_interface[0].subnet_id``. Ends where something sensitive begins."""
    if not isinstance(path, list):
        return "(unreadable path)"
    out, here = "", [m for m in marks if m]
    for step in path[:_DEEPEST]:
        if any(m is True for m in here):
            return f"{out} (sensitive)"
        if isinstance(step, bool) or not isinstance(step, int | str):
            return f"{out}…" if out else "(unreadable path)"
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
        here = [
            m.get(str(step))
            if isinstance(m, dict)
            else m[step]
            if isinstance(m, list) and isinstance(step, int) and 0 <= step < len(m)
            else None
            for m in here
        ]
        here = [m for m in here if m]
    return out or _WHOLE
