"""Every name in every expression is exported by the pinned versions, or recorded by us."""

import json
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from inferfab.catalog.metrics import exported, exporters
from inferfab.render.autoscaling.files import autoscaling_files
from render.observability.rules import ENVIRONMENTS, all_rules, fleet

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "metrics"
_WORDS = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right", "bool", "offset"})
_WORDS |= {"and", "or", "unless"}
PROMETHEUS_OWN = {"up"}


def names(expression: str) -> set[str]:
    """Series of an expression: what is left without texts, matchers, label lists, ranges, functions and words."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', expression)
    text = re.sub(r"\{[^}]*\}", "", text)
    text = re.sub(r"\[[^\]]*\]", "", text)
    text = re.sub(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", text)
    text = re.sub(r"\boffset\s+-?\w+", " ", text)
    found = re.findall(r"(?<![\w:.])([a-zA-Z_:][\w:]*)(?!\s*\(|[\w:])", text)
    return {name for name in found if name.lower() not in _WORDS}


def test_the_finder_of_names_finds_names() -> None:
    """By hand, over what expressions here are made of."""
    text = (
        'sum by (cell, pool) (rate(vllm:x_total{pool=~"a|b",le="0.5"}[5m] offset 7d)) / on (cell) group_left (tier)\n'
        '(label_replace(kube_y, "a", "$1", "b", "(.+)") > bool 1e6) unless on () absent(up{x!=""} == 1) and z:w:rate5m'
    )
    assert names(text) == {"vllm:x_total", "kube_y", "up", "z:w:rate5m"}


@cache
def recorded(environment: str) -> frozenset[str]:
    return frozenset(rule["record"] for rule in all_rules(environment) if "record" in rule)


@cache
def recorded_by_autoscaling() -> frozenset[str]:
    """By the release beside, where a pool scales."""
    (cell, *_) = fleet("prod").cells
    rules = yaml.safe_load(autoscaling_files(cell)["forecast-rules.yaml"])
    return frozenset(rule["record"] for group in rules["spec"]["groups"] for rule in group["rules"])


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_rules_read_only_what_exists(environment: str) -> None:
    pair = fleet(environment).engine
    there = exported(pair.dynamo, pair.vllm) | recorded(environment) | PROMETHEUS_OWN | recorded_by_autoscaling()
    for rule in all_rules(environment):
        assert names(rule["expr"]) or rule["expr"].startswith("vector("), rule
        assert names(rule["expr"]) <= there, (names(rule["expr"]) - there, rule)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_what_is_recorded_is_read_or_shown(environment: str) -> None:
    """And is named by our rule of names."""
    for name in recorded(environment):
        assert re.fullmatch(r"inferfab:[a-z_]+:[a-z0-9_]+", name), name


def test_the_catalog_has_the_lists_of_the_shared_folder() -> None:
    """Names were taken over by hand of a tool; none is lost."""
    if not SHARED.is_dir():
        pytest.skip(f"the lists of metrics are not on this machine ({SHARED})")
    for key, file in (("dynamo 1.6.1", "dynamo-1.6.1"), ("vllm 0.31.0", "vllm-0.31.0"), ("keda", "keda")):
        listed = json.loads((SHARED / f"{file}.json").read_text())
        assert {m["name"] for m in listed["metrics"]} <= set(exporters()[key].metrics)
        edges = listed.get("bucket_families", {}).get("time_to_first_token_buckets")
        if edges:
            assert list(exporters()[key].buckets_seconds["vllm:time_to_first_token_seconds"]) == edges


def test_dcgm_exports_the_counters_that_are_read() -> None:
    """An own list takes the place of the shipped one: what an expression reads must be in it."""
    from inferfab.catalog.metrics import dcgm_counters

    listed = {line.split(",")[0] for line in dcgm_counters().splitlines() if not line.startswith("#")}
    used = {n for e in ENVIRONMENTS for r in all_rules(e) for n in names(r["expr"]) if n.startswith("DCGM_")}
    assert used
    assert used <= listed
    assert all(line.count(",") == 2 for line in dcgm_counters().splitlines() if not line.startswith("#"))


def test_names_that_people_assume_are_not_in_the_catalog() -> None:
    """Dead names of older versions (metrics README, section 4)."""
    there = exported("1.6.1", "0.31.0")
    for dead in ("vllm:gpu_cache_usage_perc", "vllm:time_per_output_token_seconds", "dynamo_frontend_kv_hit_rate"):
        assert dead not in there


def test_yaml_is_one_document_each() -> None:
    for environment in ENVIRONMENTS:
        assert yaml.safe_dump(all_rules(environment))


_TARGET = {
    "cell", "tier", "pool", "route", "component", "namespace", "pod", "node", "container", "job", "instance",
    "endpoint", "dynamo_namespace", "dynamo_component_type",
}  # fmt: skip
"""Given by Prometheus and our monitors, whatever the exporter says."""
_NOT_LISTED = {
    # The list has it in words only.
    "DCGM_EXP_XID_ERRORS_COUNT": {"xid"},
    # Labels of nodes, by the platform's allow list of kube-state-metrics.
    "kube_node_labels": {"label_inferfab_cell", "label_inferfab_pool", "label_inferfab_role"},
}


@cache
def labels_of_exporters() -> dict[str, frozenset[str]]:
    """By the lists of the shared folder; of a series that several export, all."""
    if not SHARED.is_dir():
        pytest.skip(f"the lists of metrics are not on this machine ({SHARED})")
    found: dict[str, frozenset[str]] = {}
    for file in sorted(SHARED.glob("*.json")):
        for metric in json.loads(file.read_text())["metrics"]:
            told = frozenset(name for name in metric.get("labels") or () if re.fullmatch(r"\w+", name))
            if told:
                found[metric["name"]] = found.get(metric["name"], frozenset()) | told
    return found


def asked_labels(expression: str) -> list[tuple[str, set[str]]]:
    """Series, with the labels by which it is chosen or summed: `by (a, b) (rate(series{c="d"}[5m]))`."""
    found = []
    for name, chosen in re.findall(r"([a-zA-Z_:][\w:]*)\{([^}]*)\}", expression):
        found.append((name, set(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", re.sub(r'"(?:\\.|[^"\\])*"', '""', chosen)))))
    for by, name in re.findall(r"\bby \(([^)]*)\)\s*\((?:(?!label_replace)\w+\()*\s*([a-zA-Z_:][\w:]*)", expression):
        found.append((name, {label.strip() for label in by.split(",") if label.strip()}))
    return found


def test_labels_are_read_out_of_expressions() -> None:
    text = 'sum by (a, b) (rate(x_total{c=~"d=e",f!=""}[5m]))'
    assert asked_labels(text) == [("x_total", {"c", "f"}), ("x_total", {"a", "b"})]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_rules_read_only_labels_that_series_have(environment: str) -> None:
    """A label that a series lacks is no error in Prometheus: the sum is one, or the choice is empty."""
    there, judged = labels_of_exporters(), 0
    for rule in all_rules(environment):
        for name, labels in asked_labels(rule["expr"]):
            known = there.get(name) or there.get(re.sub(r"_(bucket|sum|count)$", "", name))
            if known is not None:
                judged += 1
                assert labels <= known | _TARGET | _NOT_LISTED.get(name, {"le"}), (name, labels - known, rule)
    assert judged > 20
