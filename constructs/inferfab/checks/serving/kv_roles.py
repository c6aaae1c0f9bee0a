"""Who sends and who receives KV cache."""

from collections.abc import Iterator

from inferfab.checks.registry import Problem
from inferfab.checks.serving.kv_transfer import FLAG, MOVING, Connector, transfer_of
from inferfab.checks.serving.register import serving_rule
from inferfab.checks.serving.views import MODE, MODE_ENV, EngineView, Serving
from inferfab.manifests.processes import version_known

_ROLES = ("kv_producer", "kv_consumer", "kv_both")
_RIGHT = {"prefill": "kv_producer", "decode": "kv_consumer"}


@serving_rule(
    "IF-ENG-013",
    "a role without its part of the KV transfer",
    joins=("engine", "fabric"),
    why="a prefill worker without a connector does not start (aiconfigurator#519), and one whose connector has the "
    "other role sends nothing: decode computes every prompt again or waits for its timeout.",
    do="give prefill `kv_producer` and decode `kv_consumer`, each in `--kv-transfer-config`, also inside of a "
    "MultiConnector.",
    source="ai-dynamo 1.6.1 dynamo/vllm/args.py; vLLM 0.31.0 vllm/config/kv_transfer.py; llm-d#13 (nested connectors)",
)
def roles_have_connectors(serving: Serving) -> Iterator[Problem]:
    for engine in serving.engines:
        wrong = _mode(engine)
        if wrong is not None:
            yield wrong  # what else would be said follows from it
        else:
            yield from _one(engine, serving)


def _mode(engine: EngineView) -> Problem | None:
    """A component's type against the mode in which its worker starts."""
    workload, process = engine.workload, engine.process
    if workload is None or process is None or workload.graph is None or engine.program != "dynamo.vllm":
        return None
    if engine.role == "worker" or workload.role != engine.role or engine.unsure(MODE):
        return None
    variable = engine.env.get(MODE_ENV)
    if (MODE not in engine.given and variable is not None) or engine.env_hidden:
        mode, where = (variable.value, variable.spot) if variable else (None, engine.spot)
        if mode is None:
            return None
    else:
        mode, where = engine.value(MODE), engine.at(MODE)
    if mode is not None and mode != engine.role:
        return where.problem(
            f"{engine.name} is of the type {engine.role} and starts as `{mode}`", f"write `{engine.role}`", value=mode
        )
    older = "--is-prefill-worker" in engine.given or "--is-decode-worker" in engine.given
    if mode is None and not older and version_known(process):
        return engine.spot.problem(
            f"{engine.name} is of the type {engine.role} and has no `{MODE}`, so that Dynamo "
            f"{process.image.dynamo} starts it aggregated",
            f"add `{MODE} {engine.role}`",
        )
    return None


def _one(engine: EngineView, serving: Serving) -> Iterator[Problem]:
    transfer = transfer_of(engine)
    if transfer is None:
        if engine.role != "worker" and not engine.unsure(FLAG) and FLAG not in engine.given:
            yield from _missing(engine, serving)
        return
    spot = engine.at(FLAG)
    for connector in transfer.all():
        if not connector.name:
            yield spot.problem(f"a connector of {engine.name} has no `kv_connector`", "name it: `NixlConnector`")
        elif connector.role is None:
            yield spot.problem(
                f"{connector.name} of {engine.name} has no `kv_role`",
                f'add `"kv_role":"{_RIGHT.get(engine.role, "kv_both")}"`',
            )
        elif connector.role not in _ROLES:
            yield spot.problem(f"`kv_role` of {connector.name} is `{connector.role}`", f"write {' or '.join(_ROLES)}")
    yield from _matches(engine, transfer)


def _missing(engine: EngineView, serving: Serving) -> Iterator[Problem]:
    explicit = engine.value("--disaggregation-mode") == engine.role
    others = [e for e in serving.engines if e is not engine and transfer_of(e) is not None]
    if engine.program == "dynamo.vllm" and (explicit or others):
        # Older releases of Dynamo bring a connector of their own; only the pair of the catalog surely does not.
        sure = engine.vllm is not None and (explicit or engine.role == "prefill")
        yield engine.spot.problem(
            f"{engine.name} is a {engine.role} worker and has no `{FLAG}`",
            f'add `{FLAG} {{"kv_connector":"NixlConnector","kv_role":"{_RIGHT[engine.role]}"}}`',
            severity="error" if sure else "warning",
        )
    elif others:
        yield engine.spot.problem(
            f"{engine.name} has no `{FLAG}`, and {others[0].name} has one",
            f'add `{FLAG} {{"kv_connector":"NixlConnector","kv_role":"{_RIGHT[engine.role]}"}}`',
        )


def _matches(engine: EngineView, transfer: Connector) -> Iterator[Problem]:
    if engine.role == "worker":
        return
    right = _RIGHT[engine.role]
    spot = engine.at(FLAG)
    for connector in transfer.all():
        moving = connector.name in MOVING or bool(connector.children)
        if moving and connector.role in _ROLES and connector.role not in (right, "kv_both"):
            yield spot.problem(
                f"{engine.name} is a {engine.role} worker, and its {connector.name} is `{connector.role}`",
                f"write `{right}`",
            )
    if not transfer.moves and all(c.name for c in transfer.all()) and not _unheard_of(transfer):
        yield spot.problem(
            f"{engine.name} is a {engine.role} worker, and {transfer.name} moves no KV cache to other workers",
            "put NixlConnector into a MultiConnector beside it",
        )


_STORES = ("OffloadingConnector", "SimpleCPUOffloadConnector", "DynamoConnector", "ExampleConnector")
"""Connectors that keep KV cache where it is. LMCache and Mooncake's store can move it through what they store in."""


def _unheard_of(transfer: Connector) -> bool:
    return any(c.name not in _STORES and not c.children for c in transfer.all())
