"""Everything that the clusters of a fleet run, as files."""

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.render.chart import chart_folder
from inferfab.render.cluster_objects import namespaces_text, priority_classes_text
from inferfab.render.google import google_files
from inferfab.render.mig import mig_config, mig_layouts
from inferfab.render.observability.files import preview_page
from inferfab.render.racks import rack_files
from inferfab.render.release import require_fitting
from inferfab.render.releases import cell_releases


def rendered_files(fleet: FleetPlan) -> dict[str, str]:
    """Relative path (the cell's name first) to text.

    :raises inferfab.render.release.ReleaseTooLargeError: if a cell's objects do not fit into one Helm release.
    """
    return {f"{cell.name}/{path}": text for cell in fleet.cells for path, text in _cell(fleet, cell).items()}


def _cell(fleet: FleetPlan, cell: CellPlan) -> dict[str, str]:
    tiers = [(t.name, t.pod_priority, True) for t in fleet.tiers if t.name in {p.tier for p in cell.pools}]
    files = {
        "platform/namespaces.yaml": namespaces_text((SERVING_NAMESPACE, cell.gateway.namespace)),
        "platform/priority-classes.yaml": priority_classes_text(tiers),
    }
    layouts = mig_layouts(cell)
    if layouts:
        files["gpu-operator/mig-layouts.yaml"] = mig_config(layouts)
    files |= rack_files(fleet, cell)
    files |= {f"fabric/{path}": text for path, text in google_files(cell).items()}
    page = preview_page(cell)
    if page is not None:
        files["preview/dashboards.html"] = page
    for release in cell_releases(fleet, cell):
        require_fitting(cell.name, release.name, release.templates)
        chart, _ = chart_folder(release.name, release.description, release.templates, release.live)
        files |= {f"{release.name}/{path}": text for path, text in release.files.items()}
        files |= {f"charts/{release.name}/{path}": text for path, text in chart.items()}
    return files
