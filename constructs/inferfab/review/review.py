"""The whole review: environments against their base, Terraform plans, checkov; one verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inferfab.checks.check import check
from inferfab.environment.loading import load
from inferfab.environment.money import PriceOverlay
from inferfab.plan.fleet import FleetPlan
from inferfab.review.agreement import disagreements
from inferfab.review.base import Base, find_base, name_of
from inferfab.review.build_stack import TierOf, stack_review
from inferfab.review.checkov import CheckovRun
from inferfab.review.errors import BadPlan, ReviewError
from inferfab.review.findings import FindingsReview, compare, ours
from inferfab.review.fleet import FleetReview, fleet_review
from inferfab.review.gpus.group import GpuGroup
from inferfab.review.gpus.templates import Elsewhere, Templates
from inferfab.review.lines import Unseen
from inferfab.review.money import Overlay
from inferfab.review.pictured import Pictured
from inferfab.review.report import Report
from inferfab.review.saved import is_saved_review, read_saved_review
from inferfab.review.stack import StackReview
from inferfab.review.terraform_plan import TerraformPlan, read_terraform_plan
from inferfab.review.verdict import verdict


@dataclass(frozen=True)
class Reviewed:
    """A report, and the fleets that it is about."""

    report: Report
    fleets: tuple[Pictured, ...]


@dataclass(frozen=True)
class Asked:
    """What to review."""

    environments: Sequence[Path] = ()
    base: str | None = None
    plans: Sequence[Path] = ()
    """Terraform plans, or reviews of some that another job made."""
    checkov: CheckovRun | None = None
    checkov_base: CheckovRun | None = None
    labels: Sequence[str] = ()
    revision: str = ""


def review(asked: Asked) -> Reviewed:
    """Review everything that was asked for.

    A plan that cannot be read is part of the answer (BLOCK, exit code 2), not an error.

    :raises ReviewError: if an environment or the base cannot be found.
    """
    overlay: list[PriceOverlay] = []
    pairs = [_environment(path, asked.base, overlay) for path in _each_once(asked.environments)]
    fleets = [fleet for fleet, _ in pairs]
    pictures = tuple(picture for _, picture in pairs)
    stacks = _stacks(_each_once(asked.plans), pictures, tuple(overlay))
    scanner, problem = None, ""
    if asked.checkov is not None:
        problem = asked.checkov.problem
        old = asked.checkov_base
        # A baseline that read nothing is none.
        known = old.findings if old is not None and not old.problem else None
        scanner = compare(known, asked.checkov.findings)
    new = scanner.new if scanner else ()
    return Reviewed(
        report=Report(
            verdict=verdict(
                fleets,
                stacks,
                scanner_errors=sum(f.severity == "error" for f in new) if scanner and scanner.compared else 0,
                scanner_new=sum(f.severity != "info" for f in new),
                scanner_problem=problem,
                labels=asked.labels,
            ),
            fleets=tuple(fleets),
            stacks=tuple(stacks),
            scanner=scanner,
            scanner_problem=problem,
            revision=asked.revision,
        ),
        fleets=pictures,
    )


def _each_once(paths: Sequence[Path]) -> list[Path]:
    """A file that is named twice, also in two ways, is read and counted once."""
    found: dict[Path, Path] = {}
    for path in paths:
        found.setdefault(path.resolve(), path)
    return list(found.values())


def _environment(path: Path, base: str | None, overlay: list[PriceOverlay]) -> tuple[FleetReview, Pictured]:
    """Review one environment; its own prices are added to ``overlay``, for the plans of its stacks."""
    loaded = load(path) if path.exists() else None
    other = find_base(base, path, name_of(loaded)) if base is not None else _NOTHING
    if loaded is None:
        if other.plan is None:
            raise ReviewError(f"{path}: there is no such environment, neither here nor at the base")
        removed = fleet_review(
            other.plan, None, file=str(path), base=other.title, findings=FindingsReview(gone=other.findings or ())
        )
        return removed, Pictured(removed.environment, other.plan, None)
    checked = check(loaded)
    overlay += loaded.environment.prices.overlay if loaded.environment else ()
    findings = compare(other.findings, ours(checked.findings, switched_off=checked.switched_off))
    if checked.plan is None:
        name = loaded.environment.name if loaded.environment else path.stem
        # Rules over a plan did not run: that they found nothing means nothing.
        findings = findings.model_copy(update={"gone": ()})
        broken = FleetReview(
            environment=name,
            file=str(path),
            base=other.title,
            state="broken",
            findings=findings,
            unseen=_unseen(other),
            base_broken=other.broken,
        )
        return broken, Pictured(name, other.plan, None)
    made = fleet_review(
        other.plan,
        checked.plan,
        file=str(path),
        base=other.title,
        findings=findings,
        unseen=(*_unseen(other), *_another_environment(other, checked.plan)),
        base_known=other.known,
        base_broken=other.broken,
    )
    return made, Pictured(made.environment, other.plan, checked.plan)


_NOTHING = Base(title="nothing (no --base)", plan=None, known=False, findings=None)


def _unseen(base: Base) -> tuple[Unseen, ...]:
    return tuple(Unseen(subject="base", what=what) for what in (base.problem, base.note) if what)


def _another_environment(base: Base, plan: FleetPlan) -> tuple[Unseen, ...]:
    if base.plan is None or base.plan.ownership.name == plan.ownership.name:
        return ()
    names = f"the base is of environment {base.plan.ownership.name}, not {plan.ownership.name}"
    return (Unseen(subject="base", what=f"{names}: what differs between them reads as a change"),)


def _stacks(paths: Sequence[Path], fleets: Sequence[Pictured], overlay: Overlay) -> list[StackReview]:
    found: list[StackReview | TerraformPlan] = []
    for path, name in zip(paths, stack_names(paths), strict=True):
        try:
            if is_saved_review(path):
                found += read_saved_review(path).stacks
            else:
                found.append(read_terraform_plan(path, name))
        except BadPlan as error:
            found.append(StackReview(name=name, file=str(path), problem=str(error)))
    read = [plan for plan in found if isinstance(plan, TerraformPlan)]
    elsewhere = Elsewhere()
    for plan in read:
        elsewhere.add(plan.changes)
    tier_of = _tiers(fleets)
    made = []
    for one in found:
        if isinstance(one, StackReview):
            made.append(one)
            continue
        own = Templates(one.configuration.references, one.configuration.region, elsewhere)
        own.add(one.changes)
        made.append(stack_review(one, own, overlay, tier_of))
    once: list[StackReview] = []
    for stack in made:
        # Reviews of several jobs may hold the same stack.
        if stack not in once:
            once.append(stack)
    return [disagreements(stack, fleets) for stack in once]


def _tiers(fleets: Sequence[Pictured]) -> TierOf:
    """By the labels that our node groups carry."""
    known: dict[tuple[str, str], str] = {}
    for fleet in fleets:
        for plan in (fleet.before, fleet.after):
            for pool in plan.pools if plan else ():
                place = (pool.cell, pool.name)
                # Environments may call their cells and pools alike: then a label does not tell.
                known[place] = pool.tier if known.get(place, pool.tier) == pool.tier else ""

    def tier_of(group: GpuGroup) -> str:
        return known.get((group.cell, group.pool), "")

    return tier_of


_USUAL = ("plan", "tfplan", "show", "plan.out", "terraform", "tf", "tfplan.json", "plan.json")


def stack_names(paths: Sequence[Path]) -> list[str]:
    """A stack's name from its plan's file: the stem, or the folder where the stem says nothing. Each once."""
    names = []
    for path in paths:
        stem = path.name.removesuffix(".json").removesuffix(".tfplan").removesuffix(".plan")
        parent = path.resolve().parent.name
        names.append(parent if stem.lower() in _USUAL and parent else stem)
    counted: dict[str, int] = {}
    unique = []
    for name, path in zip(names, paths, strict=True):
        counted[name] = counted.get(name, 0) + 1
        unique.append(
            name
            if names.count(name) == 1
            else f"{name} ({path})"
            if counted[name] == 1
            else f"{name} ({path}, {counted[name]})"
        )
    return unique
