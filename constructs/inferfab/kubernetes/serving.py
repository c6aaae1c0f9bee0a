"""A release of a cell's serving stack: graphs and models, or what stands around them."""

from inferfab.kubernetes.local_chart import LocalChart, LocalChartSpec
from inferfab.kubernetes.release import ChartRelease, ChartReleaseSpec
from inferfab.record import Record
from inferfab.render.release import require_fitting
from inferfab.terraform import Construct


class ServingSpec(Record):
    """What the release installs."""

    name: str = "serving"
    """Of the release and of its chart."""
    description: str = "What serves in this cell"
    files: dict[str, str]
    """Name to YAML text; see :func:`inferfab.render.releases.cell_releases`."""
    live: dict[str, str] = {}
    """Placeholders in the texts, and what Helm puts in their place."""
    namespace: str = "serving"

    def chart(self) -> LocalChartSpec:
        return LocalChartSpec(name=self.name, description=self.description, files=self.files, live=self.live)


class Serving(Construct):
    """One release, versioned by a digest of its content.

    It does not wait: models are larger than any timeout, and going back would take a graph away that serves.

    Example::

        from inferfab.kubernetes import cluster_provider
        from inferfab.kubernetes.serving import Serving, ServingSpec

        cluster_provider(stack, "prod-use1-a", "us-east-1")
        text = "apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: settings, namespace: serving}\\n"
        Serving(stack, "serving", ServingSpec(files={"settings.yaml": text}))

    :raises inferfab.render.release.ReleaseTooLargeError: if the release would not fit into a Secret.
    """

    def __init__(self, scope: Construct, construct_id: str, spec: ServingSpec) -> None:
        super().__init__(scope, construct_id)
        require_fitting(scope.node.path or construct_id, spec.name, spec.files)
        chart = LocalChart(self, "chart", spec.chart())
        release = ChartReleaseSpec(
            name=spec.name,
            chart=chart.path,
            version=chart.version,
            namespace=spec.namespace,
            create_namespace=False,
            wait=False,
        )
        ChartRelease(self, "release", release)
