"""A Helm release, pinned."""

from collections.abc import Sequence

from pydantic import PositiveInt, field_validator

from inferfab.catalog.charts import Chart
from inferfab.plan.images import ImageSource
from inferfab.record import Record
from inferfab.render.mirrored_values import mirrored_values
from inferfab.render.values import Value, yaml_text
from inferfab.terraform import Construct, Expression
from inferfab.terraform.helm import HelmRelease, HelmReleaseArguments


class ChartReleaseSpec(Record):
    """One release of one chart at one version."""

    name: str
    """Name of the release."""
    chart: str
    """Name of the chart in the repository, or the path of a local chart."""
    version: str
    """Exact version; a range would let each apply install something else."""
    repository: str | None = None
    """URL, ``https://`` or ``oci://``. Default: ``chart`` is a local path."""
    namespace: str
    create_namespace: bool = True
    """Make the namespace if it is not there. Default: yes."""
    values: dict[str, Value] = {}
    """What differs from the chart's own values."""
    timeout_seconds: PositiveInt = 900
    """How long to wait until everything is ready. Default: 15 minutes, for images on fresh nodes."""
    wait: bool = True
    """Wait until all is ready, and roll back when it does not become so. Default: yes. No where Helm cannot judge what
    it installs, or where going back would do harm.
    """
    disable_openapi_validation: bool = False
    """Send objects that the cluster's schema does not know yet: charts that bring their CRDs by a hook need it."""

    @field_validator("version")
    @classmethod
    def _exact(cls, version: str) -> str:
        if not version.removeprefix("v")[:1].isdigit() or set(version) & set(" <>=~^*|,"):
            raise ValueError(f'"{version}" is not one exact version')
        return version

    @classmethod
    def of(
        cls, chart: Chart, values: dict[str, Value], *, images: ImageSource | None = None, **more: object
    ) -> "ChartReleaseSpec":
        """A release of a chart of the catalog.

        :param images: where chart and images come from. Default: their own registries.
        :raises UnknownChart: if the catalog does not say what a mirrored chart pulls.
        """
        source = images or ImageSource()
        return cls.model_validate(
            {
                "name": chart.release,
                "chart": chart.chart,
                "version": chart.version,
                "repository": source.charts or chart.repository,
                "namespace": chart.namespace,
                # kube-system is always there, and Helm may not own it.
                "create_namespace": chart.namespace != "kube-system",
                "values": mirrored_values(chart.chart, values, source),
                **more,
            }
        )


class ChartRelease(Construct):
    """A Helm release that is rolled back when it does not become ready.

    Example::

        from inferfab.kubernetes import ChartRelease, ChartReleaseSpec, cluster_provider

        cluster_provider(stack, "prod-use1-a", "us-east-1")
        spec = ChartReleaseSpec(
            name="keda",
            chart="keda",
            repository="https://kedacore.github.io/charts",
            version="2.20.2",
            namespace="keda",
            values={"image": {"pullPolicy": "IfNotPresent"}},
        )
        ChartRelease(stack, "keda", spec)
    """

    def __init__(
        self, scope: Construct, construct_id: str, spec: ChartReleaseSpec, *, after: Sequence["ChartRelease"] = ()
    ) -> None:
        """
        :param after: releases that have to be there first, because they bring CRDs, webhooks or classes.
        """
        super().__init__(scope, construct_id)
        arguments: HelmReleaseArguments = {
            "name": spec.name,
            # A local chart's path begins with ${path.module}, which Terraform has to read as an expression.
            "chart": spec.chart if spec.repository else Expression(spec.chart),
            "version": spec.version,
            "namespace": spec.namespace,
            "create_namespace": spec.create_namespace,
            "values": [yaml_text(spec.values)],
            "atomic": spec.wait,
            "cleanup_on_fail": spec.wait,
            "wait": spec.wait,
            "wait_for_jobs": spec.wait,
            "timeout": spec.timeout_seconds,
            "max_history": 10,
        }
        if spec.repository:
            arguments["repository"] = spec.repository
        if spec.disable_openapi_validation:
            arguments["disable_openapi_validation"] = True
        if after:
            arguments["depends_on"] = [one.release for one in after]
        self.release: HelmRelease = HelmRelease(self, "release", **arguments)
        self.name = spec.name
        self.namespace = spec.namespace
