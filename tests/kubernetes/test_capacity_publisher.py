"""The number that routing looks at: how it is worked out and how it gets to CloudWatch."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from synth_platform import METRICS, platform_spec, written_stack

from inferfab.kubernetes import cluster_provider
from inferfab.kubernetes.platform import FreeCapacity, Platform
from inferfab.kubernetes.platform.capacity import SERIES
from programs import tool

RULES = yaml.safe_load(platform_spec().capacity.files()["free_capacity_rule.yaml"])


def collector() -> Any:
    files = list(yaml.safe_load_all(platform_spec().capacity.files()["capacity_publisher.yaml"]))
    (config,) = [file for file in files if file and file["kind"] == "ConfigMap"]
    return yaml.safe_load(config["data"]["collector.yaml"])


def test_there_is_one_series_a_tier_and_cell() -> None:
    """With the labels that become CloudWatch's dimensions."""
    rules = RULES["spec"]["groups"][0]["rules"]
    assert [(rule["record"], rule["labels"]) for rule in rules] == [
        ("inferfab:free_capacity:percent", {"cell": "use1-a", "tier": "priority"}),
        ("inferfab:free_capacity:percent", {"cell": "use1-a", "tier": "batch"}),
    ]


def test_the_rule_reads_only_metrics_that_exist() -> None:
    """Names as vLLM 0.31, Dynamo 1.6.1 and kube-state-metrics export them; ``up`` is Prometheus' own."""
    if not METRICS.exists():
        pytest.skip(f"the lists of metrics are not on this machine ({METRICS})")
    exported = {
        metric["name"]
        for name in ("vllm-0.31.0", "dynamo-1.6.1", "kube-state-metrics")
        for metric in json.loads((METRICS / f"{name}.json").read_text())["metrics"]
    }
    used = set(re.findall(r"(?:vllm:|dynamo_|kube_)\w+", FreeCapacity(namespace="x", graphs=("g",)).promql()))
    assert used == {
        "vllm:kv_cache_usage_perc",
        "vllm:num_requests_waiting",
        "vllm:num_requests_running",
        "dynamo_frontend_router_queue_pending_requests",
        "kube_node_info",
        "kube_pod_info",
    }
    assert used <= exported


CASES: list[tuple[str, dict[str, str], float | None]] = [
    ("nothing is scraped", {}, None),
    ("pods are there and none is scraped", {"node x": "1", "pod a": "1"}, None),
    ("the tier has no pods", {"node x": "1", "pod a other": "1"}, 0),
    ("a frontend answers and no engine does", {"node x": "1", "pod a": "1", "up a": "1"}, 0),
    ("the only pod does not answer", {"node x": "1", "pod a": "1", "up a": "0"}, None),
    ("idle", {"up a": "1", "kv a": "0", "run a": "0", "wait a": "0"}, 100),
    ("cache at 60 %", {"kv a": "0.6", "run a": "10", "wait a": "0"}, 40),
    ("three wait in the engine beside nine that run", {"kv a": "0.1", "run a": "9", "wait a": "3"}, 75),
    ("five wait in the router beside five that run", {"kv a": "0.1", "run a": "5", "wait a": "0", "queue a": "5"}, 50),
    ("decode pods full, prefill pods empty", {"kv a": "0", "kv b": "0", "kv c": "1", "kv d": "1", "run a": "9"}, 0),
    ("one hot pod of eight", {f"kv {p}": "1" if p == "a" else "0.2" for p in "abcdefgh"} | {"run a": "9"}, 80),
    ("another tier is full", {"kv a other": "1", "kv a": "0.25", "run a": "4"}, 75),
]
POD = {False: "chat-decode-0a1b2c-0-decode-{}", True: "chat-0a1b2c-0-worker-{}"}
"""Pods of the tier, and of another one whose pool's name is the beginning of the first's."""
METRIC = {
    "kv": 'vllm:kv_cache_usage_perc{{namespace="{}",pod="{}",model_name="m"}}',
    "run": 'vllm:num_requests_running{{namespace="{}",pod="{}",model_name="m"}}',
    "wait": 'vllm:num_requests_waiting{{namespace="{}",pod="{}",model_name="m"}}',
    "up": 'up{{namespace="{}",pod="{}"}}',
    "pod": 'kube_pod_info{{namespace="{}",pod="{}"}}',
    "node": 'kube_node_info{{of="{}",node="{}"}}',
    "queue": 'dynamo_frontend_router_queue_pending_requests{{namespace="{}",pod="{}",model="m"}}',
}


def test_prometheus_works_out_what_we_mean(tmp_path: Path) -> None:
    """Prometheus' own rule tester; expected percentages worked out by hand."""
    promtool = tool("promtool")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": RULES["spec"]["groups"]}))
    subprocess.run([promtool, "check", "rules", "rules.yaml"], cwd=tmp_path, check=True, capture_output=True)
    tests = []
    for name, series, percent in CASES:
        inputs = []
        for key, value in series.items():
            kind, pod, *other = key.split()
            where = METRIC[kind].format("serving", POD[bool(other)].format(pod))
            inputs.append({"series": where, "values": f"{value} {value} {value}"})
        labels = f'{SERIES}{{cell="use1-a", tier="priority"}}'
        expected = [] if percent is None else [{"labels": labels, "value": percent}]
        query = {"expr": f'{SERIES}{{tier="priority"}}', "eval_time": "1m", "exp_samples": expected}
        tests.append({"name": name, "interval": "30s", "input_series": inputs, "promql_expr_test": [query]})
    suite = {"rule_files": ["rules.yaml"], "evaluation_interval": "30s", "fuzzy_compare": True, "tests": tests}
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite))
    result = subprocess.run(
        [promtool, "test", "rules", "suite.yaml"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_collector_reads_that_series_from_prometheus() -> None:
    """From the federate endpoint of the deployed Prometheus, with the rule's own labels."""
    (scrape,) = collector()["receivers"]["prometheus"]["config"]["scrape_configs"]
    assert scrape["metrics_path"] == "/federate"
    assert scrape["params"] == {"match[]": ['{__name__="inferfab:free_capacity:percent"}']}
    assert scrape["honor_labels"] is True
    assert scrape["static_configs"] == [{"targets": ["prometheus-kube-prometheus-prometheus.monitoring:9090"]}]


def test_cloudwatch_gets_the_plans_metric_by_cell_and_tier_only() -> None:
    """Another dimension would be another metric, which no alarm looks at."""
    config = collector()
    (rename,) = config["processors"]["metricstransform"]["transforms"]
    assert (rename["include"], rename["new_name"]) == ("inferfab:free_capacity:percent", "FreeCapacityPercent")
    emf = config["exporters"]["awsemf"]
    assert emf["namespace"] == "Inferfab"
    assert emf["dimension_rollup_option"] == "NoDimensionRollup"
    assert emf["metric_declarations"] == [
        {"dimensions": [["cell", "tier"]], "metric_name_selectors": ["^FreeCapacityPercent$"]}
    ]
    assert emf["log_group_name"] == "/inferfab/prod-use1-a/capacity"


def test_every_part_of_the_pipeline_is_declared_and_used() -> None:
    """The collector refuses to start otherwise."""
    config = collector()
    pipeline = config["service"]["pipelines"]["metrics"]
    for part in ("receivers", "processors", "exporters"):
        assert pipeline[part] == list(config[part])
    assert config["service"]["extensions"] == list(config["extensions"])


def test_its_pods_run_with_nothing_that_they_do_not_need() -> None:
    """No root, no token of the cluster, no writable disk."""
    files = yaml.safe_load_all(platform_spec().capacity.files()["capacity_publisher.yaml"])
    (deployment,) = [file for file in files if file and file["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_helm_accepts_our_charts(tmp_path: Path) -> None:
    """Linted, rendered, and rendered to what we wrote."""
    helm = tool("helm")

    def build(stack: Any) -> None:
        cluster_provider(stack, "prod-use1-a", "us-east-1")
        Platform(stack, "platform", platform_spec())

    folders = sorted(written_stack(build, tmp_path).glob("assets/*/*"))
    assert [folder.name for folder in folders] == ["cell-edge", "cell-objects"]
    for folder in folders:
        subprocess.run([helm, "lint", "--strict", str(folder)], check=True, capture_output=True)
        rendered = subprocess.run(
            [helm, "template", "x", str(folder)], check=True, capture_output=True, text=True
        ).stdout
        ours = [
            document
            for file in sorted((folder / "templates").iterdir())
            for document in yaml.safe_load_all(file.read_text())
            if document
        ]
        theirs = [document for document in yaml.safe_load_all(rendered) if document]
        assert sorted(map(str, theirs)) == sorted(map(str, ours))


def test_helm_leaves_braces_alone(tmp_path: Path) -> None:
    """An alert's text comes out of Helm as it went in."""
    helm = tool("helm")
    from inferfab.kubernetes import LocalChart, LocalChartSpec

    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: "{{ $labels.pod }} {{{{x}}}}"}\n'
    spec = LocalChartSpec(name="braces", description="Braces", files={"a.yaml": text})
    (folder,) = written_stack(lambda stack: LocalChart(stack, "braces", spec), tmp_path).glob("assets/*/*")
    rendered = subprocess.run([helm, "template", "x", str(folder)], check=True, capture_output=True, text=True).stdout
    assert yaml.safe_load(rendered)["data"] == {"a": "{{ $labels.pod }} {{{{x}}}}"}
