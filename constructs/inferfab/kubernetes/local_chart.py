"""A chart of our own, written beside the stack's Terraform and installed from there."""

import tempfile
from functools import cache
from pathlib import Path, PurePosixPath

from pydantic import field_validator

from inferfab.record import Record
from inferfab.render.chart import chart_folder
from inferfab.terraform import Construct
from inferfab.terraform.engine import AssetType, TerraformAsset

_TOKEN = "TfToken["


class LocalChartSpec(Record):
    """Kubernetes objects as YAML texts."""

    name: str
    description: str
    files: dict[str, str]
    """Name under the chart's ``templates`` folder, to text. Texts are final: Helm fills in nothing but ``live``."""
    live: dict[str, str] = {}
    """Placeholder in the texts, to the Helm expression that takes its place."""

    @field_validator("files")
    @classmethod
    def _within_the_folder(cls, files: dict[str, str]) -> dict[str, str]:
        for name, text in files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or path.suffix != ".yaml":
                raise ValueError(f'"{name}" must be a relative name that ends in .yaml')
            if _TOKEN in text:
                raise ValueError(
                    f'"{name}" holds a reference to another resource, which only Terraform knows; '
                    "write the value itself, or a name that is decided beforehand"
                )
        return files


class LocalChart(Construct):
    """A chart folder in the stack's output; its version carries a digest of its content.

    Helm's provider sees a change of a local chart only by its version. The path is relative to the stack's folder,
    so the Terraform is the same wherever it was written.

    Example::

        from inferfab.kubernetes import (
            ChartRelease, ChartReleaseSpec, LocalChart, LocalChartSpec, cluster_provider,
        )

        cluster_provider(stack, "prod-use1-a", "us-east-1")
        chart = LocalChart(
            stack,
            "settings",
            LocalChartSpec(
                name="settings",
                description="One setting",
                files={"settings.yaml": "apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: settings}\\n"},
            ),
        )
        release = ChartReleaseSpec(name="settings", chart=chart.path, version=chart.version, namespace="serving")
        ChartRelease(stack, "settings-release", release)
    """

    def __init__(self, scope: Construct, construct_id: str, spec: LocalChartSpec) -> None:
        super().__init__(scope, construct_id)
        files, self.version = chart_folder(spec.name, spec.description, spec.files, spec.live)
        folder = Path(tempfile.mkdtemp(dir=_scratch()))
        for name, text in files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        # A fixed name in place of the hash: the path in the Terraform then stays, and only the version changes.
        asset = TerraformAsset(self, "chart", path=str(folder), type=AssetType.DIRECTORY, asset_hash=spec.name)
        self.path = "${path.module}/" + asset.path
        """Where the chart is, as Terraform writes it."""


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _scratch() -> str:
    """A folder that lasts until the process ends: the engine copies assets only when the app is written."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="inferfab-charts-"))
    return _KEPT[0].name
