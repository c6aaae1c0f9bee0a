"""What is on record about a model's weights before requests reach them: evaluations, and the licence."""

from typing import Annotated, Literal

from pydantic import Field

from inferfab.environment.base import Day, Input, matching

Who = Annotated[str, Field(min_length=1, max_length=200)]
Score = Annotated[float, Field(ge=-1e9, le=1e9)]


class Evaluation(Input):
    """One benchmark of one revision, held against the weights that it stands in for."""

    suite: Annotated[str, Field(min_length=1, max_length=200)]
    """What was run, with its version: `lm-eval 0.4.9 mmlu_pro, 5-shot`."""
    revision: Annotated[str, Field(min_length=7, max_length=64)]
    """Commit of the weights that were evaluated. It must be the model's `revision`: other weights, other record."""
    kv_cache_dtype: Literal["auto", "bf16", "fp8", "nvfp4"] = "auto"
    """KV cache precision in the evaluation. Default `auto`: bf16, as vLLM does."""
    score: Score
    """What it reached."""
    baseline: Score
    """What the weights reached that it stands in for: unquantized ones, or the revision before."""
    better: Literal["higher", "lower"] = "higher"
    """Which score is the better one; `lower` for perplexity. Default: higher."""
    largest_loss_percent: Annotated[float, Field(ge=0, le=50)] = 1.0
    """How much worse than the baseline it may be, in percent of the baseline. Default: 1 %."""
    date: Day
    """Day of the run."""
    by: Who
    """Person or team that answers for it."""
    report: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Where the report is: a URI or a path in the repository. Default: none is named."""

    @property
    def loss_percent(self) -> float:
        """How much worse than the baseline, in percent of its size; negative if it is better."""
        worse = self.baseline - self.score if self.better == "higher" else self.score - self.baseline
        if worse == 0:
            return 0.0
        return worse / abs(self.baseline) * 100 if self.baseline else float("inf") if worse > 0 else float("-inf")

    @property
    def passed(self) -> bool:
        # A score of 0.99 against 1.00 is a loss of 1 %, whatever binary fractions make of it.
        return self.loss_percent <= self.largest_loss_percent + 1e-9


class LicenceAccepted(Input):
    """Who accepted the licence of gated weights at the hub, with the account whose token is used."""

    by: Who
    """Person or team."""
    date: Day
    """Day of acceptance."""


ManifestDigest = Annotated[
    str,
    matching(r"^[0-9a-f]{64}$", "write the 64 hexadecimal digits that `inferfab checksum FOLDER` prints"),
]
"""SHA-256 of a model's manifest."""
