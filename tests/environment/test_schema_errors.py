"""A wrong field: rule, path, place and fix, at every level, and all of them at once."""

from pathlib import Path

import pytest

from inferfab.checks.check import check
from inferfab.environment.loading import load_text
from inferfab.findings import Finding

ROOT = Path(__file__).resolve().parents[2]
DEV = (Path(__file__).parent / "sound.yaml").read_text(encoding="utf-8")


def findings(text: str) -> tuple[Finding, ...]:
    found = check(load_text(text)).findings
    assert all(f.what and f.why and f.fix for f in found)
    return found


def brief(text: str) -> list[tuple[str, str, int, int, str]]:
    return [(f.rule, f.dotted_path, f.location.line, f.location.column, f.fix) for f in findings(text)]


def with_(old: str, new: str) -> str:
    assert old in DEV, old
    return DEV.replace(old, new, 1)


def place(text: str, needle: str) -> tuple[int, int]:
    at = text.index(needle)
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


@pytest.mark.parametrize(
    ("old", "new", "path", "key", "meant"),
    [
        ("owner:", "tag: {}\nowner:", "tag", "tag:", "tags"),
        ("aws:\n", "aws:\n    deploy_rol: x\n", "accounts.aws.deploy_rol", "deploy_rol:", "deploy_role"),
        ("dynamo: 1.6.1", "dynamo: 1.6.1\n  vlm: 0.31.0", "engine.vlm", "vlm:", "vllm"),
        (
            "    context_tokens",
            "    prefix_cachin: true\n    context_tokens",
            "models.qwen3-8b.prefix_cachin",
            "prefix_cachin:",
            "prefix_caching",
        ),
        ("availability_percent: 99", "spil: any", "tiers.standard.spil", "spil:", "spill"),
        (
            "at_most_ms: 2000}",
            "at_most_ms: 2000, answers_up_to_token: 5}",
            "tiers.standard.promises[0].answers_up_to_token",
            "answers_up_to_token:",
            "answers_up_to_tokens",
        ),
        (
            "utilization: 0.5}",
            "utilisation: 0.5}",
            "tiers.standard.workload.utilisation",
            "utilisation:",
            "utilization",
        ),
        ("    worker:", "    capacty: {kind: spot}\n    worker:", "pools.chat.capacty", "capacty:", "capacity"),
        (
            "    worker:",
            "    capacity: {kind: reservation, id: cr-0a1b2c3d4e5f60001, blok: b}\n    worker:",
            "pools.chat.capacity.blok",
            "blok:",
            "block",
        ),
        (
            "      replicas:",
            "      tensor_paralel: 1\n      replicas:",
            "pools.chat.worker.tensor_paralel",
            "tensor_paralel:",
            "tensor_parallel",
        ),
        ("{desired: 1}", "{desired: 1, mx: 1}", "pools.chat.worker.replicas.mx", "mx:", "max"),
        (
            "    zone:",
            "    traffic_shares: 1\n    zone:",
            "cells.use1-a.traffic_shares",
            "traffic_shares:",
            "traffic_share",
        ),
        ("{count: 2}", "{count: 2, instanc: m7i.large}", "cells.use1-a.system_nodes.instanc", "instanc:", "instance"),
        ("chat: {}", "chat: {capacit: {kind: spot}}", "cells.use1-a.pools.chat.capacit", "capacit:", "capacity"),
        (
            "usd_per_month: 2000",
            "usd_per_month: 2000\n  usd_per_month_at_mx: 1",
            "budget.usd_per_month_at_mx",
            "usd_per_month_at_mx:",
            "usd_per_month_at_max",
        ),
    ],
)
def test_an_unknown_key_suggests_the_field(old: str, new: str, path: str, key: str, meant: str) -> None:
    """At every level a key that nothing reads is found at the key, with the field that was meant."""
    text = with_(old, new)
    mine = [f for f in findings(text) if f.rule == "IF-ENV-010"]
    assert [(f.dotted_path, (f.location.line, f.location.column)) for f in mine] == [(path, place(text, key))]
    assert mine[0].fix == f"did you mean `{meant}`?"
    assert [f.rule for f in findings(text) if f.severity == "error"] == ["IF-ENV-010"]


@pytest.mark.parametrize(
    ("old", "new", "path", "wrong", "right"),
    [
        ("owner:", "ownr:", "owner", "ownr", "owner"),
        ("\npools:", "\npool:", "pools", "pool", "pools"),
        ("    zone:", "    zones:", "cells.use1-a.zone", "zones", "zone"),
        ("    tier: standard", "    teir: standard", "pools.chat.tier", "teir", "tier"),
        ("replicas:", "replica:", "pools.chat.worker.replicas", "replica", "replicas"),
        ("desired:", "desire:", "pools.chat.worker.replicas.desired", "desire", "desired"),
        ("percentile:", "percentil:", "tiers.standard.promises[0].percentile", "percentil", "percentile"),
    ],
)
def test_a_misspelled_required_field_is_to_be_renamed(old: str, new: str, path: str, wrong: str, right: str) -> None:
    """Both findings about it, the missing field and the unknown key, say the same thing."""
    text = with_(old, new)
    by_rule = {f.rule: f for f in findings(text)}
    assert set(by_rule) == {"IF-ENV-010", "IF-ENV-011"} and len(findings(text)) == 2
    assert by_rule["IF-ENV-011"].dotted_path == path
    assert by_rule["IF-ENV-011"].fix == f"rename `{wrong}` to `{right}`"
    assert by_rule["IF-ENV-010"].fix == f"did you mean `{right}`?"


def test_a_field_that_is_there_already_is_not_suggested_as_a_rename() -> None:
    """`wroker` beside `worker` is to be removed; a word like nothing lists what is still open."""
    [beside] = findings(with_("    worker:", "    wroker: 1\n    worker:"))
    assert beside.fix == "remove it, or did you mean `worker`, which is here already?"
    [strange] = findings(with_("    worker:", "    colour: red\n    worker:"))
    assert strange.fix == "one of: block_tokens, capacity, fabric, frontends, gpu, scaling, traffic, workload"
    [none_left] = findings(with_("    worker:", "    capacity: {kind: on_demand, id: x}\n    worker:"))
    assert none_left.fix == "remove it; every field is here already"


@pytest.mark.parametrize(
    ("section", "prefix"), [("pool", "pools.chat.capacity"), ("cell", "cells.use1-a.pools.chat.capacity")]
)
@pytest.mark.parametrize(
    ("capacity", "rule", "field", "needle", "fix"),
    [
        ("{id: x, kind: spott}", "IF-ENV-013", ".kind", "spott", "did you mean `spot`?"),
        ("{kind: 1}", "IF-ENV-013", ".kind", "1}", "one of: capacity_block, on_demand, reservation, spot"),
        ("{kind: null}", "IF-ENV-013", ".kind", "null", "one of: capacity_block, on_demand, reservation, spot"),
        ("{}", "IF-ENV-011", ".kind", "", "add `kind:`, one of: capacity_block, on_demand, reservation, spot"),
        ("{id: cr-1}", "IF-ENV-011", ".kind", "", "add `kind:`, one of: capacity_block, on_demand, reservation, spot"),
        ("{kid: spot}", "IF-ENV-011", ".kind", "", "rename `kid` to `kind`"),
        ("spot", "IF-ENV-012", "", "spot", "write {kind: spot}"),
        ("[spot]", "IF-ENV-012", "", "[spot]", "write a mapping"),
        ("{kind: reservation}", "IF-ENV-011", ".id", "", "add `id: …`"),
        ("{kind: reservation, id: ''}", "IF-ENV-013", ".id", "''", "write a value of at least 1 character(s)"),
        (
            "{kind: capacity_block, id: cr-x, ends_at: '2027-01-31T11:30:00Z'}",
            "IF-ENV-013",
            ".id",
            "cr-x",
            "write the id of the reservation, like cr-0a1b2c3d4e5f60001",
        ),
        (
            "{kind: capacity_block, id: cr-0a1b2c3d, ends_at: 2027-01-31}",
            "IF-ENV-013",
            ".ends_at",
            "2027-01-31",
            "write a time in UTC, like 2027-01-31T11:30:00Z",
        ),
    ],
)
def test_the_capacity_union(
    section: str, prefix: str, capacity: str, rule: str, field: str, needle: str, fix: str
) -> None:
    """A wrong tag is found at the tag, a missing one at the field that lacks it, with the choices."""
    key = f"capacity: {capacity}"
    text = (
        with_("    worker:", f"    {key}\n    worker:") if section == "pool" else with_("chat: {}", f"chat: {{{key}}}")
    )
    [finding] = findings(text)
    line, column = place(text, key)
    if needle:
        column += key.rindex(needle)
    elif section == "pool" or field == ".kind":
        column = place(text, "capacity:")[1]
    assert (finding.rule, finding.dotted_path, finding.fix) == (rule, prefix + field, fix)
    assert (finding.location.line, finding.location.column) == (line, column)


@pytest.mark.parametrize(
    ("old", "new", "path", "fix"),
    [
        ("topology: aggregated", "topology: agregated", "pools.chat.topology", "did you mean `aggregated`?"),
        ("topology: aggregated", "topology:", "pools.chat.topology", "one of: aggregated, disaggregated, shared"),
        (
            "    topology: aggregated\n",
            "",
            "pools.chat.topology",
            "add `topology:`, one of: aggregated, disaggregated, shared",
        ),
        ("kind: new", "kind: nwe", "cells.use1-a.network.kind", "did you mean `new`?"),
        ("kind: new, ", "", "cells.use1-a.network.kind", "add `kind:`, one of: existing, new"),
        (", cidr: 10.20.0.0/16", "", "cells.use1-a.network.cidr", "add `cidr: …`"),
        ("    zone:", "    fabric: efa\n    zone:", "cells.use1-a.fabric", "write {kind: efa}"),
        (
            "    zone:",
            "    fabric: {kind: infiniband}\n    zone:",
            "cells.use1-a.fabric.kind",
            "one of: efa, roce, tcp",
        ),
        ("owner:", "access: {kind: public}\nowner:", "access.allowed_cidrs", "add `allowed_cidrs: …`"),
        ("owner:", "access: {runner_cidrs: []}\nowner:", "access.kind", "add `kind:`, one of: private, public"),
    ],
)
def test_other_unions(old: str, new: str, path: str, fix: str) -> None:
    """Topology, network, fabric and access behave like capacity."""
    [finding] = findings(with_(old, new))
    assert (finding.dotted_path, finding.fix) == (path, fix)


def test_a_tag_that_is_not_first_is_found_where_it_stands() -> None:
    """The place is the tag's own, wherever in the mapping it stands."""
    text = with_("    topology: aggregated\n", "").replace("{desired: 1}\n", "{desired: 1}\n    topology: agregated\n")
    [finding] = findings(text)
    assert (finding.location.line, finding.location.column) == place(text, "agregated")


@pytest.mark.parametrize(
    ("old", "new", "path", "what", "fix"),
    [
        ("owner: ml-platform", "owner: [a]", "owner", "`owner` must be text, not a list", "write text"),
        ("owner: ml", "tags: x\nowner: ml", "tags", "`tags` must be a mapping, not text", "write a mapping"),
        (
            "budget:\n  usd_per_month: 2000",
            "budget: 5",
            "budget",
            "`budget` must be a mapping, not a number",
            "write a mapping",
        ),
        (
            "{metric: ttft, percentile: 95, at_most_ms: 2000}",
            "ttft",
            "tiers.standard.promises[0]",
            "`promises[0]` must be a mapping, not text",
            "write a mapping",
        ),
        (
            "\n      - {metric: ttft, percentile: 95, at_most_ms: 2000}",
            " {metric: ttft}",
            "tiers.standard.promises",
            "`promises` must be a list, not a mapping",
            "write a list",
        ),
        ("chat: {}", "chat: x", "cells.use1-a.pools.chat", "`chat` must be a mapping, not text", "write a mapping"),
        (
            "      chat: {}",
            "      - chat",
            "cells.use1-a.pools",
            "`pools` must be a mapping, not a list",
            "write a mapping",
        ),
        (
            "2000, output",
            "'2000', output",
            "tiers.standard.workload.prompt_tokens",
            "`prompt_tokens` must be a whole number, not text",
            "remove the quotes: 2000",
        ),
        (
            "0.5}",
            "'0.5'}",
            "tiers.standard.workload.utilization",
            "`utilization` must be a number, not text",
            "remove the quotes: 0.5",
        ),
        (
            "name: dev",
            "name: dev\nversion: true",
            "version",
            "`version` must be a whole number, not true/false",
            "write a whole number",
        ),
        (
            "name: dev",
            "name: dev\nversion: 1.0",
            "version",
            "`version` must be a whole number, not a decimal number",
            "write 1",
        ),
        (
            "name: dev",
            "name: dev\nversion: 2",
            "version",
            "`version` is not possible: input should be less than or equal to 1",
            "write a value of at most 1",
        ),
        ("dynamo: 1.6.1", "dynamo: 1.6", "engine.dynamo", "`dynamo` must be text, not a number", 'quote it: "1.6"'),
        ('accounts:\n  aws:\n    account_id: "111122223333"', "accounts:\n  aws:", "accounts.aws", None, None),
    ],
)
def test_wrong_types(old: str, new: str, path: str, what: str | None, fix: str | None) -> None:
    """Each wrong type names what stands there, what must, and what to write."""
    [finding] = findings(with_(old, new))
    if what is None:  # a cloud without an account is a question of references
        assert finding.rule == "IF-REF-008"
    else:
        assert (finding.dotted_path, finding.what, finding.fix) == (path, what, fix)


def test_null_sections() -> None:
    """A section whose lines were forgotten says so; sections of a wrong type are all named at once."""
    text = "name: x\nowner: y\npools:\ncells: []\nmodels: 5\nengine: 1\naccounts: x\ntiers: ''\n"
    assert [(f.rule, f.dotted_path, f.location.line) for f in findings(text)] == [
        ("IF-ENV-012", "pools", 3),
        ("IF-ENV-012", "cells", 4),
        ("IF-ENV-012", "models", 5),
        ("IF-ENV-012", "engine", 6),
        ("IF-ENV-012", "accounts", 7),
        ("IF-ENV-012", "tiers", 8),
    ]
    assert findings(text)[0].fix == "write its fields on the lines below, indented"


@pytest.mark.parametrize("section", ["models", "pools", "cells"])
def test_an_empty_section_is_called_empty(section: str) -> None:
    """An empty section is one error in plain words; what refers into it is not a second one."""
    start = DEV.index(f"\n{section}:") + 1
    end = DEV.index("\n\n", start)
    errors = [f for f in findings(DEV[:start] + f"{section}: {{}}" + DEV[end:]) if f.path == (section,)]
    assert [f.what for f in errors] == [f"`{section}` is empty"]


def test_fields_that_contradict_each_other() -> None:
    """min > max, and both or neither of instance and gpu, are found at the mapping that holds them."""
    text = with_("{desired: 1}", "{desired: 1, min: 3, max: 2}")
    [finding] = findings(text)
    assert (finding.rule, finding.dotted_path) == ("IF-ENV-014", "pools.chat.worker.replicas")
    assert (finding.location.line, finding.location.column) == place(text, "{desired")
    assert "3 / 1 / 2" in finding.what
    for text in (
        with_("instance: g6e.xlarge", "gpu: l40s\n    instance: g6e.xlarge"),
        with_("    instance: g6e.xlarge\n", ""),
    ):
        [finding] = findings(text)
        assert (finding.rule, finding.dotted_path) == ("IF-ENV-014", "pools.chat")


def test_a_contradiction_is_found_beside_an_unknown_key() -> None:
    """An unknown key hides nothing: the pool is judged without it."""
    found = findings(with_("instance: g6e.xlarge", "instance: g6e.xlarge\n    gpu: l40s\n    colour: red"))
    assert [f.rule for f in found] == ["IF-ENV-014", "IF-ENV-010"]


@pytest.mark.parametrize(
    ("old", "new", "fix"),
    [
        ("name: dev", "name: Dev", "`dev`"),
        ("name: dev", "name: dev_x", "`dev-x`"),
        ("name: dev", "name: -a", "`a`"),
        ("name: dev", "name: '1a'", "`n-1a`"),
        ("name: dev", "name: ünï", "`n`"),
        ("name: dev", 'name: "dev\\n"', "`dev`"),
        ("name: dev", "name: " + "a" * 21, "write a value of at most 20 characters"),
        ("dynamo: 1.6.1", "dynamo: v1.6.1", "write a full version, like 1.6.1"),
        ("dynamo: 1.6.1", "dynamo: ١.٦.١", "write a full version, like 1.6.1"),
        ("10.20.0.0/16", "10.20.0.0", "write an IPv4 range like 10.20.0.0/16"),
        ("10.20.0.0/16", "١٠.20.0.0/16", "write an IPv4 range like 10.20.0.0/16"),
        ("    zone:", "    cluster: {kubernetes: '1.9'}\n    zone:", '"1.36"'),
        ("percentile: 95", "percentile: 100", "write a value of more than 0.0 and less than 100.0"),
        ("percentile: 95", "percentile: .nan", "write a value of"),
        ("usd_per_month: 2000", "usd_per_month: .inf", "write a value of at most"),
        ("prompt_tokens: 2000", "prompt_tokens: 0", "write a value of more than 0"),
        ("metric: ttft", "metric: tft", "did you mean `ttft`?"),
        ("quantization: fp8", "quantization: fp6", "did you mean `fp"),
    ],
)
def test_impossible_values(old: str, new: str, fix: str) -> None:
    """Patterns, bounds and choices: one finding whose fix names what would pass."""
    [finding] = findings(with_(old, new))
    assert finding.rule == "IF-ENV-013"
    wanted = fix.removeprefix("write a value of more than 0.0 and ")
    assert wanted in finding.fix


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf", "1e999"])
@pytest.mark.parametrize(
    "field",
    ["percentile: 95", "at_most_ms: 2000", "utilization: 0.5", "availability_percent: 99", "usd_per_month: 2000"],
)
def test_no_number_is_infinite(field: str, number: str) -> None:
    """Not-a-number and infinity pass no bound: JSON could not hold them."""
    [finding] = findings(with_(field, f"{field.partition(':')[0]}: {number}"))
    assert finding.rule in ("IF-ENV-012", "IF-ENV-013")


def test_every_error_at_once() -> None:
    """Errors in different entries are all reported in one run, and in file order."""
    more = """
  other:
    topology: aggregated
    tier: nowhere
    model: qwen3-8b
    instance: g6e.xlarge
    worker: {replicas: {desired: 1}}
"""
    text = (
        DEV.replace("owner:", "onwer:")
        .replace('"111122223333"', "111122223333")
        .replace("metric: ttft", "metric: tft")
        .replace("\ncells:", more + "\ncells:")
        .replace("chat: {}", "chat: {}\n      other: {}\n      absent: {}")
        .replace("usd_per_month: 2000", "usd_per_month: lots")
    )
    found = [(f.rule, f.dotted_path) for f in findings(text) if f.severity == "error"]
    for expected in (
        ("IF-ENV-011", "owner"),
        ("IF-ENV-010", "onwer"),
        ("IF-ENV-012", "accounts.aws.account_id"),
        ("IF-ENV-013", "tiers.standard.promises[0].metric"),
        ("IF-ENV-012", "budget.usd_per_month"),
    ):
        assert expected in found
    assert any(path.startswith("pools.other") for _, path in found)
    assert any(path == "cells.use1-a.pools.absent" for _, path in found)
    lines = [f.location.line for f in findings(text) if f.severity == "error"]
    assert lines == sorted(lines)


def test_an_error_causes_no_second_one() -> None:
    """A broken model, tier, pool or cell is one error; what refers to it, or what it leaves empty, is none."""
    for old, new, path in (
        ("context_tokens: 16384", "context_tokens: x", "models.qwen3-8b.context_tokens"),
        ("availability_percent: 99", "availability_percent: x", "tiers.standard.availability_percent"),
        ("instance: g6e.xlarge", "instance: 5", "pools.chat.instance"),
        ("zone: us-east-1a", "zone: 5", "cells.use1-a.zone"),
    ):
        assert [f.dotted_path for f in findings(with_(old, new))] == [path]
