"""Whatever stands in a manifest: a check ends soon, never raises, and its findings stand in the file."""

import copy
import math
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutation_run import SOUND, dump

from inferfab.checks.manifests import check_manifests
from inferfab.manifests.read import manifests_from_text

SECONDS = 3.0
DOCUMENTS = {p.stem: [d for d in yaml.safe_load_all(p.read_text(encoding="utf-8")) if d] for p in SOUND}
WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 1e308, math.inf, "", " ", "x", "a" * 3000, "ü", "{", "'", '"', "$(X)", "${X:-", "--",
    "-tp", "--model=", "--kv-transfer-config={", "{{ .Values.x }}", [], {}, [None], [[]], [{}], {"a": 1}, "8Gi", "-5Gi",
    "sh", ["sh", "-c"], ["sh", "-c", "vllm serve $X \\"], {"kind": "List"}, "python3", "tcp://*:99999", "1e999",
)  # fmt: skip


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A sound manifest after one to three changes anywhere."""
    documents = yaml.safe_load(yaml.safe_dump(DOCUMENTS[draw(st.sampled_from(sorted(DOCUMENTS)))]))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(documents)) or [(0,)]))
        holder = documents
        for part in path[:-1]:
            holder = holder[part]
        if draw(st.integers(0, 4)) == 0 and len(holder) > 1:
            del holder[path[-1]]
        else:
            new = draw(st.sampled_from(WRONG) | st.text(max_size=15) | st.integers() | st.floats())
            holder[path[-1]] = copy.deepcopy(new)  # a later change may reach into it
    return dump(documents)


def prove(text: str) -> None:
    begun = time.process_time()
    checked = check_manifests(manifests_from_text(text))
    assert time.process_time() - begun < SECONDS
    lines = text.split("\n")
    for finding in checked.findings:
        assert 1 <= finding.location.line <= len(lines), finding
        assert 1 <= finding.location.column <= len(lines[finding.location.line - 1]) + 1, finding
        assert finding.what.strip(), finding
        assert finding.fix.strip(), finding
    keys = [(f.rule, f.path, str(f.location), f.what) for f in checked.findings]
    assert len(keys) == len(set(keys))


@given(mutated())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_changed_manifests(text: str) -> None:
    """Any few changes: no exception, below 3 s, findings that stand in the file."""
    prove(text)


@pytest.mark.slow
@given(mutated())
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
def test_changed_manifests_at_length(text: str) -> None:
    """The same, more often."""
    prove(text)


@given(st.text(max_size=200) | st.text(alphabet=":-{}[]&*!|>'\"%@` \n\tab1,#?<", max_size=120))
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_any_text(text: str) -> None:
    """Text that is YAML by chance or not at all."""
    check_manifests(manifests_from_text(text))
