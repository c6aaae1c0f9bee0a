"""Makes the checkov harness of tests/aws importable when only this folder's tests run."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parents[1])
if TESTS not in sys.path:
    sys.path.append(TESTS)
