"""Performance profiles as text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inferfab.render.text.tables import table_of

if TYPE_CHECKING:
    from rich.console import Console

    from inferfab.performance.profile import PerformanceProfile


def print_profiles(console: "Console", found: "Sequence[PerformanceProfile]") -> None:
    """A row each."""
    table = table_of(
        "Performance profiles", "model", "weights", "KV", "GPU", "prompt of 2,048", "step, 65,536 KV", "points",
        "engine", "read on", right=("prompt of 2,048", "step, 65,536 KV"),
    )  # fmt: skip
    for one in found:
        worker = one.worker
        points = ", ".join(f"{count} {how}" for how, count in one.counted.items())
        table.add_row(
            worker.model, worker.quantization, worker.kv_precision, f"{worker.tensor} × {worker.gpu}",
            f"{one.ttft_ms(2048):,.0f} ms", f"{one.itl_ms(65_536, 2048):.1f} ms", points,
            one.engine_version or one.basis, str(one.provenance.retrieved),
        )  # fmt: skip
    console.print(table)
