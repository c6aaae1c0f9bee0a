"""tools/plan_against_moto.py as a module; the folder is no package."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def _tool() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "tools" / "plan_against_moto.py"
    spec = importlib.util.spec_from_file_location("plan_against_moto", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["plan_against_moto"] = module
    spec.loader.exec_module(module)
    return module


tool = _tool()
