"""Traffic profiles that the file names."""

from collections.abc import Iterator
from pathlib import Path

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.traffic import Traffic
from inferfab.findings import YamlPath
from inferfab.traffic.profile import UnreadableProfile, read_profile


@rule(
    "IF-TRF-001",
    "a traffic profile that cannot be read",
    joins=("file", "environment"),
    why="`simulate` and `size` would have nothing to replay for it.",
    do="fit it anew with `inferfab traffic fit TRACE --out FILE`, or correct the path.",
    source="inferfab's environment format",
)
def profile_readable(facts: Facts) -> Iterator[Problem]:
    folder = Path(facts.loaded.source.file).parent
    for place, traffic in named(facts):
        try:
            read_profile(folder / traffic.profile)
        except UnreadableProfile as error:
            yield Problem(
                (*place, "traffic", "profile"),
                f"`{traffic.profile}` cannot be read: {error}",
                f"`inferfab traffic fit TRACE --out {folder / traffic.profile}`, or correct the path",
            )


def named(facts: Facts) -> Iterator[tuple[YamlPath, Traffic]]:
    """Every profile that the file names, with the place of what names it."""
    for name, tier in (facts.environment.tiers or {}).items():
        if tier.traffic is not None:
            yield ("tiers", name), tier.traffic
    for name, pool in facts.environment.pools.items():
        if pool.traffic is not None:
            yield ("pools", name), pool.traffic
