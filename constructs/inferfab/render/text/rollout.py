"""A rollout and its judgements as text."""

from typing import TYPE_CHECKING

from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console

    from inferfab.plan.rollout.judgement import Verdict
    from inferfab.plan.rollout.plan import CellRollout, RolloutPlan


def print_rollout(console: "Console", environment: str, rollout: "RolloutPlan") -> None:
    """Cells in order with their shares, then the rules."""
    table = table_of(f"Rollout of {environment}", "cell", "steps: of all traffic", "the rest goes to")
    for part in rollout.cells:
        steps = ", ".join(f"{s.share_percent} %: {s.traffic_shares[part.cell]:.1%}" for s in part.steps)
        table.add_row(
            plain(part.cell), steps, plain(", ".join(part.others)) or "nobody: it changes under all of its traffic"
        )
    console.print(table)
    for part in rollout.cells:
        if part.raised:
            console.print(raised_words(part), style="yellow", markup=False)
    rules = rollout.judge
    console.print(
        f"Each step serves {rules.judge_minutes} min, then is judged on that window, with {rules.least_requests:,} "
        f"requests of each model at least and at {rules.confidence_percent:g} % confidence. Allowed are "
        f"{rules.slower_percent:g} % more slower and {rules.failed_percent:g} % more failed requests than in the other "
        f"cells, and no broken promise. What is not decided after {rules.longest_minutes} min is backed out.",
        style="dim",
    )


def raised_words(part: "CellRollout") -> str:
    """Why a cell's steps are not those of the file; empty where they are."""
    if not part.raised:
        return ""
    steps = ", ".join(f"{step.share_percent} %" for step in part.steps)
    return f"{part.cell}: {part.raised}. Its steps are {steps}; more replicas there allow smaller ones."


def print_verdict(console: "Console", verdict: "Verdict") -> None:
    """The outcome first, then what it comes from."""
    console.print(f"{verdict.cell}: {verdict.outcome.upper()}", style="bold", markup=False)
    for each in verdict.judgements:
        console.print(f"  {each.outcome:8}  {each.model}: {each.words}", markup=False)
    for note in verdict.notes:
        console.print(f"  {note}", style="dim", markup=False)
