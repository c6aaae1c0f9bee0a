"""What must be on record about a model before requests reach it."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.problems import meant

_RECORD = "add an entry to `evaluations` with suite, revision, score, baseline, date and by"


@rule(
    "IF-MDL-001",
    "quantized weights without an evaluation on record",
    joins=("environment", "promise"),
    why="a quantized variant is another model: what it lost shows in answers, not in any metric of the fleet.",
    do="evaluate the revision that is pinned, and record suite, score and baseline under `evaluations`.",
    source="inferfab's model records; a rule of the rollout, which moves traffic only to weights on record",
)
def quantized_weights_are_evaluated(facts: Facts) -> Iterator[Problem]:
    # Where a rollout moves traffic, it is the gate; elsewhere `inferfab models` says what is not on record.
    if facts.environment.rollout is None:
        return
    for model in facts.fleet.models:
        if not model.quantized_variant or model.evaluations or not _served(facts, model.name):
            continue
        yield Problem(
            ("models", model.name),
            f"the rollout would move traffic to the {model.quantization} weights of `{model.name}`, and nothing says "
            "what they lost",
            _RECORD,
            of_key=True,
        )


@rule(
    "IF-MDL-002",
    "an evaluation that is not of these weights, or was not passed",
    joins=("environment", "promise"),
    why="requests would reach weights that nobody evaluated, or that were found to be worse than is accepted.",
    do="evaluate the pinned revision as it is served, or pin the revision that passed.",
    source="inferfab's model records",
)
def evaluations_hold(facts: Facts) -> Iterator[Problem]:
    for model in facts.fleet.models:
        if model.evaluations and not model.evaluated:
            last = max(model.evaluations, key=lambda e: e.date)
            yield Problem(
                ("models", model.name, "revision"),
                f"revision {model.revision[:12]} of `{model.name}` has no evaluation; the last is of "
                f"{last.revision[:12]}, {last.date}",
                f"{_RECORD}, or go back to the revision that was evaluated",
            )
        for position, each in enumerate(model.evaluations):
            at = ("models", model.name, "evaluations", position)
            if each.revision != model.revision:
                continue
            if not each.passed:
                yield Problem(
                    (*at, "score"),
                    f"`{model.name}` is {each.loss_percent:.3g} % worse than its baseline in {each.suite}, and "
                    f"{each.largest_loss_percent:g} % is accepted",
                    "use other weights, or say with `largest_loss_percent` what is accepted",
                )
            served = model.kv_precision
            if ("bf16" if each.kv_cache_dtype == "auto" else each.kv_cache_dtype) != served:
                yield Problem(
                    (*at, "kv_cache_dtype"),
                    f"evaluated with a KV cache of `{each.kv_cache_dtype}`, served with `{served}`",
                    f"evaluate with `kv_cache_dtype: {served}`",
                    severity="warning",
                )


@rule(
    "IF-MDL-003",
    "gated weights whose licence nobody accepted",
    joins=("environment", "engine"),
    severity="warning",
    why="the hub refuses the token of an account that has not accepted, so the download fails on every node; and "
    "somebody is to answer for the terms.",
    do="accept the licence at the hub with the account whose token is used, and record who did and when.",
    source="Hugging Face Hub: gated repositories",
)
def licences_are_accepted(facts: Facts) -> Iterator[Problem]:
    for model in facts.fleet.models:
        if model.gated and model.token_secret and model.licence_accepted is None and "://" not in model.source:
            yield Problem(
                ("models", model.name),
                f"`{model.name}` is gated ({model.licence}), and nothing says that the licence was accepted",
                "add `licence_accepted: {by: …, date: …}`",
                # A rollout is no moment to find out.
                severity="error" if facts.environment.rollout is not None else None,
                of_key=True,
            )


def _served(facts: Facts, model: str) -> bool:
    return any(model in pool.models for pool in facts.fleet.pools)


@rule(
    "IF-MDL-004",
    "an order of the rollout that is not the cells'",
    stage="reference",
    joins=("environment",),
    why="a cell that is left out would stay as it is, and the fleet would serve two revisions for good.",
    do="name every cell once, or leave `order` out.",
    source="inferfab's rollout",
)
def order_is_complete(facts: Facts) -> Iterator[Problem]:
    rollout = facts.environment.rollout
    if rollout is None or not rollout.order:
        return
    declared = facts.loaded.declared["cells"]
    missing = sorted(declared - set(rollout.order))
    for position, name in enumerate(rollout.order):
        at = ("rollout", "order", position)
        if name not in declared:
            yield Problem(at, f"there is no cell `{name}`", meant(name, missing) if missing else "remove it")
        elif name in rollout.order[:position]:
            yield Problem(at, f"`{name}` stands here twice", "remove it")
    if missing:
        yield Problem(("rollout", "order"), f"{', '.join(missing)} would never change", f"add {', '.join(missing)}")
