"""Objects of a cell on Google Cloud: networks by annotation, NCCL's plugin, drivers where pods claim GPUs."""

from inferfab.catalog.gke import accelerator, gke
from inferfab.plan.fleet import CellPlan
from inferfab.render.templates import render


def google_files(cell: CellPlan) -> dict[str, str]:
    """Relative path to text; nothing for a cell elsewhere."""
    if cell.cloud != "gcp":
        return {}
    pause, secret = cell.images.reference(gke().pause_image.value), cell.images.pull_secret
    rdma = [group for group in cell.node_groups if any(nic.type == "mrdma" for nic in group.layout)]
    files = {}
    if cell.serving.claims:
        files["driver.yaml"] = render(
            "fabric/google_driver.yaml.j2",
            image=gke().driver_installer_image.value,
            pause_image=pause,
            pull_secret=secret,
        )
    if rdma:
        arm = any(group.arch == "arm64" for group in rdma)
        image = gke().gib_image_arm64 if arm else gke().gib_image
        files["gib.yaml"] = render(
            "fabric/gib.yaml.j2",
            cell=cell.name,
            accelerators=sorted({accelerator(group.instance, group.gpu) for group in rdma}),
            image=cell.images.reference(image.value),
            host_path=gke().gib_host_path.value,
            pause_image=pause,
            pull_secret=secret,
        )
    if rdma and not cell.serving.claims:
        files["networks.yaml"] = render("fabric/google_networks.yaml.j2", networks=_networks(cell))
    return files


def _networks(cell: CellPlan) -> list[dict[str, str]]:
    """One for each NIC beyond the first, under the name that pods' annotations have."""
    assert cell.gcp is not None
    layout = max((group.layout for group in cell.node_groups), key=len)
    found = []
    for nic in layout[1:]:
        if nic.type == "gvnic":
            vpc = subnet = f"{cell.gcp.network}-{nic.subnet}"
            what, mode = "A further gVNIC", "NetDevice"
        else:
            vpc, subnet = cell.gcp.rdma_network, f"{cell.gcp.rdma_network}-{nic.subnet.removeprefix('rdma-')}"
            what, mode = "An RDMA NIC", "RDMA"
        found.append({"name": nic.subnet, "vpc": vpc, "subnet": subnet, "what": what, "mode": mode})
    return found
