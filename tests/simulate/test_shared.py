"""Parts of a GPU."""

import pytest

from inferfab.catalog.gpus import gpus
from inferfab.simulate.shared import part_of


def test_a_part_has_its_share() -> None:
    """1g.20gb of an H100: one of seven compute slices, two of eight memory slices."""
    whole = gpus()["h100"]
    part, share = part_of(whole, "nvidia.com/mig-1g.20gb")
    assert share == 0.25
    assert part.dense_tflops["fp8"] == pytest.approx(1979 / 7)
    assert part.memory_gb_per_second == pytest.approx(3350 / 4)


def test_what_is_not_cut_is_whole() -> None:
    whole = gpus()["l40s"]
    assert part_of(whole, "nvidia.com/gpu") == (whole, 1.0)
