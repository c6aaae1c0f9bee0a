"""Severities of checkov's rules, as we judge them."""

from functools import cache

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.findings import Severity


class CheckovFile(FactFile):
    default: Severity
    error: tuple[str, ...]
    info: tuple[str, ...]


@cache
def _file() -> CheckovFile:
    return read_facts(DATA / "checkov_severities.yaml", CheckovFile)


def checkov_severity(rule: str) -> Severity:
    facts = _file()
    return "error" if rule in facts.error else "info" if rule in facts.info else facts.default
