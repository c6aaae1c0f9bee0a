"""One token of each model of each tier, through the Service that the gateway uses."""

import json

from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.serving.entries import EntryPlan
from inferfab.verify.cluster import Answer, Cluster, NotSeen, Object
from inferfab.verify.seen import Seen

_PROMPT = "One two three four five six seven eight nine ten. " * 8
"""Several blocks of KV cache: less than a whole one is handed over by nobody."""
_BUSY = (429, 503, 529)
"""What lanes, gateways and Dynamo answer when they have too much to do."""


def ask_every_tier(seen: Seen, cluster: Cluster) -> None:
    answered = 0
    for entry in seen.cell.serving.entries:
        try:
            answer = cluster.post(
                SERVING_NAMESPACE, entry.service, entry.port, "/v1/chat/completions", request_of(entry)
            )
        except NotSeen as error:
            if error.kind in ("forbidden", "unreachable"):
                seen.not_known(f"whether {entry.model} of tier {entry.tier} answers", str(error))
            else:
                _trouble(seen, entry, f"nobody stands behind the Service {entry.service}: {error}")
            continue
        problem = problem_of(answer)
        if problem is None:
            answered += 1
        else:
            _trouble(seen, entry, problem, busy=answer.status in _BUSY)
    if seen.cell.serving.entries:
        seen.line(f"{answered} of {len(seen.cell.serving.entries)} models of tiers answered with a token")


def request_of(entry: EntryPlan) -> Object:
    """A request of one token; behind a router over tiers with the keys of this tier."""
    body: Object = {
        "model": entry.model,
        "messages": [{"role": "user", "content": _PROMPT}],
        "max_tokens": 1,
        "temperature": 0,
    }
    if entry.target is not None:
        body["nvext"] = {"router": {"ttft_target": entry.target.ttft_ms, "itl_target": entry.target.itl_ms}}
    return body


def problem_of(answer: Answer) -> str | None:
    """What is wrong with an answer; None where it holds a token."""
    if answer.status != 200:
        return f"HTTP {answer.status}: {answer.text.strip()[:200] or 'without a word'}"
    try:
        body = json.loads(answer.text)
        tokens = int((body.get("usage") or {}).get("completion_tokens", 0))
        choices = body.get("choices") or []
    except (ValueError, TypeError, AttributeError):
        return f"HTTP 200 with what is no completion: {answer.text.strip()[:200]}"
    return None if choices and tokens else f"HTTP 200 without a token: {answer.text.strip()[:200]}"


def _trouble(seen: Seen, entry: EntryPlan, what: str, *, busy: bool = False) -> None:
    seen.trouble(
        "IF-VFY-008",
        ("models", entry.model),
        f"{entry.model} of tier {entry.tier} does not answer at {entry.service}:{entry.port}: {what}",
        "look at its frontends' log; `inferfab rehearse` shows what the same routing does on loopback"
        if not busy
        else "it has more requests than it takes: ask again, or look at its queue",
        severity="warning" if busy else None,
    )
