"""A traffic profile as text."""

from typing import TYPE_CHECKING

from inferfab.render.text.findings import printable
from inferfab.render.text.numbers import figure
from inferfab.render.text.tables import table_of

if TYPE_CHECKING:
    from rich.console import Console

    from inferfab.traffic.profile import TrafficProfile


def print_profile(console: "Console", profile: "TrafficProfile") -> None:
    """What was read, rates, lengths, burstiness, prefixes, and what stays unknown."""
    own = profile.provenance
    console.print(
        f"{printable(profile.name)}: {own.rows:,} rows of {printable(own.file)} ({own.format}), "
        f"{own.span_s / 3600:,.2f} h, {own.bad_rows:,} bad and {own.failed_rows:,} failed rows left out",
        markup=False,
    )
    rates = profile.rates
    hour = f", busiest hour {figure(rates.worst_hour_rps)}" if rates.worst_hour_rps else ""
    console.print(
        f"requests/s: mean {figure(rates.mean_rps)}{hour}, busiest {rates.window_s:g} s {figure(rates.peak_rps)}"
    )
    if profile.burstiness:
        burst = profile.burstiness
        console.print(
            f"burstiness (1 = independent users): gaps {burst.gap_cv2:.2f}, counts in 10 s {burst.dispersion_10s:.2f}; "
            f"busiest window {burst.peak_over_mean:.2f} times the mean"
        )
    if profile.prompts and profile.outputs:
        table = table_of("Tokens", "", "mean", "p50", "p90", "p99", "p99.9", "longest", right=("mean", "p50", "p90"))
        for name, lengths in (("prompt", profile.prompts), ("answer", profile.outputs)):
            shown = [f"{lengths.at(p):,}" for p in (50, 90, 99, 99.9, 100)]
            table.add_row(name, f"{lengths.mean:,.0f}", *shown)
        console.print(table)
    else:
        console.print(f"tokens: {profile.mean_prompt_tokens:,.0f} in, {profile.mean_output_tokens:,.0f} out on average")
    if profile.prefix:
        console.print(
            f"prefixes: {profile.prefix.shared_share:.0%} of prompt tokens repeat an earlier beginning (upper bound: a "
            f"cache that forgets nothing); {profile.prefix.first_block_groups:,} beginnings make 90% of requests"
        )
    for one in profile.unknown:
        console.print(f"unknown: {one}", markup=False)
