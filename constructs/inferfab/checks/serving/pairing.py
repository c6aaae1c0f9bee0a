"""Which prefill and decode engines of one namespace belong together, where no graph says so."""

import re
from collections.abc import Iterator
from dataclasses import replace

from inferfab.checks.serving.kv_transfer import FLAG
from inferfab.checks.serving.views import EngineView
from inferfab.manifests.model import Manifests
from inferfab.manifests.selectors import pool_targets, selected

_ROLE_WORD = re.compile(r"(?:^|[-_.])(?:prefill|decode|producer|consumer)(?:er|ers|s)?(?=[-_.]|$)")
_MODEL = "llm-d.ai/model"
"""llm-d's modelservice chart gives it to every pod of one model."""
_LABELS = {"app.kubernetes.io/instance": 20, "app.kubernetes.io/part-of": 20, "app": 10, "app.kubernetes.io/name": 10}
"""Labels by which people tell their releases apart, and what each counts for."""
_APART = -1000


def paired(manifests: Manifests, engines: list[EngineView]) -> Iterator[tuple[EngineView, ...]]:
    """Groups of prefill and decode engines, and each other engine alone."""
    pools = _pools(manifests)
    scores = {
        (p, d): _score(engines[p], engines[d], pools)
        for p in range(len(engines)) if engines[p].role == "prefill"
        for d in range(len(engines)) if engines[d].role == "decode"
    }  # fmt: skip
    alone = _aggregated(engines, scores)
    scores = {pair: score for pair, score in scores.items() if pair[1] not in alone}
    group = list(range(len(engines)))
    for one, other in _chosen(engines, scores):
        old, new = group[other], group[one]
        group = [new if g == old else g for g in group]
    for number in dict.fromkeys(group):
        members = [e for e, g in zip(engines, group, strict=True) if g == number]
        yield tuple(replace(e, role="worker") if len(members) == 1 and number in alone else e for e in members)


def _chosen(engines: list[EngineView], scores: dict[tuple[int, int], int]) -> Iterator[tuple[int, int]]:
    """Each engine goes to those of the other role that fit it best. One that fits none well, where each of those has
    a better partner, stays by itself."""
    best: dict[int, int] = {}
    for pair, score in scores.items():
        for engine in pair:
            best[engine] = max(score, best.get(engine, _APART))
    for (prefill, decode), score in scores.items():
        if score <= _APART:
            continue
        mine = {e for e in (prefill, decode) if best[e] == score}
        if len(mine) == 2 or (mine and (score >= 0 or best[({prefill, decode} - mine).pop()] < 0)):
            yield prefill, decode


def _aggregated(engines: list[EngineView], scores: dict[tuple[int, int], int]) -> set[int]:
    """Decode by its label, and alone in truth: llm-d labels every aggregated deployment so. It has no connector, and
    differs from each prefill engine that has a decode engine of its own."""
    prefill = {p for p, _ in scores}
    without = {d for _, d in scores if FLAG not in engines[d].given and not engines[d].unsure(FLAG)}
    found = set()
    for decode in without:
        others = {p: max((s for (q, d), s in scores.items() if q == p and d not in without), default=_APART)
                  for p in prefill}  # fmt: skip
        # Names alone (10 between equal and different ones) separate nothing: `chat-decode-2`.
        if all(scores[p, decode] <= _APART or others[p] > scores[p, decode] + 10 for p in prefill):
            found.add(decode)
    return found


def _pools(manifests: Manifests) -> dict[int, set[str]]:
    """Inference pools by the workloads that they select."""
    found: dict[int, set[str]] = {}
    for pool in manifests.of_kind("InferencePool"):
        for workload in selected(manifests, pool.namespace, pool_targets(pool)[0], pool.file):
            found.setdefault(id(workload), set()).add(pool.name)
    return found


def _score(prefill: EngineView, decode: EngineView, pools: dict[int, set[str]]) -> int:
    one, other = prefill.workload, decode.workload
    assert one is not None
    assert other is not None
    score = 0
    mine, theirs = pools.get(id(one), set()), pools.get(id(other), set())
    if mine and theirs:
        if not mine & theirs:
            return _APART
        score += 100
    models = [w.pod.labels.get(_MODEL) for w in (one, other)]
    if all(models):
        if models[0] != models[1]:
            return _APART
        score += 50
    for label, weight in _LABELS.items():
        score += _alike(_bare(one.pod.labels.get(label, "")), _bare(other.pod.labels.get(label, "")), weight)
    score += _alike(_bare(one.name), _bare(other.name), 5)
    return score + _alike(prefill.model or "", decode.model or "", 8)


def _alike(one: str, other: str, weight: int) -> int:
    return 0 if not one or not other else weight if one == other else -weight


def _bare(text: str) -> str:
    """``chat-prefill`` and ``chat-decode`` are both ``chat``."""
    return _ROLE_WORD.sub("", text.lower()).strip("-_.")
