"""Write the golden lists of resource addresses again: tests/stacks/addresses/<environment>.txt.

Run after a wanted change: ``python tools/update_addresses.py``, or with ``--check`` only to be told. A changed
address is a destroyed and a new resource, for a node group one that recreates its GPU nodes: a wanted move of
something that may exist somewhere comes with ``moved_from`` at the resource.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "stacks" / "addresses"
ENVIRONMENTS = ("dev", "staging", "prod", "prod-gcp", "prod-global", "prod-hybrid")


def listed(environment: str) -> str:
    """One ``stack address`` a line, sorted."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = (sys.executable, "-m", "inferfab.cli", "synth", environment, "--out", str(out))
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        lines = [
            f"{file.parent.name} {type_}.{name}\n"
            for file in (out / "stacks").glob("*/cdk.tf.json")
            for type_, by_name in json.loads(file.read_bytes()).get("resource", {}).items()
            for name in by_name
        ]
    return "".join(sorted(lines))


def main(only_check: bool) -> int:
    """Exit code: 1 when something was to be written and was not."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    stale = 0
    for environment in ENVIRONMENTS:
        file = FOLDER / f"{environment}.txt"
        old, new = file.read_text(encoding="utf-8") if file.is_file() else "", listed(environment)
        for gone in sorted(set(old.splitlines()) - set(new.splitlines())):
            print(f"- {gone}")
        for fresh in sorted(set(new.splitlines()) - set(old.splitlines())):
            print(f"+ {fresh}")
        stale += old != new
        if not only_check:
            file.write_text(new, encoding="utf-8", newline="\n")
    return 1 if stale and only_check else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
