"""Look at every cell that was asked for, and say what is not as planned."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from inferfab.checks.registry import RULES
from inferfab.environment.source import Source
from inferfab.findings import Finding, has_errors, ranked
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.record import Record
from inferfab.verify.cluster import Cluster, NotSeen
from inferfab.verify.gateway import look_at_gateway
from inferfab.verify.metrics import look_at_alarms, look_at_transfers
from inferfab.verify.nodes import look_at_nodes
from inferfab.verify.requests import ask_every_tier
from inferfab.verify.seen import Seen
from inferfab.verify.workloads import look_at_graphs, look_at_workloads

_OFFERS: Mapping[str, Callable[[Seen, Cluster], None]] = {
    "graphs": look_at_graphs,
    "workloads": look_at_workloads,
    "the gateway": look_at_gateway,
}


class Verified(Record):
    """What was seen of a fleet."""

    findings: tuple[Finding, ...]
    seen: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not has_errors(self.findings)


def verify(
    fleet: FleetPlan,
    cells: Sequence[CellPlan],
    clusters: Mapping[str, Cluster | NotSeen],
    source: Source,
    *,
    requests: bool = True,
    wait_seconds: float = 60.0,
) -> Verified:
    """
    :param clusters: by cell; or why there is none.
    :param source: the environment file, for the places of findings.
    :param requests: ask each tier for a token. Without it, what was handed over is what others asked for.
    :param wait_seconds: how long to wait until Prometheus has scraped what a request moved.
    """
    looked = [_cell(fleet, cell, clusters[cell.name], requests, wait_seconds) for cell in cells]
    findings = []
    for seen in looked:
        for trouble in seen.troubles:
            rule = RULES[trouble.rule]
            findings.append(
                Finding(
                    rule=rule.id,
                    severity=trouble.severity or rule.severity,
                    location=source.location(trouble.path),
                    path=trouble.path,
                    what=trouble.what,
                    why=rule.why,
                    fix=trouble.fix,
                )
            )
    return Verified(
        findings=ranked(findings),
        seen=tuple(line for seen in looked for line in seen.lines),
        unknown=tuple(line for seen in looked for line in seen.unknown),
    )


def _cell(fleet: FleetPlan, cell: CellPlan, cluster: Cluster | NotSeen, requests: bool, wait_seconds: float) -> Seen:
    seen = Seen(fleet, cell)
    try:
        if isinstance(cluster, NotSeen):
            raise cluster
        with _read_as_said("nodes"):
            look_at_nodes(seen, cluster)
    except NotSeen as error:
        seen.unknown.append(f"{cell.name}: everything: {error}")
        seen.trouble(
            "IF-VFY-001",
            ("cells", cell.name),
            f"its cluster {cell.cluster} cannot be asked: {error}",
            "name a context of kubectl that reaches it (`--context`), from a machine that `access` lets in",
        )
        return seen
    for what, look in _OFFERS.items():
        _look(seen, what, partial(look, seen, cluster))
    if requests:
        _look(seen, "answers of the tiers", partial(ask_every_tier, seen, cluster))
    wait = wait_seconds if requests else 0.0
    _look(seen, "transfers", partial(look_at_transfers, seen, cluster, asked=requests, wait_seconds=wait))
    _look(seen, "alarms", partial(look_at_alarms, seen, cluster))
    return seen


def _look(seen: Seen, what: str, ask: Callable[[], None]) -> None:
    try:
        with _read_as_said(what):
            ask()
    except NotSeen as error:
        seen.not_known(what, str(error))


@contextmanager
def _read_as_said(what: str) -> Iterator[None]:
    """What a cluster answers is not ours: objects of another shape than the API's are no fault of this program.

    :raises NotSeen: for these.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise NotSeen(
            "broken", f"an object is not as Kubernetes' API has it ({what}: {type(error).__name__}: {error})"
        ) from error
