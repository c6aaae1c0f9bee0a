"""Short ways to a platform's spec, to a stack's Terraform JSON, and to the tools that check charts and rules."""

import json
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inferfab.kubernetes.platform import (
    AiGatewaySpec,
    CapacityPublisherSpec,
    CellObjectsSpec,
    ClusterAutoscalerSpec,
    DynamoPlatformSpec,
    EnvoyGatewaySpec,
    GatewayBinding,
    GpuOperatorSpec,
    LoadBalancerControllerSpec,
    PlatformSpec,
    PrometheusSpec,
    SecretStore,
    ServingTier,
    prometheus_url,
)
from inferfab.terraform import TerraformStack, Testing, new_app, stack_backend_local
from inferfab.terraform.aws.provider import AwsProvider

CHARTS = Path(__file__).parents[3] / "shared" / "data" / "charts"
METRICS = CHARTS.parent / "metrics"


def platform_spec(**change: Any) -> PlatformSpec:
    """A cell with two tiers and the EFA device plugin."""
    name, region = "prod-use1-a", "us-east-1"
    fields: dict[str, Any] = {
        "kubernetes": "1.36",
        "cell_objects": CellObjectsSpec(
            tiers=(
                ServingTier(name="priority", priority=300_000),
                ServingTier(name="batch", priority=100_000, preempts=False),
            ),
            namespaces=("serving", "gateway"),
        ),
        "load_balancer_controller": LoadBalancerControllerSpec(cluster_name=name, region=region, vpc_id="vpc-1"),
        "cluster_autoscaler": ClusterAutoscalerSpec(cluster_name=name, region=region, kubernetes="1.36"),
        "prometheus": PrometheusSpec(storage_class="gp3-encrypted"),
        "dynamo": DynamoPlatformSpec(prometheus_url=prometheus_url()),
        "gateway": GatewayBinding(namespace="gateway", service="entrance", target_group_name=f"{name}-gateway"),
        "secret_store": SecretStore(region=region, namespaces=("serving", "gateway")),
        "envoy_gateway": EnvoyGatewaySpec(redis="redis.gateway.svc.cluster.local:6379"),
        "ai_gateway": AiGatewaySpec(),
        "capacity": CapacityPublisherSpec(
            cell="use1-a",
            region=region,
            graphs_by_tier={
                "priority": ("chat-prefill-[0-9a-f]{6}", "chat-decode-[0-9a-f]{6}"),
                "batch": ("chat-[0-9a-f]{6}",),
            },
            prometheus_url=prometheus_url(),
            log_group=f"/inferfab/{name}/capacity",
        ),
        "gpu_operator": GpuOperatorSpec(efa=True),
        "efa_plugin": "aws-efa-k8s-device-plugin",
    }
    return PlatformSpec(**{**fields, **change})


def stack_json(build: Callable[[TerraformStack], object]) -> dict[str, Any]:
    """The Terraform of a stack, without writing it."""
    stack = TerraformStack(Testing.app(), "cell")
    build(stack)
    result: dict[str, Any] = json.loads(Testing.synth(stack))
    return result


def written_stack(build: Callable[[TerraformStack], object], folder: Path) -> Path:
    """The folder of a stack that was written, with its assets."""
    app = new_app(str(folder))
    stack = TerraformStack(app, "cell")
    stack_backend_local(stack, "cell.tfstate")
    AwsProvider(stack, "aws", region="us-east-1")
    build(stack)
    app.synth()
    return folder / "stacks" / "cell"


def run_example(documented: type) -> dict[str, Any]:
    """Run the example in a class's docstring and write the stack that it builds."""
    assert documented.__doc__ is not None
    code = textwrap.dedent(documented.__doc__.split("Example::")[1])
    with tempfile.TemporaryDirectory() as folder:
        stack = written_stack(lambda stack: exec(code, {"stack": stack}), Path(folder))
        result: dict[str, Any] = json.loads((stack / "cdk.tf.json").read_text())
    return result
