"""Whole rendered folders of two small environments, read by people before they were kept."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_rendered_folders_are_as_reviewed() -> None:
    """After a wanted change: python tools/update_rendered.py, and read the difference."""
    tool = ROOT / "tools" / "update_rendered.py"
    result = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr
