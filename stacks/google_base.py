"""What every stack in Google Cloud has: provider, labels, backend."""

from inferfab.gcp.projection import labels
from inferfab.plan.fleet import FleetPlan
from inferfab.terraform import App, TerraformStack, stack_backend_gcs
from inferfab.terraform.google.provider import GoogleProvider


class GoogleStack(TerraformStack):
    """A stack in the environment's project, with its state in a bucket of that project."""

    def __init__(self, app: App, name: str, fleet: FleetPlan, region: str) -> None:
        super().__init__(app, name)
        own = fleet.ownership
        assert own.gcp is not None, "checked: a fleet with Google cells has a project"
        self.project: str = own.gcp.project
        self.labels: dict[str, str] = labels({**own.tags, "inferfab-owner": own.owner}, own.name)
        GoogleProvider(
            self,
            "google",
            project=self.project,
            region=region,
            impersonate_service_account=f"{own.gcp.deploy_service_account}@{self.project}.iam.gserviceaccount.com",
            default_labels={**self.labels, "inferfab-stack": name},
        )
        stack_backend_gcs(self, bucket=own.gcp.state_bucket, prefix=f"inferfab/{own.name}/{name}")
