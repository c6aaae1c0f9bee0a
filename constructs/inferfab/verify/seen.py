"""What a question about a cluster leads to: findings, and a line that says what was seen."""

from dataclasses import dataclass, field

from inferfab.findings import Severity, YamlPath
from inferfab.plan.fleet import CellPlan, FleetPlan


@dataclass(frozen=True)
class Trouble:
    """Something in the cluster that is not as planned; its rule's words complete it to a finding."""

    rule: str
    path: YamlPath
    """Where the environment file asks for it."""
    what: str
    fix: str
    severity: Severity | None = None
    """None: the rule's own."""


@dataclass
class Seen:
    """One cell, as far as it was looked at."""

    fleet: FleetPlan
    cell: CellPlan
    troubles: list[Trouble] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """What is as it should be, in a line each."""
    unknown: list[str] = field(default_factory=list)
    """What could not be seen."""

    def trouble(self, rule: str, path: YamlPath, what: str, fix: str, severity: Severity | None = None) -> None:
        self.troubles.append(Trouble(rule, path, f"{self.cell.name}: {what}", fix, severity))

    def line(self, text: str) -> None:
        self.lines.append(f"{self.cell.name}: {text}")

    def not_known(self, what: str, why: str) -> None:
        """Nobody shall take silence for health."""
        self.unknown.append(f"{self.cell.name}: {what}: {why}")
        self.trouble(
            "IF-VFY-012",
            ("cells", self.cell.name),
            f"{what} could not be seen: {why}",
            "give the one who asks the right to see it, or look yourself",
        )
