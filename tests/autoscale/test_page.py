"""The measured tables of docs/autoscaling.md are what the tool measures, and the defaults are those it speaks of."""

import importlib.util
from pathlib import Path

from inferfab.environment.autoscaling import Autoscaling

from .series import path_of

ROOT = Path(__file__).resolve().parents[2]


def test_the_tables_are_current() -> None:
    """After a wanted change: python tools/backtest_table.py ../shared/data/traces --write, and read what it says."""
    folder = path_of("m-mid").parent
    spec = importlib.util.spec_from_file_location("backtest_table", ROOT / "tools" / "backtest_table.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (ROOT / "docs" / "autoscaling.md").read_text(encoding="utf-8")
    assert tool.tables(folder) in page


def test_the_page_speaks_of_the_defaults() -> None:
    page, default = (ROOT / "docs" / "autoscaling.md").read_text(encoding="utf-8"), Autoscaling()
    for field in ("quantile", "window_hours", "headroom"):
        assert f"`{field}: {getattr(default, field):g}`" in page
    assert f"`scale_in_minutes` ({default.scale_in_minutes})" in page
    assert f"{default.latency_share:.0%} (`latency_share`)".replace("%", " %") in page
