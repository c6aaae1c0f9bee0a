"""One rule of Prometheus, and groups of them."""

from inferfab.record import Record


class Rule(Record):
    """Records a series, or alerts; exactly one of both."""

    record: str = ""
    alert: str = ""
    expr: str
    labels: dict[str, str] = {}
    wait: str = ""
    """How long it must be so before the alert fires."""
    summary: str = ""
    description: str = ""
    runbook: str = ""
    comment: str = ""


class Group(Record):
    """Rules that are evaluated one after another, so that one may read what one before it recorded."""

    name: str
    interval: str = "30s"
    rules: tuple[Rule, ...]
