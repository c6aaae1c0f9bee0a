"""The serving release of a cell: graphs, models on the nodes, Services."""

import base64
import gzip
import json

from inferfab.kubernetes.local_chart import LocalChart, LocalChartSpec
from inferfab.kubernetes.release import ChartRelease, ChartReleaseSpec
from inferfab.record import Record
from inferfab.terraform import Construct

MOST_RELEASE_BYTES = 1024 * 1024
"""Helm keeps a release in one Secret, and Kubernetes takes Secrets of at most 1 MiB (core/v1 MaxSecretSize)."""


class ServingSpec(Record):
    """What the release installs."""

    files: dict[str, str]
    """Name to YAML text; see :func:`inferfab.render.serving.chart_files`."""
    live: dict[str, str] = {}
    """Placeholders in the texts, and what Helm puts in their place."""
    namespace: str = "serving"

    def chart(self) -> LocalChartSpec:
        return LocalChartSpec(name="serving", description="What serves in this cell", files=self.files, live=self.live)


class Serving(Construct):
    """One release a cell, versioned by a digest of its content.

    It does not wait: models are larger than any timeout, and going back would take a graph away that serves.

    Example::

        from inferfab.kubernetes import cluster_provider
        from inferfab.kubernetes.serving import Serving, ServingSpec

        cluster_provider(stack, "prod-use1-a", "us-east-1")
        text = "apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: settings, namespace: serving}\\n"
        Serving(stack, "serving", ServingSpec(files={"settings.yaml": text}))

    :raises ValueError: if the release would not fit into a Secret.
    """

    def __init__(self, scope: Construct, construct_id: str, spec: ServingSpec) -> None:
        super().__init__(scope, construct_id)
        size = release_bytes(spec.files)
        if size > MOST_RELEASE_BYTES:
            raise ValueError(
                f"the serving release takes {size:,} bytes, and Kubernetes keeps at most {MOST_RELEASE_BYTES:,} in the "
                "Secret that holds it: move some pools to another cell"
            )
        chart = LocalChart(self, "chart", spec.chart())
        release = ChartReleaseSpec(
            name="serving",
            chart=chart.path,
            version=chart.version,
            namespace=spec.namespace,
            create_namespace=False,
            wait=False,
        )
        ChartRelease(self, "release", release)


def release_bytes(files: dict[str, str]) -> int:
    """What Helm's Secret holds: templates and the manifest made of them, as JSON, compressed, in Base64 twice.

    Source: helm/helm pkg/storage/driver/util.go encodeRelease; a Secret's own Base64 counts not, the limit is on data.
    """
    templates = [{"name": name, "data": base64.b64encode(text.encode()).decode()} for name, text in files.items()]
    release = json.dumps({"chart": {"templates": templates}, "manifest": "\n---\n".join(files.values())})
    return len(base64.b64encode(gzip.compress(release.encode())))
