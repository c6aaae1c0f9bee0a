"""The free capacity of a cell: how it is worked out, and what publishes it to CloudWatch.

Prometheus records ``inferfab:free_capacity:percent{tier,cell}``; a collector (AWS Distro for OpenTelemetry) reads it
from the federate endpoint and writes it as embedded-metric log events, from which CloudWatch makes the metric that
Route 53's alarms watch. So it works through the VPC endpoint for logs, and needs rights on one log group, which has to
be there; it never calls ``cloudwatch:PutMetricData``.

Run once by hand with the collector's receiver and transform at 0.156, against a federate endpoint: the untyped series
arrives as a gauge of the new name with both labels. Unproven: the exporter, the image, and what CloudWatch makes of it.
"""

import hashlib

from pydantic import Field

from inferfab.catalog.charts import image
from inferfab.plan.images import ImageSource
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.service_accounts import service_accounts
from inferfab.record import Record
from inferfab.render.templates import render
from inferfab.render.values import Value, Values, yaml_text

SERIES = "inferfab:free_capacity:percent"
_RENAMES = "metricstransform"
"""The processor's older name. Newer collectors call it ``metrics_transform`` and take this one as a deprecated alias
(opentelemetry-collector-contrib#47960); older ones know no other.
"""


class FreeCapacity(Record):
    """Free capacity of one tier, in percent: what is left of its scarcest resource.

    Two things run out: KV cache (``vllm:kv_cache_usage_perc``, a share in spite of its name) and places in the batch
    (requests that wait in engines and routers, as a share of all). It is 0 where no engine reports although something
    else of the tier does, and where the tier has no pods. Where nothing can be known, because nothing is scraped,
    there is no number: a broken monitor must not send a healthy cell's traffic away.
    """

    namespace: str
    """Where the tier's workers run."""
    graphs: tuple[str, ...]
    """Graphs that hold them, by the beginning of their pods' names."""
    kv_usage_quantile: float = 0.75
    """Which of a model's pods counts. Default: the upper quarter's edge, for prefill pods, whose cache is never full
    for long, would hide full decode pods in a mean, and a single hot pod says little.
    """

    def promql(self) -> str:
        """The expression; its result has no labels."""
        # A graph's digest is left open: an old and a new graph count while one replaces the other.
        pods = f'{{namespace="{self.namespace}", pod=~"({"|".join(self.graphs)})-.+"}}'
        waiting = (
            f"((sum(vllm:num_requests_waiting{pods}) or vector(0))"
            f" + (sum(dynamo_frontend_router_queue_pending_requests{pods}) or vector(0)))"
        )
        # A label of its own keeps the queue's share apart from a model's.
        return f"""\
100 * (1 - max(
  quantile by (model_name) ({self.kv_usage_quantile}, vllm:kv_cache_usage_perc{pods})
  or
  label_replace(
    {waiting}
    / clamp_min(sum(vllm:num_requests_running{pods}) + {waiting}, 1),
    "signal", "queue", "", ""
  )
))
or 0 * count(up{pods} == 1)
or (0 * count(kube_node_info) unless on() kube_pod_info{pods})"""


class CapacityPublisherSpec(Record):
    """What publishes the free capacity of a cell's tiers."""

    cell: str
    region: str
    serving_namespace: str = SERVING_NAMESPACE
    """Where workers run."""
    graphs_by_tier: dict[str, tuple[str, ...]]
    """Routes of the graphs with the workers, by tier."""
    prometheus_url: str
    log_group: str
    """Log group of the metric's events; has to be there."""
    metric_namespace: str = "Inferfab"
    metric_name: str = "FreeCapacityPercent"
    """Dimensions: ``cell`` and ``tier``."""
    name: str = Field(default_factory=lambda: service_accounts().capacity_publisher.name)
    """Of all its objects, and of the service account that a Pod Identity association names."""
    namespace: str = Field(default_factory=lambda: service_accounts().capacity_publisher.namespace)
    image: str | None = None
    """Default: the catalog's."""
    images: ImageSource = ImageSource()
    """Where it comes from. Default: its own registry."""

    def files(self) -> dict[str, str]:
        config = yaml_text(self.config())
        rules = [
            {
                "record": SERIES,
                "expr": FreeCapacity(namespace=self.serving_namespace, graphs=graphs).promql(),
                "cell": self.cell,
                "tier": tier,
            }
            for tier, graphs in self.graphs_by_tier.items()
        ]
        return {
            "free_capacity_rule.yaml": render(
                "chart/free_capacity_rule.yaml.j2",
                name="inferfab-free-capacity",
                namespace=self.namespace,
                rules=rules,
            ),
            "capacity_publisher.yaml": render(
                "chart/capacity_publisher.yaml.j2",
                name=self.name,
                namespace=self.namespace,
                image=self.images.reference(self.image or image("adot-collector").reference),
                pull_secret=self.images.pull_secret,
                config=config,
                config_digest=hashlib.sha256(config.encode()).hexdigest()[:12],
            ),
        }

    def config(self) -> Values:
        """The collector's configuration."""
        match: list[Value] = [f'{{__name__="{SERIES}"}}']
        scrape: Value = {
            "job_name": "free-capacity",
            # Standard resolution: Route 53 takes no alarm on anything finer.
            "scrape_interval": "60s",
            "metrics_path": "/federate",
            "honor_labels": True,
            "params": {"match[]": match},
            "static_configs": [{"targets": [self.prometheus_url.removeprefix("http://")]}],
        }
        rename: Value = {
            "include": SERIES, "match_type": "strict", "action": "update", "new_name": self.metric_name,
        }  # fmt: skip
        declaration: Value = {
            "dimensions": [["cell", "tier"]],
            "metric_name_selectors": [f"^{self.metric_name}$"],
        }
        return {
            "extensions": {"health_check": {"endpoint": "0.0.0.0:13133"}},
            "receivers": {"prometheus": {"config": {"scrape_configs": [scrape]}}},
            "processors": {_RENAMES: {"transforms": [rename]}},
            "exporters": {
                "awsemf": {
                    "region": self.region,
                    "namespace": self.metric_namespace,
                    "log_group_name": self.log_group,
                    "log_stream_name": self.cell,
                    "dimension_rollup_option": "NoDimensionRollup",
                    "metric_declarations": [declaration],
                    "metric_descriptors": [{"metric_name": self.metric_name, "unit": "Percent", "overwrite": True}],
                }
            },
            "service": {
                "extensions": ["health_check"],
                "pipelines": {
                    "metrics": {
                        "receivers": ["prometheus"],
                        "processors": [_RENAMES],
                        "exporters": ["awsemf"],
                    }
                },
            },
        }
