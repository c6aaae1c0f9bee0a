"""All questions at once, and one report of their answers."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import date

from inferfab.plan.fleet import FleetPlan
from inferfab.plan.observed import Observed
from inferfab.preflight.capacity import capacity_probes
from inferfab.preflight.google import google_rows
from inferfab.preflight.hub import Hub, hub_probes
from inferfab.preflight.names import Resolver, name_probes
from inferfab.preflight.networks import network_probes
from inferfab.preflight.probe import Probe, Seen
from inferfab.preflight.quotas import quota_probes
from inferfab.preflight.reader import Reader, ReadFailed
from inferfab.preflight.report import Report, Row
from inferfab.preflight.roles import role_probes
from inferfab.preflight.stores import store_probes
from inferfab.preflight.versions import version_probes


class WrongAccount(Exception):
    """The credentials are of another account than the environment's, or it cannot be told of which: nothing in it says
    anything about this fleet.
    """


_AT_ONCE = 16
Progress = Callable[[int, int, str], None]
"""Questions answered, questions in all, and what the last was about."""


def preflight(
    fleet: FleetPlan,
    reader: Reader | None,
    *,
    as_of: date,
    resolver: Resolver,
    hub: Hub | None = None,
    progress: Progress = lambda *_: None,
) -> Report:
    """Ask everything that the fleet needs; nothing is changed.

    :param reader: None for a fleet without an AWS account.
    :param as_of: the day on which the fleet is to run: reservations that end before it do not count.
    :param hub: asks about licences. Default: nobody does, and gated models stay unknown.
    :raises NoCredentials: if AWS takes no credentials at all.
    :raises WrongAccount: if they are of another account, or STS does not say of which.
    """
    if reader is not None:
        refuse_other_account(fleet, reader)
    probes = [*(_aws(fleet, reader, resolver, as_of) if reader is not None else ()), *hub_probes(fleet, hub)]
    answers: dict[int, tuple[list[Row], Seen]] = {}
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        running = {pool.submit(probe.run): number for number, probe in enumerate(probes)}
        try:
            for done in as_completed(running):
                number = running[done]
                answers[number] = done.result()
                progress(len(answers), len(probes), f"{probes[number].area} {probes[number].where}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    rows = [row for number in range(len(probes)) for row in answers[number][0]]
    account = fleet.ownership.accounts.aws
    return Report(
        environment=fleet.ownership.name,
        account_id=account.account_id if account else None,
        rows=(*rows, *google_rows(fleet)),
        observed=_observed(
            (answers[number][1] for number in range(len(probes))), as_of, account.account_id if account else None
        ),
    )


def refuse_other_account(fleet: FleetPlan, reader: Reader) -> None:
    """:raises WrongAccount: if the credentials are of another account than the fleet's, or nobody says of which."""
    account = fleet.ownership.accounts.aws
    assert account is not None, "a reader is for a fleet with an AWS account"
    try:
        found = str(reader.read("sts", "GetCallerIdentity")["Account"])
    except (ReadFailed, KeyError) as error:
        why = str(error) if isinstance(error, ReadFailed) else "its answer names none"
        raise WrongAccount(
            f"STS does not say which account these credentials are of ({why}): nothing is looked at, for it could be "
            "somebody else's"
        ) from error
    if found != account.account_id:
        raise WrongAccount(
            f"these credentials are of account {found}, and {fleet.ownership.name} lives in {account.account_id} "
            "(`accounts.aws.account_id`): use the credentials of that account"
        )


def _aws(fleet: FleetPlan, reader: Reader, resolver: Resolver, as_of: date) -> Iterator[Probe]:
    yield from role_probes(fleet, reader)
    yield from quota_probes(fleet, reader)
    yield from capacity_probes(fleet, reader, as_of)
    yield from version_probes(fleet, reader, as_of)
    yield from network_probes(fleet, reader)
    yield from name_probes(fleet, reader, resolver)
    yield from store_probes(fleet, reader)


def _observed(parts: Iterator[Seen], as_of: date, account_id: str | None) -> Observed:
    whole = Seen()
    for part in parts:
        whole.quotas |= part.quotas
        whole.used |= part.used
        whole.offered |= part.offered
        whole.reservations |= part.reservations
        whole.topology |= part.topology
    return Observed(
        as_of=as_of,
        account_id=account_id,
        quotas=dict(sorted(whole.quotas.items())),
        used=dict(sorted(whole.used.items())),
        offered=dict(sorted(whole.offered.items())),
        reservations=dict(sorted(whole.reservations.items())),
        reservation_topology=dict(sorted(whole.topology.items())),
    )
