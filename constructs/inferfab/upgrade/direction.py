"""Targets that lead nowhere: to what is there, back, or to two places at once."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from inferfab.catalog.charts import charts
from inferfab.plan.fleet import FleetPlan
from inferfab.upgrade.target import Target

_BACK = "the steps go upward only; to go back, take the change of the environment back and review that"


def there_already(fleet: FleetPlan, target: Target) -> bool:
    """Whether the one version that an engine or a chart has in the environment is the target's."""
    return target.version == _now(fleet, target)


def backwards(fleet: FleetPlan, target: Target) -> Iterator[str]:
    """Reasons against a version that is older than what runs. Kubernetes has its own."""
    if target.kind == "ami":
        for cell in fleet.cells:
            if cell.cloud == "aws" and cell.ami_release and _older(target.version, cell.ami_release):
                yield f"{cell.name} has the image {cell.ami_release}, which is newer than {target.version}: {_BACK}"
    now = _now(fleet, target)
    if now is not None and _older(target.version, now):
        yield f"{target} goes back from {now}: {_BACK}"


def repeated(targets: Sequence[Target]) -> Iterator[str]:
    """One thing has one target: its steps begin where the environment is now, and not where another ends."""
    counts = Counter((target.kind, target.name) for target in targets)
    for (kind, name), count in counts.items():
        if count > 1:
            yield f"{kind}{':' if name else ''}{name} is named {count} times: plan one after the other is done"


def _now(fleet: FleetPlan, target: Target) -> str | None:
    if target.kind == "dynamo":
        return fleet.engine.dynamo
    return charts()[target.name].version if target.kind == "chart" and target.name in charts() else None


def _older(one: str, other: str) -> bool:
    return _key(one) < _key(other)


def _key(version: str) -> tuple[tuple[int, ...], bool]:
    """Numbers first (an image's day is its last); before a release come its candidates (semver.org, 11)."""
    head, dash, tail = version.removeprefix("v").partition("+")[0].partition("-")
    numbers = tuple(int(digits) for digits in re.findall(r"\d+", head))
    day = tail.isdigit() and len(tail) == 8
    return ((*numbers, int(tail)) if day else numbers, not dash or day)
