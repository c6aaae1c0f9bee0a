"""Inject every kind of fault into every place of sound manifests and environments, and print what share is caught.

``python tools/mutate.py``; tests run the same. A miss is a bug of a rule, and the exit code says so.
"""

import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent / "tests"
sys.path[:0] = [str(TESTS / "manifests"), str(TESTS / "checks")]

from environment_faults import run as run_environments  # noqa: E402
from mutation_run import run, table  # noqa: E402

if __name__ == "__main__":
    injected = [*run(), *run_environments()]
    print(table(injected))
    sys.exit(any(not each.caught for each in injected))
