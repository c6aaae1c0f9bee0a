"""A sizing as text and as a page: what is said of p99, of maintenance and of shared pools."""

import io

from rich.console import Console

from inferfab.render.sizing_page import sizing_page
from inferfab.render.text.sizing import maintenance_words, print_sizing, tail_words
from inferfab.sizing.result import CurvePoint, Option, PoolSize, Queueing, Sizing, Tail

TAIL = Tail(
    metric="TTFT", bound_ms=500, p99_ms=800, even_p99_ms=400, short_p99_ms=600, long_prompt_tokens=4000, breaks_at=1.25
)


def option(topology: str, tensor: dict[str, int], nodes: dict[str, int]) -> Option:
    return Option(
        name="x", instance="p5en.48xlarge", gpu="h200", topology=topology, tensor=tensor, pipeline=1, batch=64,
        nodes=nodes, workers={r: n * 2 for r, n in nodes.items()}, gpus=8 * sum(nodes.values()), usd_per_hour=100.0,
        usd_per_month=73_000.0, priced="on_demand: list", limit="without a node of decode: ITL", speed="aiconfigurator",
    )  # fmt: skip


def sized(best: Option, *, explained: bool) -> PoolSize:
    point = CurvePoint(
        load=1.0, ttft_p50_ms=90, ttft_p95_ms=300, ttft_p99_ms=450, itl_p95_ms=20, itl_p99_ms=25, kept=True
    )
    return PoolSize(
        cell="c", pool="p", tier="t", model="m", promises=("TTFT p95 ≤ 500 ms",), traffic="x", requests=9, rate_rps=1.0,
        planned_gpus=32, planned_usd_per_hour=200.0, best=best, others=(), passed=(), trials=1, simulations=1,
        exhausted=False, curve=(point, point.model_copy(update={"load": 2.0})) if explained else (),
        queueing=Queueing(
            dispersion_10s=3.0, prompt_p50=1000, prompt_p99=5000, breaks_at=1.33, broke="", tail=TAIL
        ) if explained else None,
        two_away_upto=0.7 if explained else None,
    )  # fmt: skip


SIZING = Sizing(
    environment="e", engine="Dynamo", utilization=0.75,
    pools=(
        sized(option("disaggregated", {"prefill": 2, "decode": 4}, {"prefill": 3, "decode": 2}), explained=True),
        sized(option("shared, mig", {}, {"shared": 2}), explained=False),
    ),
)  # fmt: skip


def test_what_makes_p99_and_when_it_breaks() -> None:
    """400 of 800 ms are half less, 600 a quarter; 1 / 1.25 is 80 %."""
    first, second = tail_words(TAIL)
    assert "TTFT p99 at the sized load is 800 ms" in first
    assert "even distances would make it 400 ms (50% less)" in first
    assert "4,000 tokens at most (their p95) 600 ms (25% less)" in first
    assert second == "p99 passes 500 ms at 1.25 times the worst hour: the worst hour is 80% of it"
    assert tail_words(None) == []


def test_when_a_node_may_be_taken_out() -> None:
    assert "at any load" in maintenance_words(0.0)
    assert "at most 70% of the worst hour's" in maintenance_words(0.7)
    assert "even in the worst hour" in maintenance_words(1.0)


def test_text_and_page_say_the_same() -> None:
    console = Console(file=io.StringIO(), width=200)
    print_sizing(console, SIZING)
    text = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
    page = sizing_page(SIZING)
    for said in ("TP2 + TP4", "50% less", "80% of it", "70% of the worst hour"):
        assert said in text, said
        assert said in page, said
    assert page.count("What waiting does when load grows") == 1, "a shared pool has no such plot"
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_two_spare_nodes_are_said() -> None:
    console = Console(file=io.StringIO(), width=200)
    print_sizing(console, SIZING.model_copy(update={"spare": 2}))
    assert "with 2 nodes of a role away" in console.file.getvalue()  # type: ignore[attr-defined]
    assert "2 nodes of any kind" in " ".join(sizing_page(SIZING.model_copy(update={"spare": 2})).split())
