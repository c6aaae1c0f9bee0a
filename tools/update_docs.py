"""Write again what the documentation shows of real output: excerpts, the picture, the schema, the rules.

Run after a change of output, prices or environments: ``python tools/update_docs.py``. Tests hold all of it current.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXCERPT = re.compile(
    r"(<!-- excerpt: inferfab (?P<command>[^>]*?)(?: lines (?P<lines>\d+))? -->\n)```\n.*?```\n", re.DOTALL
)

WRITING = ("synth", "bootstrap", "render")
"""Commands that leave files; they run in a temporary folder."""


def run(*words: str) -> str:
    """What the command prints on 124 columns; any exit code is fine, `check` and `review` tell with it."""
    environment = {**os.environ, "COLUMNS": "124", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:
        # `synth` writes files, beside the environments of whoever runs it.
        shutil.copytree(ROOT / "environments", Path(folder) / "environments")
        done = subprocess.run(
            (sys.executable, "-m", "inferfab.cli", *words),
            cwd=folder if words[0] in WRITING else ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def excerpt(match: re.Match[str]) -> str:
    text = run(*match["command"].split())
    if match["lines"]:
        text = "".join(text.splitlines(keepends=True)[: int(match["lines"])]) + "…\n"
    return f"{match[1]}```\n{text}```\n"


def documents() -> dict[Path, str]:
    """Every file with real output in it, as it should be."""
    from inferfab.checks.explain import all_rules
    from inferfab.environment.schema import json_schema
    from inferfab.render.environment_page import environment_page
    from inferfab.render.rules_page import rules_page

    pages = (
        ROOT / "README.md",
        *(ROOT / "docs" / f"{name}.md" for name in ("failure-modes", "manifests", "models", "review")),
    )
    return {
        **{page: EXCERPT.sub(excerpt, page.read_text(encoding="utf-8")) for page in pages},
        ROOT / "docs" / "rules.md": rules_page(all_rules()),
        ROOT / "docs" / "environment.md": environment_page(json_schema()),
        ROOT / "docs" / "prod.svg": run("plan", "prod", "--format", "svg"),
        ROOT / "environments" / "environment.schema.json": run("schema"),
    }


if __name__ == "__main__":
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8", newline="\n")
