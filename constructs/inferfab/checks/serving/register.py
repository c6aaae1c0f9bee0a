"""Making a judgement of engines that serve together a rule, of plans, of manifests, or of both."""

from collections.abc import Callable, Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Layer, Problem, Rule, declare, on_manifests
from inferfab.checks.serving.manifest_views import servings
from inferfab.checks.serving.plan_views import plan_servings
from inferfab.checks.serving.views import Judge, Serving
from inferfab.findings import Severity
from inferfab.manifests.model import Manifests

_KEPT: list[tuple[object, tuple[Serving, ...]]] = []
"""Views of what was looked at last: all rules of one check share them."""


def _cached(key: object, make: Callable[[], tuple[Serving, ...]]) -> tuple[Serving, ...]:
    if not _KEPT or _KEPT[0][0] is not key:
        _KEPT[:] = [(key, make())]
    return _KEPT[0][1]


def of_manifests(manifests: Manifests) -> tuple[Serving, ...]:
    return _cached(manifests, lambda: servings(manifests))


def of_plan(facts: Facts) -> tuple[Serving, ...]:
    return _cached(facts.plan, lambda: tuple(plan_servings(facts)))


def serving_rule(
    id: str, title: str, *, joins: tuple[Layer, ...], why: str, do: str, source: str, severity: Severity = "error"
) -> Callable[[Judge], Judge]:
    """One function, both for plans and for manifests."""

    def enter(judge: Judge) -> Judge:
        def run(facts: Facts) -> Iterator[Problem]:
            for serving in of_plan(facts):
                yield from judge(serving)

        def run_manifests(manifests: Manifests) -> Iterator[Problem]:
            for serving in of_manifests(manifests):
                yield from judge(serving)

        declare(Rule(id, title, severity, joins, why, do, source, "plan", run, run_manifests))
        return judge

    return enter


def judges_manifests(id: str) -> Callable[[Judge], Judge]:
    """The same for a rule of plans that has a function of its own there."""

    def enter(judge: Judge) -> Judge:
        def run_manifests(manifests: Manifests) -> Iterator[Problem]:
            for serving in of_manifests(manifests):
                yield from judge(serving)

        on_manifests(id)(run_manifests)
        return judge

    return enter
