"""Each alert has a page, and each page an alert that some environment has."""

import re

import pytest

from inferfab.plan.observability.observability import PoolPrice
from inferfab.render.observability.alerts import alert_group
from render.observability.rules import ENVIRONMENTS, ROOT, all_rules, fleet

PAGES = ROOT / "docs" / "runbooks"
SECTIONS = [
    "What it means", "Who is hurt", "First look", "Causes, the likeliest first", "What to do", "When to escalate",
]  # fmt: skip


def alerts() -> dict[str, set[str]]:
    """Severities by name, of all environments and of what only options bring."""
    cell = fleet("prod-global").cells[0]
    assert cell.observability is not None
    block = PoolPrice.model_validate({**cell.observability.prices[0].model_dump(), "ends_at": "2027-01-31T11:30:00Z"})
    bent = cell.observability.model_copy(update={"efa_exporter_image": "x", "prices": (block,)})
    found: dict[str, set[str]] = {}
    for rule in alert_group(cell, bent).rules:
        found.setdefault(rule.alert, set()).add(rule.labels["severity"])
    for environment in ENVIRONMENTS:
        for rule in all_rules(environment):
            if "alert" in rule:
                found.setdefault(rule["alert"], set()).add(rule["labels"]["severity"])
    return found


def test_alerts_and_pages_are_the_same_names() -> None:
    assert {p.stem for p in PAGES.glob("*.md")} - {"README"} == set(alerts())


@pytest.mark.parametrize("page", sorted(PAGES.glob("Inferfab*.md")), ids=lambda p: p.stem)
def test_a_page_says_all(page: object) -> None:
    """Meaning, who is hurt, commands, causes, deeds, and when to call somebody."""
    from pathlib import Path

    assert isinstance(page, Path)
    text = page.read_text()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert text.startswith(f"# {page.stem}\n")
    severity = text.split("Severity: ")[1].split("\n")[0]
    assert all(word in severity for word in alerts()[page.stem])
    parts = re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]
    assert all(len(part.strip()) > 10 for part in parts)
    for linked in re.findall(r"`(Inferfab\w+)`", text):
        assert (PAGES / f"{linked}.md").exists(), linked


def test_an_alert_links_its_page() -> None:
    """In the repository, unless the environment names another place."""
    for rule in all_rules("staging"):
        if "alert" in rule:
            assert rule["annotations"]["runbook_url"] == f"docs/runbooks/{rule['alert']}.md"
            assert rule["labels"]["severity"] in ("page", "ticket")
