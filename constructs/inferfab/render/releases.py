"""What is installed in a cell's cluster after its platform: one Helm release for each concern."""

from inferfab.catalog.charts import charts
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.record import Record
from inferfab.render.autoscaling.files import autoscaling_chart, autoscaling_files
from inferfab.render.gateway import gateway_files
from inferfab.render.observability.files import dashboard_files, observability_files
from inferfab.render.serving import chart_files, serving_files


class CellRelease(Record):
    """One Helm release of objects that are texts already."""

    name: str
    """Of the release, of its chart, and of its folder in what ``inferfab render`` writes."""
    description: str
    namespace: str
    """Where Helm keeps the release; objects name their own."""
    files: dict[str, str]
    """Relative path to YAML that ``kubectl apply`` takes."""
    templates: dict[str, str]
    """The same for the chart, with placeholders where a number has another owner once it is there."""
    live: dict[str, str] = {}
    """Placeholder to the Helm expression that takes its place."""


def flat(files: dict[str, str]) -> dict[str, str]:
    """Paths as names in one folder, as a chart's templates stand."""
    return {path.replace("/", "-"): text for path, text in files.items()}


def cell_releases(fleet: FleetPlan, cell: CellPlan) -> tuple[CellRelease, ...]:
    """Releases in the order in which they are installed; none is empty."""
    found = (
        _observability(fleet, cell),
        _dashboards(cell),
        _serving(fleet, cell),
        _gateway(cell),
        _autoscaling(cell),
    )
    return tuple(release for release in found if release.files)


def _serving(fleet: FleetPlan, cell: CellPlan) -> CellRelease:
    templates, live = chart_files(fleet, cell)
    return CellRelease(
        name="serving",
        description="What serves in this cell",
        namespace=SERVING_NAMESPACE,
        files=serving_files(fleet, cell),
        templates=templates,
        live=live,
    )


def _gateway(cell: CellPlan) -> CellRelease:
    files = gateway_files(cell)
    return CellRelease(
        name="gateway",
        description="The entrance of this cell",
        namespace=cell.gateway.namespace,
        files=files,
        templates=flat(files),
    )


def _autoscaling(cell: CellPlan) -> CellRelease:
    templates, live = autoscaling_chart(cell)
    return CellRelease(
        name="autoscaling",
        description="What follows demand in this cell",
        namespace=SERVING_NAMESPACE,
        files=autoscaling_files(cell),
        templates=templates,
        live=live,
    )


def _observability(fleet: FleetPlan, cell: CellPlan) -> CellRelease:
    """Before what serves, so that planners find their series and a release that fails is seen."""
    files = observability_files(fleet, cell)
    return CellRelease(
        name="observability",
        description="Monitors, rules and routes of this cell",
        namespace=charts()["kube-prometheus-stack"].namespace,
        files=files,
        templates=flat(files),
    )


def _dashboards(cell: CellPlan) -> CellRelease:
    """A release of its own: JSON is long, and a release has to fit into a Secret."""
    files = dashboard_files(cell)
    return CellRelease(
        name="dashboards",
        description="Grafana dashboards of this cell",
        namespace=charts()["kube-prometheus-stack"].namespace,
        files=files,
        templates=flat(files),
    )
