"""Every fault in every place of every sound manifest: what share is caught."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from faults import FAULTS, Documents

from inferfab.checks.manifests import check_manifests
from inferfab.manifests.read import manifests_from_text

SOUND = sorted((Path(__file__).parent / "sound").iterdir())


@dataclass(frozen=True)
class Injected:
    """One fault in one place."""

    rule: str
    fault: str
    file: str
    place: str
    caught: bool
    also: tuple[str, ...]
    """Other rules that newly speak."""


class _NoAlias(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def dump(documents: Documents) -> str:
    return "---\n".join(yaml.dump(d, Dumper=_NoAlias, sort_keys=False, width=4000) for d in documents)


def rules_hit(text: str) -> Counter[str]:
    return Counter(f.rule for f in check_manifests(manifests_from_text(text)).findings)


def run() -> Iterator[Injected]:
    """Nothing is sampled: each place is tried."""
    for path in SOUND:
        documents = [d for d in yaml.safe_load_all(path.read_text(encoding="utf-8")) if d is not None]
        before = rules_hit(dump(documents))
        for fault in FAULTS:
            for place, changed in fault.places(documents):
                after = rules_hit(dump(changed))
                if before[fault.rule] and after[fault.rule] == before[fault.rule]:
                    continue  # it stands there already
                new = tuple(sorted(r for r in after if after[r] > before[r]))
                yield Injected(fault.rule, fault.name, path.name, place, fault.rule in new,
                               tuple(r for r in new if r != fault.rule))  # fmt: skip


def table(injected: list[Injected]) -> str:
    """Caught share by rule and fault, and every miss."""
    by_rule: dict[tuple[str, str], list[Injected]] = defaultdict(list)
    for each in injected:
        by_rule[each.rule, each.fault].append(each)
    lines = [f"{'rule':<12}{'caught':>8}  fault"]
    for (rule, fault), cases in sorted(by_rule.items()):
        lines.append(f"{rule:<12}{sum(c.caught for c in cases):>4}/{len(cases):<3}  {fault}")
    caught = sum(c.caught for c in injected)
    lines.append(f"{caught} of {len(injected)} caught, {len({r for r, _ in by_rule})} rules")
    lines += [
        f"MISSED {c.rule} ({c.fault}) in {c.file}, {c.place}: {', '.join(c.also)}" for c in injected if not c.caught
    ]
    return "\n".join(lines)
