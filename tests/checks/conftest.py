"""What tests of rules share with those of manifests: the form in which a run of faults is told."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "manifests"))
