"""The steps of an upgrade, for people who take them."""

from inferfab.upgrade.steps import Step, Upgrade


def upgrade_text(found: Upgrade) -> str:
    """What changes, then the steps with their commands."""
    lines = [f"{found.environment}: {', '.join(found.targets)}", ""]
    if found.blocked:
        lines += ["It must not be begun:", *(f"  - {reason}" for reason in found.blocked), ""]
        return "\n".join(lines)
    if not found.steps:
        return "\n".join([*lines, "Nothing to do: what it is for is there already, or it is for none."])
    lines += ["What changes in the plan", *(f"  {one}" for one in found.changes or ("nothing",)), ""]
    if found.new_graphs:
        lines += ["Graphs beside the old ones", *(f"  {one}" for one in found.new_graphs), ""]
    for number, step in enumerate(found.steps, 1):
        lines += _step(number, step)
    low = sum(s.minutes.low for s in found.steps if s.minutes)
    highs = [s.minutes.high for s in found.steps if s.minutes]
    high = sum(h for h in highs if h is not None)
    lines += [f"In all {_hours(low)} to {_hours(high)}, one step after the other.", ""]
    lines += ["Not proved", *(f"  - {one}" for one in found.unproven)]
    return "\n".join(lines)


def _step(number: int, step: Step) -> list[str]:
    lines = [f"{number}. {step.where}: {step.title}" + (f"  [{_time(step)}]" if step.minutes else "")]
    if step.edit:
        lines.append(f"   write  {step.edit}")
    lines += [f"   $ {command}" for command in step.commands]
    for one in step.keeps:
        promise = "promises kept" if one.kept else f"NOT ENOUGH: the planned load takes {one.needs_percent:.0f} %"
        lines.append(
            f"   tier {one.tier}: {one.workers} of {one.of} workers ({one.percent:.0f} %), {promise}; "
            f"{one.cells_left} other cell(s) serve it"
        )
        if not one.left_in_cell:
            lines.append(
                "     nothing of it is left in the cell: send its traffic elsewhere first (spill, or traffic_share: 0)"
            )
    if not step.keeps and step.commands:
        lines.append("   every tier keeps all of its capacity")
    lines += [f"   - {note}" for note in step.notes]
    return [*lines, ""]


def _time(step: Step) -> str:
    assert step.minutes is not None and step.minutes.high is not None
    return f"{step.minutes.low:.0f}–{step.minutes.high:.0f} min"


def _hours(minutes: float) -> str:
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
