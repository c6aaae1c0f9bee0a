"""Bytes in, findings out: whatever stands in the file, reading ends in findings with a place, and never raises."""

import resource
import time
from pathlib import Path

import pytest

from inferfab.checks.check import check
from inferfab.environment.loading import load, load_text
from inferfab.environment.yaml_compose import MAX_DEPTH
from inferfab.environment.yaml_source import MAX_BYTES
from inferfab.findings import Finding

ROOT = Path(__file__).resolve().parents[2]
DEV = (Path(__file__).parent / "sound.yaml").read_text(encoding="utf-8")


def with_(old: str, new: str) -> str:
    """The development environment with one thing changed."""
    assert DEV.count(old) >= 1, old
    return DEV.replace(old, new, 1)


def place_of(text: str, needle: str, *, last: bool = False) -> tuple[int, int]:
    """Line and column of ``needle``, counted by the test itself."""
    at = text.rindex(needle) if last else text.index(needle)
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def all_findings(path: Path) -> tuple[Finding, ...]:
    """Findings of loading and of every check; each complete enough to act on."""
    findings = check(load(path, shown_as="e.yaml")).findings
    for finding in findings:
        assert finding.what.strip() and finding.why.strip() and finding.fix.strip(), finding
        assert finding.location.line >= 1 and finding.location.column >= 1, finding
        assert finding.location.file == "e.yaml"
    return findings


@pytest.fixture
def read(tmp_path: Path):  # type: ignore[no-untyped-def]
    def of(data: str | bytes) -> tuple[Finding, ...]:
        path = tmp_path / "e.yaml"
        path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        return all_findings(path)

    return of


def only(findings: tuple[Finding, ...]) -> Finding:
    assert len(findings) == 1, [f"{f.location} {f.rule} {f.dotted_path}: {f.what}" for f in findings]
    return findings[0]


def at(finding: Finding) -> tuple[int, int]:
    return finding.location.line, finding.location.column


def test_missing_file_names_the_nearest_one(tmp_path: Path) -> None:
    """A missing file is one finding that suggests the nearest name beside it, or `init` where there is none."""
    (tmp_path / "prod.yaml").write_text(DEV, encoding="utf-8")
    near = only(all_findings(tmp_path / "prd.yaml"))
    assert (near.rule, at(near)) == ("IF-ENV-001", (1, 1))
    assert near.fix == f"did you mean {tmp_path / 'prod.yaml'}?"
    far = only(all_findings(tmp_path / "nowhere" / "x.yaml"))
    assert far.rule == "IF-ENV-001" and "inferfab init" in far.fix


def test_folder_is_not_a_file(tmp_path: Path) -> None:
    """A folder in place of the file is one finding that says what to name instead."""
    finding = only(all_findings(tmp_path))
    assert finding.rule == "IF-ENV-001" and "folder" in finding.what and "dev.yaml" in finding.fix


def test_unusable_paths_are_findings(tmp_path: Path) -> None:
    """A path through a file, with a NUL or too long for the system is a finding, not an exception."""
    (tmp_path / "f").write_text("x", encoding="utf-8")
    for path in (tmp_path / "f" / "x.yaml", tmp_path / "a\0b.yaml", tmp_path / ("x" * 5000 + ".yaml")):
        assert only(all_findings(path)).rule == "IF-ENV-001"


@pytest.mark.parametrize("data", ["", "# nothing\n# here\n", "\n \n", "---\n", "null\n", "{}\n", "\ufeff"])
def test_a_file_without_values_is_empty(read, data: str) -> None:  # type: ignore[no-untyped-def]
    """Nothing, blanks, comments, `---`, null and {} are all `is empty`, once."""
    finding = only(read(data))
    assert (finding.rule, finding.what, at(finding)) == ("IF-ENV-002", "is empty", (1, 1))


def test_the_size_limit_is_exact(read) -> None:  # type: ignore[no-untyped-def]
    """A file of exactly the limit is read; one byte more is one finding and is not parsed."""
    padded = DEV + "#" * (MAX_BYTES - len(DEV.encode()))
    assert read(padded) == ()
    finding = only(read(padded + "#"))
    assert finding.rule == "IF-ENV-001" and "2048 KiB" in finding.what


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00",
        b"name: a\x00b\n",
        DEV.encode("utf-16"),
        DEV.encode("utf-16-le"),
        DEV.encode("utf-32"),
    ],
)
def test_binary_and_utf16_are_not_text(read, data: bytes) -> None:  # type: ignore[no-untyped-def]
    """NUL bytes, UTF-16 and UTF-32 are one finding that says to save as UTF-8."""
    finding = only(read(data))
    assert (finding.rule, finding.fix) == ("IF-ENV-002", "save it as UTF-8")


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"name: dev\nowner: caf\xe9\n", (2, 11)),
        ("# äö\nowner: äé".encode() + b"\xe9\n", (2, 10)),
        (b"\xef\xbb\xbfa\xff", (1, 2)),
        (b"a: b\r\nc: \xff", (2, 4)),
        (b"a: b\rc: \xff", (2, 4)),
        (b"a: \xed\xa0\x80\n", (1, 4)),
    ],
)
def test_a_bad_byte_is_placed_in_characters(read, data: bytes, place: tuple[int, int]) -> None:  # type: ignore[no-untyped-def]
    """A byte that is not UTF-8 is named with line and column as an editor counts them, for every line ending."""
    finding = only(read(data))
    assert (finding.rule, at(finding)) == ("IF-ENV-002", place)


@pytest.mark.parametrize(
    "data",
    [
        DEV.encode("utf-8-sig"),
        DEV.replace("\n", "\r\n").encode(),
        DEV.replace("\n", "\r").encode(),
        (DEV + "...\n").encode(),
    ],
)
def test_bom_and_line_endings_do_not_matter(read, data: bytes) -> None:  # type: ignore[no-untyped-def]
    """A byte order mark, CRLF, CR and a document end mark change nothing."""
    assert read(data) == ()


def test_crlf_keeps_line_numbers(read) -> None:  # type: ignore[no-untyped-def]
    """With CRLF a finding has the same place as with LF."""
    text = with_("owner: ml-platform", "owner: [x]")
    assert at(only(read(text))) == at(only(read(text.replace("\n", "\r\n")))) == place_of(text, "[x]")


SYNTAX = {
    "tab": (with_("  dynamo", "\tdynamo"), (11, 1), "a tab where only spaces may indent"),
    "unclosed quote": (with_('"111122223333"', '"111122223333'), (50, 1), "quoted scalar that begins on line 8"),
    "unclosed bracket": (with_("10.20.0.0/16}", "10.20.0.0/16"), (43, 17), "flow mapping that begins on line 42"),
    "deeper than before": (with_("  dynamo: 1.6.1", " dynamo: 1.6.1\n   vllm: x"), (12, 8), "mapping values"),
    "less deep": (with_("    context_tokens", "   context_tokens"), (19, 4), "block mapping that begins on line 14"),
    "reserved character": (with_("ml-platform", "@x"), (4, 8), "cannot start any token"),
    "unknown tag handle": ("a: !e!x y\n", (1, 4), "undefined tag handle"),
    "no key": (": c\n", (1, 1), "expected key"),
    "key over 1024 characters": ("k" * 2000 + ": a\n", (1, 2001), "mapping values"),
    "line as key": ("x" * 1_000_000 + ": a\n", (1, 1_000_001), "mapping values"),
    "surrogate escape": ('a: "\\ud800"\n', (1, 7), "Unicode"),
}


@pytest.mark.parametrize("case", SYNTAX)
def test_a_syntax_error_is_the_only_finding(read, case: str) -> None:  # type: ignore[no-untyped-def]
    """What was not read after a syntax error is not reported as missing: one finding, at the right place."""
    data, place, part = SYNTAX[case]
    finding = only(read(data))
    assert (finding.rule, at(finding)) == ("IF-ENV-003", place)
    assert part in finding.what


@pytest.mark.parametrize("more", ["---\nname: b\n", "---\n", "--- {}\n"])
def test_a_second_document_is_refused(read, more: str) -> None:  # type: ignore[no-untyped-def]
    """A second document is named where it starts, also an empty one."""
    finding = only(read(DEV + more))
    assert finding.rule == "IF-ENV-003" and "second YAML document" in finding.what
    assert at(finding) == (DEV.count("\n") + 1, 1)


@pytest.mark.parametrize("data", ["- a\n- b: c\n", "[]\n", "hello\n", '"hello"\n', "42\n", '""\n', "true\n"])
def test_the_top_is_a_mapping(read, data: str) -> None:  # type: ignore[no-untyped-def]
    """A list or scalar at the top is one finding at its start."""
    finding = only(read(data))
    assert (finding.rule, at(finding)) == ("IF-ENV-003", (1, 1)) and "top level" in finding.what


@pytest.mark.parametrize(
    ("text", "key", "first"),
    [
        (DEV + "name: b\n", "name", 3),
        (DEV + "pools:\n  other: {}\n", "pools", 28),
        (with_("utilization: 0.5", "utilization: 0.5, utilization: 0.6"), "utilization", 26),
        (with_("      chat: {}", "      chat: {}\n      chat: {capacity: {kind: spot}}"), "chat", 45),
        (DEV + '"name": b\n', "name", 3),
    ],
)
def test_a_duplicate_key_names_both_lines(read, text: str, key: str, first: int) -> None:  # type: ignore[no-untyped-def]
    """A second key of the same name, quoted or not and at any depth, is placed, and names the first one's line."""
    finding = only(read(text))
    assert (finding.rule, finding.value) == ("IF-ENV-006", key)
    assert f"line {first}" in finding.what
    line, column = place_of(text, key, last=True)
    assert at(finding) == (line, column if text[text.rindex(key) - 1] != '"' else column - 1)


def test_each_further_duplicate_is_named(read) -> None:  # type: ignore[no-untyped-def]
    """Three equal keys are two findings, both about the first line."""
    findings = read(with_("owner: ml-platform", "owner: a\nowner: b\nowner: c"))
    assert [(f.rule, f.location.line) for f in findings] == [("IF-ENV-006", 5), ("IF-ENV-006", 6)]
    assert all("line 4" in f.what for f in findings)


def test_anchor_alias_and_merge_are_named_where_they_stand(read) -> None:  # type: ignore[no-untyped-def]
    """One finding for each anchor, alias and `<<`, and none about the value that an alias would have had."""
    assert at(only(read(with_("owner: ml", "owner: &o ml")))) == (4, 8)
    aliased = read(with_("owner: ml-platform", "owner: &o ml\ntags: {a: *o}"))
    assert [(f.rule, f.value, at(f)) for f in aliased] == [("IF-ENV-004", "&o", (4, 8)), ("IF-ENV-004", "*o", (5, 11))]
    merged = read(with_("tiers:", "tiers:\n  <<: *m"))
    assert [(f.rule, f.value, at(f)) for f in merged] == [("IF-ENV-004", "<<", (22, 3)), ("IF-ENV-004", "*m", (22, 7))]
    assert only(read("*a : b\n")).value == "*a"
    assert only(read("*a\n")).value == "*a"


def test_a_quoted_merge_key_is_a_name(read) -> None:  # type: ignore[no-untyped-def]
    """`"<<"` in quotes is a name like any other, and as such not a possible one."""
    assert only(read(with_("tiers:", 'tiers:\n  "<<": {}'))).rule == "IF-ENV-013"


def test_billion_laughs_stays_small(read) -> None:  # type: ignore[no-untyped-def]
    """Ten to the ninth values by aliases cost neither time nor memory; each alias is a finding."""
    bomb = "a0: &a0 [lol]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    findings = read(bomb)
    assert time.process_time() - start < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB
    assert sum(f.rule == "IF-ENV-004" for f in findings) == 100


@pytest.mark.parametrize(
    ("old", "new", "tag"),
    [
        ("owner: ml-platform", "owner: !!python/object/apply:os.system [ls]", "!!python/object/apply:os.system"),
        ("owner: ml-platform", "owner: !!python/object:os.system ls", "!!python/object:os.system"),
        ("owner: ml-platform", "owner: !!binary aGVsbG8=", "!!binary"),
        ("owner: ml-platform", "owner: !x y", "!x"),
        ("owner: ml-platform", "owner: !!null ''", "!!null"),
        ("count: 2", "count: !!int 2", "!!int"),
        ("network: {", "network: !custom {", "!custom"),
        ("tiers:", "tiers: !!python/dict", "!!python/dict"),
        ("chat: {}", "!y chat: {}", "!y"),
        ("      - {metric", "      - !z {metric", "!z"),
    ],
)
def test_a_tag_is_refused_once(read, old: str, new: str, tag: str) -> None:  # type: ignore[no-untyped-def]
    """A tag on a scalar, mapping, list item or key is one finding at the tag, shown as it was written."""
    text = with_(old, new)
    finding = only(read(text))
    assert (finding.rule, at(finding)) == ("IF-ENV-005", place_of(text, tag))
    assert f"the tag {tag} is" in finding.what


def test_harmless_tags_are_read(read) -> None:  # type: ignore[no-untyped-def]
    """`!!str`, `!!map` and the non-specific `!` say what a plain value says."""
    assert read(with_("owner: ml-platform", "owner: !!str 12")) == ()
    assert read(with_("network: {", "network: !!map {")) == ()
    assert read(with_("owner: ml-platform", "owner: ! 12")) == ()


@pytest.mark.parametrize(
    ("text", "place"), [("? [a, b]\n: c\n", (1, 3)), ("{[a]: b}\n", (1, 2)), ("? {a: b}\n: {c: d}\n", (1, 3))]
)
def test_a_complex_key_is_refused(read, text: str, place: tuple[int, int]) -> None:  # type: ignore[no-untyped-def]
    """A list or mapping as key is one finding; its value is skipped."""
    finding = only(read(text))
    assert (finding.rule, at(finding)) == ("IF-ENV-005", place)


@pytest.mark.parametrize(
    "text",
    [
        "{a: " * 10_000 + "}" * 10_000,
        "a: " + "[" * 10_000 + "]" * 10_000,
        "a: " + "[" * 10_000,
        "[" * 10_000,
        "- " * 10_000 + "a",
        "\n".join(" " * depth + "a:" for depth in range(1500)),
    ],
)
def test_deep_nesting_is_one_finding(read, text: str) -> None:  # type: ignore[no-untyped-def]
    """10,000 levels neither recurse nor flood: one finding."""
    finding = only(read(text))
    assert finding.rule == "IF-ENV-003"


def test_depth_limit_is_exact() -> None:
    """The deepest allowed level is read, the next one is refused where it opens."""
    allowed = load_text("a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1))
    assert not [f for f in allowed.findings if f.rule == "IF-ENV-003"]
    refused = load_text("a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert at(only(refused.findings)) == (1, 3 + MAX_DEPTH)


def test_a_megabyte_in_one_line(read) -> None:  # type: ignore[no-untyped-def]
    """A value of a megabyte is shortened in the finding about it."""
    finding = only(read(with_("name: dev", "name: " + "x" * 1_000_000)))
    assert finding.path == ("name",)
    assert all(len(part) < 400 for part in (finding.value, finding.what, finding.fix))


def test_a_long_key_is_one_finding(read) -> None:  # type: ignore[no-untyped-def]
    """A name of 900 characters is one finding, in few words."""
    text = DEV.replace("\n  chat:\n", "\n  " + "k" * 900 + ":\n").replace(
        "      chat: {}", "      " + "k" * 900 + ": {}"
    )
    findings = read(text)
    assert {f.rule for f in findings} == {"IF-ENV-013"}
    assert [f.path[0] for f in findings] == ["pools", "cells"]


@pytest.mark.parametrize("char", ["\x01", "\x07", "\x0b", "\x0c", "\x1b", "\x7f", "\x80", "\x9b", "\uffff"])
def test_a_control_character_is_placed(read, char: str) -> None:  # type: ignore[no-untyped-def]
    """A character that YAML forbids is one finding at the character, also after letters of several bytes."""
    text = with_("owner: ml-platform", f"# äöüäöüäöüäöü\nowner: é{char}x")
    finding = only(read(text))
    assert (finding.rule, at(finding)) == ("IF-ENV-003", (5, 9))


def test_a_control_character_far_into_the_file(read) -> None:  # type: ignore[no-untyped-def]
    """The parser reads ahead in pieces; what it had read when it met the character is not validated."""
    text = "# " + "x" * 200_000 + "\n" + DEV + "# " + "y" * 200_000 + "\nz: \x07\n"
    assert at(only(read(text))) == (text.count("\n"), 4)


@pytest.mark.parametrize("key", ["1", "null", "true", "~", "1.5", "2026-01-01", "on", "yes", '""', "1:30", "0x10"])
def test_a_key_is_text_whatever_it_looks_like(read, key: str) -> None:  # type: ignore[no-untyped-def]
    """Numbers, null, booleans and dates as keys are names: here of a field that does not exist."""
    finding = only(read(DEV + f"{key}: 2\n"))
    assert (finding.rule, finding.path, at(finding)) == ("IF-ENV-010", (key.strip('"'),), (DEV.count("\n") + 1, 1))


@pytest.mark.parametrize("name", ["null", "true", "on", "yes", "n", "off"])
def test_yaml_words_may_be_names(read, name: str) -> None:  # type: ignore[no-untyped-def]
    """A pool may be called `on`: YAML 1.1 would make it true."""
    assert read(DEV.replace("\n  chat:\n", f"\n  {name}:\n").replace("chat: {}", f"{name}: {{}}")) == ()


@pytest.mark.parametrize("word", ["on", "yes", "no", "y", "1:30", "2026-01-01", "1_000", "0b1", "=", "12:30:45", "0o8"])
def test_yaml_1_1_words_stay_text(word: str) -> None:
    """What YAML 1.1 reads as boolean, minutes or date is the text that stands in the file."""
    loaded = load_text(with_("owner: ml-platform", f"owner: {word}"))
    assert loaded.environment is not None and loaded.environment.owner == word


@pytest.mark.parametrize("number", ["1e5", "0777", "1.30", "12", "0x10", "0o7", ".5", ".inf", "-3", "true", "False"])
def test_a_number_as_text_is_to_be_quoted(read, number: str) -> None:  # type: ignore[no-untyped-def]
    """A number or boolean where text is asked for: the fix quotes it exactly as it was written."""
    finding = only(read(with_("owner: ml-platform", f"owner: {number}")))
    assert (finding.rule, finding.fix, at(finding)) == ("IF-ENV-012", f'quote it: "{number}"', (4, 8))


@pytest.mark.parametrize("account", ["111122223333", "011122223333", "0o11122223333"])
def test_an_unquoted_account_id(read, account: str) -> None:  # type: ignore[no-untyped-def]
    """The one fix keeps leading zeros; that the account is unusable is not reported a second time."""
    finding = only(read(with_('"111122223333"', account)))
    assert (finding.dotted_path, finding.fix) == ("accounts.aws.account_id", f'quote it: "{account}"')
    assert at(finding) == (8, 17)


@pytest.mark.parametrize("account", ["1111-2222-3333", "11112222333", "111122223333\\n", "١١١١٢٢٢٢٣٣٣٣", ""])
def test_an_impossible_account_id(read, account: str) -> None:  # type: ignore[no-untyped-def]
    """Twelve ASCII digits and nothing else: no dashes, no other scripts' digits, no line break."""
    finding = only(read(with_('"111122223333"', f'"{account}"')))
    assert finding.rule == "IF-ENV-013" and "twelve digits" in finding.fix


def test_an_unquoted_kubernetes_version(read) -> None:  # type: ignore[no-untyped-def]
    """`1.30` is the number 1.3; the fix has both digits."""
    text = with_("    system_nodes:", "    cluster: {kubernetes: 1.30}\n    system_nodes:")
    finding = only(read(text))
    assert (finding.fix, at(finding)) == ('quote it: "1.30"', place_of(text, "1.30"))


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("on", "write a whole number"),
        ("'2'", "remove the quotes: 2"),
        ("2.0", "write 2"),
        ("1e2", "write 100"),
        ("2.5", "write a whole number"),
        (".inf", "write a whole number"),
        (".nan", "write a whole number"),
        ("1_000", "write a whole number"),
        ("true", "write a whole number"),
        ("null", "write a whole number"),
        ("[1]", "write a whole number"),
        ("{a: 1}", "write a whole number"),
        ("9" * 50, "write a whole number"),
        ("-1", "write a value of at least 1"),
        ("0777", "write a value of at most 100"),
        ("9" * 30, "write a value of at most 100"),
    ],
)
def test_a_count_is_a_whole_number(read, value: str, fix: str) -> None:  # type: ignore[no-untyped-def]
    """Strict: no text, fractions, booleans or lists; the fix fits the mistake, and nothing follows from it."""
    finding = only(read(with_("count: 2", f"count: {value}")))
    assert (finding.dotted_path, at(finding)) == ("cells.use1-a.system_nodes.count", (43, 27))
    assert finding.fix == fix


@pytest.mark.parametrize(
    ("word", "fix"), [("no", "false"), ("Off", "false"), ("yes", "true"), ("ON", "true"), ("y", "true")]
)
def test_yes_and_no_are_not_booleans(read, word: str, fix: str) -> None:  # type: ignore[no-untyped-def]
    """YAML 1.1's booleans are text here; the fix is the word that was meant."""
    finding = only(read(with_("    context_tokens", f"    prefix_caching: {word}\n    context_tokens")))
    assert (finding.rule, finding.fix) == ("IF-ENV-012", f"write {fix}")


def test_text_in_memory_equals_the_file(read) -> None:  # type: ignore[no-untyped-def]
    """load_text and load say the same, also about text that no file can hold."""
    text = with_("owner: ml-platform", "owner: 12")
    assert load_text(text, shown_as="e.yaml").findings == read(text)
    assert only(load_text("a: \ud800\n").findings).rule == "IF-ENV-002"
