"""Google cells: what can be said without a Google library is a command for each thing."""

from collections import defaultdict
from collections.abc import Iterator

from inferfab.plan.fleet import FleetPlan
from inferfab.preflight.report import Row


def google_rows(fleet: FleetPlan) -> Iterator[Row]:
    """Unknown all of them, each with the command that tells."""
    own = fleet.ownership.gcp
    if own is None:
        return
    project = f"--project {own.project}"
    account = fleet.ownership.accounts.gcp
    assert account is not None
    email = f"{account.deploy_service_account}@{own.project}.iam.gserviceaccount.com"

    def row(where: str, what: str, needed: str, do: str) -> Row:
        return Row(area="google", where=where, what=what, needed=needed, found="not looked at", status="unknown", do=do)

    cells = [cell for cell in fleet.cells if cell.cloud == "gcp"]
    if not cells:
        return
    yield row("project", own.project, "there", f"gcloud projects describe {own.project}")
    yield row("project", email, "there", f"gcloud iam service-accounts describe {email} {project}")
    yield row("project", f"bucket {own.state_bucket}", "there",
              f"gcloud storage buckets describe gs://{own.state_bucket}")  # fmt: skip
    yield row("project", "services", "container, compute, storage and KMS on",
              f"gcloud services list --enabled {project}")  # fmt: skip
    gpus: dict[tuple[str, str], int] = defaultdict(int)
    for cell in cells:
        yield row(cell.region, f"GKE {cell.kubernetes}", "offered in the channel",
                  f"gcloud container get-server-config --region {cell.region} {project}")  # fmt: skip
        for group in cell.node_groups:
            spot = "preemptible " if group.capacity.kind == "spot" else ""
            gpus[(cell.region, f"{spot}{group.gpu} GPUs")] += group.gpus.max
            yield row(cell.zone, group.instance, f"sold there, for {group.pool}",
                      f"gcloud compute machine-types describe {group.instance} --zone {cell.zone} "
                      f"{project}")  # fmt: skip
            if group.capacity.kind == "reservation":
                yield row(cell.zone, f"reservation {group.capacity.id}", f"{group.nodes.max} x {group.instance} at max",
                          f"gcloud compute reservations describe {group.capacity.id} --zone {cell.zone} "
                          f"{project}")  # fmt: skip
    for (region, what), count in sorted(gpus.items()):
        yield row(region, f"quota of {what}", f"{count} at max",
                  f"gcloud compute regions describe {region} {project} --flatten=quotas "
                  "--format='table(quotas.metric,quotas.limit,quotas.usage)'")  # fmt: skip
