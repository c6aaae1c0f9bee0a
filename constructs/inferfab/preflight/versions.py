"""Kubernetes versions and machine images: there, and until when supported."""

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta

from inferfab.catalog.kubernetes import kubernetes_versions
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.preflight.probe import Probe, Seen
from inferfab.preflight.reader import Reader, ReadFailed, missing
from inferfab.preflight.report import Row

_SOON = timedelta(days=60)
_VARIANTS = {"amd64": ("x86_64", "nvidia"), "arm64": ("arm64", "nvidia")}


def version_probes(fleet: FleetPlan, reader: Reader, as_of: date) -> Iterator[Probe]:
    """One question a region and Kubernetes version, one an image."""
    asked: set[tuple[str | None, ...]] = set()
    for cell in fleet.cells:
        if cell.cloud != "aws":
            continue
        if (cell.region, cell.kubernetes) not in asked:
            asked.add((cell.region, cell.kubernetes))
            yield Probe(
                area="kubernetes",
                where=cell.region,
                what=f"EKS {cell.kubernetes}",
                needed=f"in standard support on {as_of}",
                ask=_kubernetes(reader, cell.region, cell.kubernetes, as_of),
                do=f"aws eks describe-cluster-versions --region {cell.region} --cluster-versions {cell.kubernetes}",
            )
        images = {_VARIANTS[g.arch] for g in cell.node_groups if g.cloud == "aws"} | {("x86_64", "standard")}
        for arch, variant in sorted(images):
            key = (cell.region, cell.kubernetes, cell.ami_release, arch, variant)
            if key in asked:
                continue
            asked.add(key)
            yield Probe(
                area="image",
                where=cell.region,
                what=f"EKS image, {arch} {variant}",
                needed=cell.ami_release or f"newest of {cell.kubernetes}",
                ask=_image(reader, cell, arch, variant, as_of),
                do=f"aws ssm get-parameter --region {cell.region} --name {_parameter(cell, arch, variant)}",
            )


def _parameter(cell: CellPlan, arch: str, variant: str) -> str:
    return (
        f"/aws/service/eks/optimized-ami/{cell.kubernetes}/amazon-linux-2023/{arch}/{variant}/recommended/"
        "release_version"
    )


def _kubernetes(reader: Reader, region: str, version: str, as_of: date) -> Callable[[Seen], list[Row]]:
    def ask(_: Seen) -> list[Row]:
        answer = reader.read("eks", "DescribeClusterVersions", region, clusterVersions=[version])
        found = next((v for v in answer.get("clusterVersions", []) if v.get("clusterVersion") == version), None)
        status, do = "ok", ""
        if found is None:
            status, said, do = "missing", "EKS does not offer it", "write a version that EKS offers"
        else:
            standard, extended = (
                _day(found.get("endOfStandardSupportDate")),
                _day(found.get("endOfExtendedSupportDate")),
            )
            said = f"standard support until {standard}, extended until {extended}"
            known = kubernetes_versions().get(version)
            if standard and known and known.standard_support_ends != standard:
                said += f" (the catalog says {known.standard_support_ends}: it is out of date)"
            if standard and standard < as_of:
                status = "missing"
                do = "raise `kubernetes`: extended support costs about six times the control plane's price"
            elif standard and standard - as_of <= _SOON:
                do = f"plan the next upgrade: standard support ends in {(standard - as_of).days} days"
        return [
            Row(
                area="kubernetes",
                where=region,
                what=f"EKS {version}",
                needed=f"in standard support on {as_of}",
                found=said,
                status="missing" if status == "missing" else "ok",
                do=do,
            )
        ]

    return ask


def _day(moment: datetime | None) -> date | None:
    return moment.date() if moment is not None else None


def _image(reader: Reader, cell: CellPlan, arch: str, variant: str, as_of: date) -> Callable[[Seen], list[Row]]:
    what, needed = f"EKS image, {arch} {variant}", cell.ami_release or f"newest of {cell.kubernetes}"

    def row(found: str, *, there: bool, do: str = "") -> list[Row]:
        status = "ok" if there else "missing"
        return [
            Row.model_validate(
                {"area": "image", "where": cell.region, "what": what, "needed": needed, "found": found,
                 "status": status, "do": do}
            )
        ]  # fmt: skip

    def newest() -> str | None:
        try:
            answer = reader.read("ssm", "GetParameter", cell.region, Name=_parameter(cell, arch, variant))
        except ReadFailed as error:
            if not missing(error):
                raise
            return None
        return str(answer["Parameter"]["Value"])

    def ask(_: Seen) -> list[Row]:
        recommended = newest()
        if cell.ami_release is None:
            if recommended is None:
                return row("AWS publishes none", there=False, do="write another Kubernetes version")
            return row(
                f"{recommended} today", there=True,
                do=f"write `ami_release: {recommended}`, so that all nodes get the image that you tried",
            )  # fmt: skip
        day = cell.ami_release.rpartition("-")[2]
        name = f"amazon-eks-node-al2023-{arch}-{variant}-{cell.kubernetes}-v{day}"
        answer = reader.read(
            "ec2", "DescribeImages", cell.region, Owners=["amazon"], IncludeDeprecated=True,
            Filters=[{"Name": "name", "Values": [name]}],
        )  # fmt: skip
        images = answer.get("Images", [])
        if not images:
            return row(f"there is no image {name}", there=False, do=f"write `ami_release: {recommended}`")
        until = str(images[0].get("DeprecationTime", ""))[:10]
        newer = f", {recommended} is newest" if recommended and recommended != cell.ami_release else ""
        old = bool(until) and until < as_of.isoformat()
        said = f"there, deprecated on {until}{newer}" if until else f"there{newer}"
        return row(said, there=True, do=f"write `ami_release: {recommended}`" if old and recommended else "")

    return ask
