"""A pool's dollars per million tokens, beside what the mission expects and what others have published."""

from inferfab.catalog.throughput import Measurement, throughput
from inferfab.environment.tiers import Workload
from inferfab.plan.cost import TokenCost, token_cost
from inferfab.plan.quantities import Range
from inferfab.plan.served import ModelPlan


def pool_token_cost(
    usd_per_hour: Range, served: Range, workload: Workload, model: ModelPlan, gpu: str, topology: str
) -> TokenCost | None:
    """None where the pool serves nothing."""
    band = next((b for b in throughput().cost_bands if b.model == model.catalog and b.gpu == gpu), None)
    near = nearest_measurement(workload, model, gpu, topology)
    return token_cost(
        usd_per_hour,
        served,
        prompt_tokens=workload.prompt_tokens,
        output_tokens=workload.output_tokens,
        utilization=workload.utilization,
        band=Range(low=band.usd_per_million_tokens_low, high=band.usd_per_million_tokens_high) if band else None,
        measured=_in_words(near) if near else None,
    )


def nearest_measurement(workload: Workload, model: ModelPlan, gpu: str, topology: str) -> Measurement | None:
    """The published point of this model and GPU that is closest in topology, precision and lengths."""
    return min(
        (m for m in throughput().measurements if m.model == model.catalog and m.gpu == gpu),
        key=lambda m: (
            m.topology != topology,
            m.quantization != model.quantization,
            abs(m.prompt_tokens - workload.prompt_tokens) + abs(m.output_tokens - workload.output_tokens),
            m.trust,
        ),
        default=None,
    )


def _in_words(point: Measurement) -> str:
    return (
        f"{point.output_tokens_per_second_per_gpu:,.0f} output tokens/s a GPU at {point.prompt_tokens:,} in / "
        f"{point.output_tokens:,} out, {point.quantization}, {point.topology}, {point.engine} ({point.load}; "
        f"trust {point.trust})"
    )
