"""The environments that the repository ships are examples of how to write one: they have no errors."""

from pathlib import Path

import pytest

from inferfab.checks.check import Checked, check
from inferfab.environment.loading import load

FOLDER = Path(__file__).parents[2] / "environments"
SHIPPED = {
    # name: rules that may speak, and how loud
    "dev": set[tuple[str, str]](),
    "staging": {("IF-FAB-005", "info"), ("IF-PLC-011", "info"), ("IF-PLC-012", "info")},
    "prod": {
        ("IF-FAB-005", "info"),
        ("IF-PLC-009", "info"),
        ("IF-PLC-011", "info"),
        ("IF-PLC-012", "info"),
        ("IF-PLC-013", "info"),
        ("IF-PRM-005", "warning"),
    },
    "prod-gcp": {("IF-GCP-004", "info")},
    "prod-global": {("IF-FAB-005", "info")},
    "prod-hybrid": set[tuple[str, str]](),
}


def checked(name: str) -> Checked:
    return check(load(FOLDER / f"{name}.yaml"))


def test_all_of_them_are_tested() -> None:
    """A new environment in the folder is entered here."""
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_errors(name: str) -> None:
    """No errors, a plan, and nothing else than what is known and explained in the file."""
    result = checked(name)
    assert result.ok
    assert result.plan is not None
    assert {(f.rule, f.severity) for f in result.findings} == SHIPPED[name]


@pytest.mark.parametrize("name", SHIPPED)
def test_findings_stand_in_the_file(name: str) -> None:
    """What is said about an example names a line of it."""
    lines = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    for finding in checked(name).findings:
        line = lines[finding.location.line - 1]
        last = finding.path[-1]
        assert str(last) in line or finding.value in line, (finding, line)
