"""moto's server on loopback for a test session, where a machine has it; started by the tool that plans against it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest


def plan_against_moto() -> ModuleType:
    """The tool as a module; its folder is no package."""
    import importlib.util
    import sys

    if "plan_against_moto" in sys.modules:
        return sys.modules["plan_against_moto"]
    path = Path(__file__).resolve().parents[1] / "tools" / "plan_against_moto.py"
    spec = importlib.util.spec_from_file_location("plan_against_moto", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["plan_against_moto"] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def moto_endpoint(account_id: str, log: Path) -> Iterator[str]:
    """URL of a moto that plays one account; skips the test where there is none."""
    tool = plan_against_moto()
    try:
        program = tool.moto_server(None)
    except tool.Missing as missing:
        pytest.skip(str(missing))
    with tool.moto(program, account_id, log) as endpoint:
        yield endpoint


def false_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials of nobody, and nothing of whoever runs the tests."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "moto")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "moto")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
