"""The operator's own additions are neither repeated nor contradicted."""

from typing import Any

import pytest

from .operator_rules import operator_problems
from .sample_files import component, graph, main

BROKEN: dict[str, tuple[Any, str]] = {
    "router as frontend": (lambda g: component(g, "router").update(type="frontend"), "dynamo.router as type frontend"),
    "frontend without type": (lambda g: component(g, "frontend").pop("type"), "wanted: frontend"),
    "planner as worker": (lambda g: component(g, "planner").update(type="worker"), "wanted: planner"),
    "engine as frontend": (
        lambda g: component(g, "decode").update(type="frontend"),
        "wanted: decode or prefill or worker",
    ),
    "environment": (
        lambda g: main(g, "prefill")["env"].append({"name": "DYN_NAMESPACE", "value": "x"}),
        "DYN_NAMESPACE",
    ),
    "port": (lambda g: main(g, "decode").update(ports=[{"name": "a", "containerPort": 9090}]), "port 9090"),
    "shm": (lambda g: main(g, "decode").update(volumeMounts=[{"name": "a", "mountPath": "/dev/shm"}]), "/dev/shm"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_refused(case: str) -> None:
    """One thing each."""
    change, says = BROKEN[case]
    one = graph()
    assert operator_problems(one) == []
    change(one)
    assert any(says in line for line in operator_problems(one)), operator_problems(one)
