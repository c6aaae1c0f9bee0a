"""Commands in the pages about accounts can be typed as they stand; the JSON and YAML in them is sound."""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer.main
import yaml

from inferfab.cli.main import app

ROOT = Path(__file__).parent.parent
PAGES = ("accounts.md", "adopt.md", "catalog.md", "preflight.md")
ADDRESSES = (ROOT / "tests/stacks/addresses/prod.txt").read_text(encoding="utf-8")


def text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", text_of(page), re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", body, flags=re.MULTILINE) for indent, body in found]


def commands() -> list[str]:
    """Of blocks, and those in running text that name an environment or an option."""
    found = []
    for page in PAGES:
        found += [line for block in blocks(page, "sh") for line in block.splitlines() if line.strip()]
        found += [one for one in re.findall(r"`(inferfab [^`]+)`", text_of(page)) if " " in one[9:]]
    return [line for line in found if "…" not in line]


def test_there_are_commands() -> None:
    assert len([c for c in commands() if c.startswith("inferfab ")]) > 12


@pytest.mark.parametrize("line", sorted({c for c in commands() if c.startswith("inferfab ")}))
def test_our_commands_parse(line: str) -> None:
    """With the real parser: a command, option or value that is not there fails."""
    words = shlex.split(line)[1:]
    command = typer.main.get_command(app)
    while True:
        context = command.make_context(None, list(words)) if not hasattr(command, "commands") else None
        if context is not None:
            return
        command, words = command.commands[words[0]], words[1:]


@pytest.mark.parametrize("line", sorted({c for c in commands() if c.startswith("terraform ")}))
def test_stacks_in_them_are_real(line: str) -> None:
    found = re.match(r"terraform -chdir=cdktf\.out/stacks/(\S+) (init|plan|apply|output)\b", line)
    assert found is not None
    assert f"{found[1]} " in ADDRESSES


@pytest.mark.parametrize("page", PAGES)
def test_data_in_them_reads(page: str) -> None:
    for block in blocks(page, "json"):
        json.loads(block)
    for block in blocks(page, "yaml"):
        assert isinstance(yaml.safe_load(block), dict)


def test_links_lead_somewhere() -> None:
    """Pages and headings that the pages name."""
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([a-z-]+\.md)(?:#([a-z0-9-]+))?\)", text_of(page)):
            lines = text_of(target).splitlines()
            if anchor:
                heads = {
                    re.sub(r"[^a-z0-9 -]", "", h.lstrip("# ").lower()).replace(" ", "-") for h in lines if h[:1] == "#"
                }
                assert anchor in heads, (page, target, anchor)
