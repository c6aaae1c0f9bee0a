"""Files that are named on the command line are read with a bound: a device that never ends is one clear error."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from inferfab.input_files import read_bytes, read_text

CONSTRUCTS = Path(__file__).resolve().parents[2] / "constructs" / "inferfab"
ENVIRONMENTS = CONSTRUCTS.parents[1] / "environments"
FROM_US = {
    "input_files.py", "catalog/engines.py", "catalog/metrics.py", "cli/folder.py", "mirror/inventory.py",
    "preflight/resolver.py", "rehearse/processes.py", "synthesis.py", "upgrade/upgrade.py",
    "manifests/kustomize.py",
}  # fmt: skip
"""Modules that read whole files which we wrote or ship, or whose size they look at first."""


def test_no_module_reads_a_whole_file_without_a_bound() -> None:
    found = {
        path.relative_to(CONSTRUCTS).as_posix()
        for path in CONSTRUCTS.rglob("*.py")
        if any(f"{way}(" in path.read_text() for way in (".read_text", ".read_bytes"))
    }
    assert found <= FROM_US


@pytest.mark.parametrize("read", [read_bytes, read_text])
def test_the_bound(read: Callable[[Path, int], object], tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"\r\n" * 10)
    assert read(file, 20) in (b"\r\n" * 10, "\n" * 10)
    with pytest.raises(OSError, match="is larger than 0 MiB"):
        read(file, 19)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/zero under a bound on memory")
@pytest.mark.parametrize(
    "words",
    [
        ("check", str(ENVIRONMENTS / "dev.yaml"), "--observed", "/dev/zero"),
        ("cost", str(ENVIRONMENTS / "dev.yaml"), "--answer", "/dev/zero"),
    ],
)
def test_an_endless_file_is_refused(words: tuple[str, ...]) -> None:
    """Within a gigabyte of address space; without a bound this is a MemoryError."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); "
    run = f"import sys; sys.argv = ['inferfab', *{words!r}]; from inferfab.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", limited + run], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "/dev/zero: is larger than 64 MiB" in " ".join(done.stderr.split())
