"""Recording rules as the real Prometheus evaluates them."""

import json
import math
import subprocess
from collections.abc import Sequence
from pathlib import Path

from inferfab.autoscale.rolling import Samples
from inferfab.render.autoscaling.forecast_rules import Rule
from programs import tool


def rule_file(rules: Sequence[Rule], interval_s: int) -> str:
    """JSON is YAML."""
    made = [{"record": r.record, "expr": r.expr, **({"labels": r.labels} if r.labels else {})} for r in rules]
    return json.dumps({"groups": [{"name": "under-test", "interval": f"{interval_s}s", "rules": made}]})


def values(samples: Samples) -> str:
    return " ".join("_" if v is None else repr(v) for v in samples)


def expect(expr: str, at: int, interval_s: int, expected: float | None, labels: str) -> dict[str, object]:
    """One value of one series, exact to a billionth; None: no sample."""
    entry: dict[str, object] = {"eval_time": f"{at * interval_s}s"}
    if expected is None:
        return entry | {"expr": expr, "exp_samples": []}
    # promtool compares to the last bit, and the two add in another order.
    near = max(1e-9, abs(expected) * 1e-9)
    return entry | {
        "expr": f"abs({expr} - ({expected!r})) <= bool {near!r}",
        "exp_samples": [{"labels": labels, "value": 1}],
    }


def run(folder: Path, rules: Sequence[Rule], interval_s: int, inputs: dict[str, str], tests: list[object]) -> str:
    """promtool's complaints; empty if every expectation holds."""
    (folder / "rules.json").write_text(rule_file(rules, interval_s))
    (folder / "tests.json").write_text(
        json.dumps(
            {
                "rule_files": ["rules.json"],
                "evaluation_interval": f"{interval_s}s",
                "tests": [
                    {
                        "interval": f"{interval_s}s",
                        "input_series": [{"series": s, "values": v} for s, v in inputs.items()],
                        "promql_expr_test": tests,
                    }
                ],
            }
        )
    )
    done = subprocess.run(
        [tool("promtool"), "test", "rules", "tests.json"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert math.isfinite(done.returncode)
    return "" if done.returncode == 0 else done.stdout + done.stderr
