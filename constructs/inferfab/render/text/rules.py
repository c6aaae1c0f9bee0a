"""Rules for people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inferfab.checks.registry import Rule
from inferfab.render.text.tables import plain, table_of

if TYPE_CHECKING:
    from rich.console import Console


def print_rules(console: "Console", rules: Sequence[Rule]) -> None:
    table = table_of("Rules", "id", "severity", "joins", "what it finds")
    for rule in rules:
        table.add_row(rule.id, rule.severity, ", ".join(rule.joins), plain(rule.title))
    console.print(table)


def print_rule(console: "Console", rule: Rule) -> None:
    console.print(f"[bold]{rule.id}[/] {plain(rule.title)}\n")
    for label, text in (
        ("severity", rule.severity),
        ("joins", ", ".join(rule.joins)),
        ("why", rule.why),
        ("do", rule.do),
        ("source", rule.source),
    ):
        console.print(f"[dim]{label:<9}[/]{plain(text)}", soft_wrap=True)
