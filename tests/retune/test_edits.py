"""Numbers changed where they stand."""

import pytest

from inferfab.environment.loading import load_text
from inferfab.retune.edits import CannotEdit, diff, edited

TEXT = """\
name: small
pools:
  chat:
    # What they use in the evening.
    worker:
      tensor_parallel: 2      # half a node
      replicas: {min: 8, desired: 8, max: 16}
"""


def test_comments_order_and_style_stay() -> None:
    source = load_text(TEXT).source
    changes = {
        ("pools", "chat", "worker", "replicas", "desired"): 12,
        ("pools", "chat", "worker", "replicas", "max"): 24,
        ("pools", "chat", "worker", "tensor_parallel"): 4,
    }
    after = edited(source, changes)
    assert after == TEXT.replace("desired: 8, max: 16", "desired: 12, max: 24").replace("parallel: 2 ", "parallel: 4 ")
    shown = diff(TEXT, after, "environments/small.yaml")
    assert shown.startswith("--- a/environments/small.yaml\n+++ b/environments/small.yaml\n")
    assert sum(line.startswith("+ ") for line in shown.splitlines()) == 2


def test_nothing_changed_is_no_diff() -> None:
    assert diff(TEXT, edited(load_text(TEXT).source, {}), "x") == ""


def test_what_is_not_there_cannot_be_changed() -> None:
    with pytest.raises(CannotEdit, match=r"pools\.chat\.worker\.pipeline_parallel"):
        edited(load_text(TEXT).source, {("pools", "chat", "worker", "pipeline_parallel"): 2})
