"""Numbers of docs/observability.md against the plan's own windows."""

import re
from pathlib import Path

from inferfab.plan.observability.observability import BURN_WINDOWS, MOST_BAD

DOC = (Path(__file__).resolve().parents[1] / "docs" / "observability.md").read_text()


def test_the_table_of_budgets_is_worked_out() -> None:
    """Factor times budget, at most 90 %."""
    rows = re.findall(r"^\| (?:p\d+|[\d.]+ % available) \| (.+) \|$", DOC, re.MULTILINE)
    assert len(rows) == 5
    for row in rows:
        budget, *limits = (float(cell.strip().removesuffix(" %")) for cell in row.split("|"))
        assert limits == [round(min(budget * w.factor, 100 * MOST_BAD), 4) for w in BURN_WINDOWS], row


def test_pages_that_it_links_are_there() -> None:
    root = Path(__file__).resolve().parents[1] / "docs"
    for target in re.findall(r"\]\(([^)#]+)\)", DOC):
        assert (root / target).exists(), target


def test_its_example_is_an_environment() -> None:
    """What it tells people to write is taken."""
    import yaml

    from inferfab.environment.observability import Observability

    (block,) = re.findall(r"```yaml\n(.*?)```", DOC, re.DOTALL)
    Observability.model_validate(yaml.safe_load(block)["observability"])
