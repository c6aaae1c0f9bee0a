"""Every command in the fenced `sh` blocks of README.md and docs/: ours run, in a copy; others are listed with the
reason why they do not. A command that is neither makes this test fail.
"""

import contextlib
import functools
import io
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inferfab.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
SLOW = ("synth", "images", "upgrade", "drift-workflow", "bootstrap", "rehearse", "simulate", "size", "retune")
"""They build stacks, or run simulators."""

OTHER_TOOLS = {
    "pip": "installs packages",
    "make": "the Makefile: CI runs it, tests/test_deploy_doc.py its targets",
    "terraform": "needs providers and an account; tests/test_deploy_doc.py holds the folders it names",
    "cdktf": "needs Node and providers; tests/stacks/test_cdktf_cli.py runs it where it is",
    "aws": "needs an account",
    "gcloud": "needs an account",
    "curl": "needs a gateway that runs",
    "git": "changes the reader's files",
    "hf": "downloads models",
    "kubectl": "needs a cluster",
    "rm": "removes the reader's files",
    "tofu": "as terraform",
    "helm": "needs a cluster or a chart",
    "checkov": "tests/stacks/test_checkov_stacks.py runs it where it is",
    "python": "tools of the repository, with tests of their own",
}
"""Programs that no test runs from the documentation, and why."""

NOT_RUN = {
    "inferfab simulate": "needs Dynamo's simulator; tests/simulate runs it",
    "inferfab size": "needs Dynamo's simulator; tests/sizing runs it",
    "inferfab retune": "needs Dynamo's simulator; tests/retune runs it",
    "inferfab rehearse": "needs Dynamo; tests/rehearse runs it",
    "inferfab preflight prod": "needs an account; tests/preflight runs it against moto",
    "inferfab check prod --observed": "needs what preflight wrote; tests/preflight runs it",
    "inferfab import": "needs an account; tests/adopt runs it against moto",
    "inferfab catalog refresh": "needs AWS's price lists; tests/refresh runs it on excerpts",
    "inferfab checksum": "needs a model's files; tests/cli runs it",
    "inferfab profile import": "needs a benchmark's files; tests/performance runs it",
    "inferfab traffic fit": "needs a month of a team's own traffic; tests/traffic runs it on shorter ones",
    "inferfab review cell-a.json": "needs Terraform plans; tests/review reads many",
    "inferfab bootstrap prod --in-bucket": "tests/test_deploy_doc.py runs it in its order",
}
"""Commands of ours that are not run here, by their beginning."""

EXITS = {"inferfab verify": 1}
"""Where the machine has no cluster, that is an error: everything is unknown."""


def blocks(text: str) -> Iterator[str]:
    for _, block in re.findall(r"^( *)```sh\n(.*?)^\1```$", text, re.DOTALL | re.MULTILINE):
        yield block.replace("\\\n", " ")


def programs(line: str) -> list[list[str]]:
    """Words of each program of a line; variables before it, comments and redirections are left out."""
    found: list[list[str]] = [[]]
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words = iter(lexer)
    for word in words:
        if word in ("|", "&&", "||", ";"):
            found.append([])
        elif set(word) <= {"<", ">", "&"}:
            next(words, None)
        elif found[-1] or "=" not in word:
            found[-1].append(word)
    return [one for one in found if one]


def documented() -> list[tuple[str, tuple[str, ...]]]:
    """(page, words of one program), in order, each command of a page once."""
    found = {}
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            for line in block.splitlines():
                for words in programs(line.strip()):
                    found[page.name, tuple(words)] = None
    return list(found)


ALL = documented()
OURS = [(page, words) for page, words in ALL if words[0] == "inferfab"]


def _not_run(words: tuple[str, ...]) -> str | None:
    text = " ".join(words)
    return next((reason for beginning, reason in NOT_RUN.items() if text.startswith(beginning)), None)


def test_every_program_is_known() -> None:
    """Ours, or of the list with a reason; and nothing is on the lists that no page has."""
    assert len(OURS) > 30
    used = {words[0] for _, words in ALL if words[0] != "inferfab"}
    assert used <= set(OTHER_TOOLS), f"no reason is given for {used - set(OTHER_TOOLS)}"
    texts = [" ".join(words) for _, words in OURS]
    for beginning in (*NOT_RUN, *EXITS):
        if beginning not in ("inferfab profile import", "inferfab bootstrap prod --in-bucket"):
            assert any(text.startswith(beginning) for text in texts), f"{beginning} stands in no page"


@functools.cache
def _template(folder: Path) -> Path:
    """What readers have: the repository's environments and examples under git, manifests and a stream to check."""
    root = folder / "template"
    root.mkdir()
    shutil.copytree(ROOT / "environments", root / "environments")
    shutil.copytree(ROOT / "docs" / "examples", root / "docs" / "examples")
    pair = (ROOT / "docs" / "examples" / "pair.yaml").read_text(encoding="utf-8")
    for name in ("deploy", "new", "old"):
        (root / name).mkdir()
        # Findings are what the pages speak of; these commands shall end well.
        (root / name / "service.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: serving}\n")
    (root / "stdin.yaml").write_text(pair)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "Base")):
        subprocess.run([*git, *words], cwd=root, check=True, capture_output=True)
    return root


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A copy for each page: its commands build on each other."""
    base = tmp_path_factory.mktemp("documented")

    @functools.cache
    def of(page: str) -> Path:
        return Path(shutil.copytree(_template(base), base / page.replace(".", "-")))

    return of


def _parameters() -> list[object]:
    """A page's slow commands are marked so; what they write no other command reads."""
    return [
        pytest.param(
            page,
            words,
            id=f"{page}:{' '.join(words)}",
            # One after the other where tests run side by side.
            marks=[pytest.mark.xdist_group(page), *([pytest.mark.slow] if words[1] in SLOW else [])],
        )
        for page, words in OURS
        if len(words) > 1
    ]


@pytest.mark.parametrize(("page", "words"), _parameters())
def test_a_command_of_ours(
    page: str,
    words: tuple[str, ...],
    copies: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It ends as the page says, without a traceback, and says something."""
    reason = _not_run(words)
    if reason is not None:
        pytest.skip(reason)
    monkeypatch.chdir(copies(page))
    # Where only some are run (the slow ones, say), what they stand on is made first.
    for earlier_page, earlier in OURS[: OURS.index((page, words))]:
        made = Path("environments", f"{earlier[-1]}.yaml")
        if earlier_page == page and earlier[1:2] == ("init",) and len(earlier) == 3 and not made.exists():
            monkeypatch.setattr("sys.argv", list(earlier))
            with contextlib.suppress(SystemExit):
                main()
    # No cluster, whatever the machine that tests has.
    monkeypatch.setenv("KUBECONFIG", str(copies(page) / "no-kubeconfig"))
    if "-" in words:
        stream = io.TextIOWrapper(io.BytesIO(b"apiVersion: v1\nkind: Namespace\nmetadata: {name: serving}\n"))
        monkeypatch.setattr("sys.stdin", stream)
    monkeypatch.setattr("sys.argv", list(words))
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    expected = next((c for beginning, c in EXITS.items() if " ".join(words).startswith(beginning)), 0)
    assert code == expected, f"{' '.join(words)}\n{out}\n{err}"
    assert out or err


def test_links_between_pages_lead_somewhere() -> None:
    """Files that the pages of docs/ and the README link to are there."""
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
