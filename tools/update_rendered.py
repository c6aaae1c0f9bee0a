"""Write the golden folders of rendered files again: tests/render/golden/<environment>.

Run after a wanted change and read what changed: ``python tools/update_rendered.py``, or with ``--check`` only to be
told. The chart's templates are left out: a test holds them equal to the plain files.
"""

import sys
from pathlib import Path

from inferfab.environment.loading import load
from inferfab.plan.fleet import plan
from inferfab.render.rendering import rendered_files

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "render" / "golden"
ENVIRONMENTS = ("dev", "staging")


def wanted(environment: str) -> dict[str, str]:
    """Relative path to text."""
    loaded = load(ROOT / "environments" / f"{environment}.yaml").environment
    assert loaded is not None
    files = rendered_files(plan(loaded))
    return {path: text for path, text in files.items() if "/templates/" not in path}


def kept(environment: str) -> dict[str, str]:
    """What is in the repository."""
    folder = FOLDER / environment
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def main(only_check: bool) -> int:
    """Exit code: 1 when something was to be written and was not."""
    stale = 0
    for environment in ENVIRONMENTS:
        old, new = kept(environment), wanted(environment)
        for path in sorted({*old, *new}):
            if old.get(path) == new.get(path):
                continue
            stale += 1
            print(f"{environment}/{path} {'changed' if path in old and path in new else 'is new or gone'}")
            file = FOLDER / environment / path
            if only_check:
                continue
            if path in new:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(new[path], encoding="utf-8", newline="\n")
            else:
                file.unlink()
    return 1 if stale and only_check else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
