"""The page: self-contained, safe with hostile names, and working in a real browser, also on a phone."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from review.conftest import Run
from review.plans import ROOT, change, node_group, plan, written

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
NEEDS_BROWSER = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}\u202e"


@pytest.fixture
def page(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of an environment that changes, and a plan with hostile names."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / "environments" / "prod.yaml").read_text(encoding="utf-8")
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "prod.yaml").write_text(
        text.replace("{min: 8, desired: 8, max: 16}", "{min: 4, desired: 4, max: 16}")
    )
    group = node_group("p5.48xlarge", 1, 2, 4)
    made = [{**change("aws_eks_node_group.g", "delete create", group, group), "address": NASTY}]
    made += [change(f"aws_sns_topic.t{n:02}", "update", {NASTY: 1, f"a{n}": 1}, {}) for n in range(30)]
    file = written(tmp_path, plan(*made))
    out = tmp_path / "review.html"
    run(str(file), "--env", "prod", "--base", str(tmp_path / "base"), "--format", "html", "--out", str(out))
    return out


class Elements(HTMLParser):
    """Tags with their attributes, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data


def test_it_is_self_contained_and_hostile_names_are_text(page: Path) -> None:
    """One script and one style of ours, no reference to anything outside, no handler; the name stands as it is."""
    found = Elements(page.read_text(encoding="utf-8"))
    names = [tag for tag, _ in found.tags]
    assert names.count("script") == 1 and names.count("style") == 1
    assert not {"img", "iframe", "link", "object", "embed", "form", "base"} & set(names)
    for tag, attributes in found.tags:
        assert not {"src", "onerror", "onclick", "action", "srcset"} & set(attributes), tag
        assert (attributes.get("href") or "#").startswith("#")
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in found.said
    assert "\u202e" not in found.said and "49" not in found.said.split("onerror=alert(2)>")[1][:20]
    ids = [a["id"] for _, a in found.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert "default-src 'none'" in page.read_text(encoding="utf-8")


def test_it_has_the_picture_before_and_after(page: Path) -> None:
    """Two drawings with 176 and 200 GPUs in their descriptions (documents has 24 fewer before)."""
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg ") == 2
    assert [
        re.search(r"(\d+) GPUs", part) and re.search(r"(\d+) GPUs", part)[1] for part in text.split("<desc ")[1:]
    ] == ["176", "200"]  # type: ignore[index]


def browse(page: Path, tmp_path: Path, script: str, width: int = 1280) -> str:
    """The page's DOM after a script ran in it, at a window of that width."""
    assert CHROMIUM is not None
    copy = tmp_path / "driven.html"
    # Ours runs first; what it says of itself goes into the title.
    text = page.read_text(encoding="utf-8").replace("</body>", f"<script>{script}</script></body>")
    copy.write_text(text, encoding="utf-8")
    done = subprocess.run(
        (CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         f"--window-size={width},900", "--virtual-time-budget=2000", "--dump-dom", copy.as_uri()),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    found = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    return found[1]


SORT = """
const table = document.querySelector('#updates table');
const texts = () => Array.from(table.tBodies[0].rows, (r) => r.cells[0].textContent);
const head = table.tHead.rows[0].cells[0];
head.querySelector('button').click();
const up = texts(), state = head.getAttribute('aria-sort');
head.querySelector('button').click();
const down = texts();
const numbers = document.querySelector('#gpus table');
numbers.tHead.rows[0].cells[4].querySelector('button').click();
const values = Array.from(numbers.tBodies[0].rows, (r) => Number(r.cells[4].dataset.n));
const input = document.querySelector('#updates [data-filter]');
input.value = 't07'; input.dispatchEvent(new Event('input', {bubbles: true}));
const left = Array.from(table.tBodies[0].rows).filter((r) => !r.hidden).length;
const rising = values.every((v, n) => n === 0 || values[n - 1] <= v);
const byNumber = up.indexOf('aws_sns_topic.t02') < up.indexOf('aws_sns_topic.t10');
document.title = [state, up.join() === [...down].reverse().join(), up.length, left, rising, byNumber].join(' ');
"""


@pytest.mark.slow
@NEEDS_BROWSER
def test_tables_sort_and_filter(page: Path, tmp_path: Path) -> None:
    """Ascending, then descending; numbers as numbers; the filter leaves the one row."""
    assert browse(page, tmp_path, SORT) == "ascending true 31 1 true true"


WIDTH = """
const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
const bad = Array.from(document.querySelectorAll('main > section, .card, header h1')).filter(
  (e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length;
const change = Array.from(document.querySelectorAll('#gpus td:last-child, #money td:last-child'));
const away = change.filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth).length;
const small = Array.from(document.querySelectorAll('td, p, li')).filter(
  (e) => e.offsetParent && parseFloat(getComputedStyle(e).fontSize) < 12).length;
document.title = [innerWidth, wide, bad, small, change.length > 5 ? away : 'none'].join(' ');
"""


@pytest.mark.slow
@NEEDS_BROWSER
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_runs_over_the_edge(width: int, page: Path, tmp_path: Path) -> None:
    """No sideways scrolling of the page, on a desk and on a phone; tables and pictures scroll in their own boxes.
    The change of GPUs and dollars, the last column, stays in view.

    In a frame, because headless Chromium makes no window narrower than 500 pixels.
    """
    frame = tmp_path / "frame.html"
    inner = tmp_path / "inner.html"
    text = page.read_text(encoding="utf-8")
    report = WIDTH.replace("document.title =", "parent.postMessage(").replace(".join(' ');", ".join(' '), '*');")
    inner.write_text(text.replace("</body>", f"<script>{report}</script></body>"), encoding="utf-8")
    frame.write_text(
        f'<title>none</title><body><script>addEventListener("message", (e) => document.title = e.data)</script>'
        f'<iframe src="{inner.as_uri()}" width="{width}" height="900" frameborder="0"></iframe></body>',
        encoding="utf-8",
    )
    assert browse(frame, tmp_path, "", max(width + 40, 600)) == f"{width} 0 0 0 0"


@pytest.mark.slow
@NEEDS_BROWSER
def test_a_hostile_name_runs_nothing(page: Path, tmp_path: Path) -> None:
    """No dialog opened and no element was made of it."""
    script = "document.title = [document.images.length, document.querySelectorAll('script').length].join(' ')"
    assert browse(page, tmp_path, script) == "0 2"  # ours, and this test's


def test_styles_and_script_close_nothing() -> None:
    """They are put into the page as they are."""
    for name in ("page.css", "page.js"):
        text = (ROOT / "templates" / "review" / name).read_text(encoding="utf-8")
        assert "</" not in text and "http" not in text and "{{" not in text
