"""Rules over traffic profiles."""

from collections.abc import Iterator
from pathlib import Path

from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, base
from inferfab import check

AGG = base(AGGREGATED)


@examples("IF-TRF-001")
def test_a_profile_is_there() -> Iterator[Example]:
    """A file that is not there cannot be replayed; no profile at all is fine."""
    named = AGG.set("pools.docs.traffic", {"profile": "nowhere/absent.json"})
    yield Fails(named, "pools.docs.traffic.profile", ("nowhere/absent.json", "No such file"), fix_says=("traffic fit",))
    tiered = AGG.set("tiers.fast.traffic", {"profile": "nowhere/absent.json", "scale": 2})
    yield Fails(tiered, "tiers.fast.traffic.profile", ("No such file",))
    yield Passes(AGG)


def test_the_path_starts_at_the_environment(tmp_path: Path) -> None:
    from inferfab.traffic.fit import fit

    trace = tmp_path / "trace.csv"
    trace.write_text("timestamp,prompt_tokens,output_tokens\n" + "".join(f"{n},10,5\n" for n in range(200)))
    (tmp_path / "traffic").mkdir()
    (tmp_path / "traffic" / "docs.json").write_text(fit(trace)[0].to_json(), encoding="utf-8")
    named = AGG.set("pools.docs.traffic", {"profile": "traffic/docs.json"})
    path = tmp_path / "env.yaml"
    path.write_text(named.text, encoding="utf-8")
    assert not [f for f in check(path).findings if f.rule == "IF-TRF-001"]
    (tmp_path / "traffic" / "docs.json").write_text("{}", encoding="utf-8")
    (found,) = [f for f in check(path).findings if f.rule == "IF-TRF-001"]
    assert "is no traffic profile" in found.what
