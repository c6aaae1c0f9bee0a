"""The plan shows what is judged, and what is not."""

from inferfab.render.text.objective_tables import objectives
from render.observability.rules import fleet


def test_objectives_are_shown_once() -> None:
    """Three cells of prod have the same ones; what no series shows is said."""
    table = objectives(fleet("prod"))
    assert table is not None
    names, tiers, judged, by = ([str(cell) for cell in column.cells] for column in table.columns)
    assert len(set(names)) == len(names)
    rows = dict(zip(names, zip(tiers, judged, by, strict=True), strict=True))
    assert rows["documents-ttft-p95"] == ("standard", "≤ 2,000 ms for 95 %", "frontends")
    assert rows["documents-availability"] == ("standard", "answered for 99.5 %", "frontends")
    assert rows["chat-priority-ttft-p50"][1] == "≤ 250 ms for 50 %"
    assert "lower bound" in rows["chat-priority-ttft-p50"][2]
    assert sum(j == "not judged" for j in judged) == 2
