"""``inferfab failures``: what it says, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., tuple[int, str, str]]
PROD = str(Path(__file__).resolve().parents[2] / "environments" / "prod.yaml")


def test_losses_parts_and_arithmetic(run: Run) -> None:
    """A row where it is the same in every cell; nothing is called reached that is not."""
    code, out, _ = run("failures", PROD)
    assert code == 0
    assert "in use1-a, use1-b, usw2-c" in " ".join(out.split())
    assert "cell usw2-c" in out and "region aws:us-east-1" in out
    assert "one instance of a router over tiers" in out and "the cell's Prometheus" in out
    assert "99.999 % is 0.44 minutes a month: not reached" in " ".join(out.split())


def test_json(run: Run) -> None:
    code, out, _ = run("failures", PROD, "--format", "json")
    body = json.loads(out)
    assert code == 0 and not body["simulated"]
    node = next(x for x in body["losses"] if x["what"] == "a node of chat-standard prefill in use1-a")
    assert (node["tiers"][0]["cell_left_share"], node["tiers"][0]["n_plus_one"], node["tiers"][0]["fits"]) == (
        0.0, False, True,
    )  # fmt: skip
    assert all(a["percent"] <= a["percent_of_capacity"] for a in body["availability"])


def test_traffic_without_simulation(run: Run) -> None:
    code, _, err = run("failures", PROD, "--trace", "x.csv")
    assert code == 2 and "--simulate" in err
