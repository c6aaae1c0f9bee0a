"""Objects of the autoscaling release, by the schemas of those who read them, closed."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.closed_schema import closed, problems, validator
from conformance.kinds import schema_problems
from conformance.shared_folder import shared
from inferfab.render.autoscaling.files import autoscaling_chart, autoscaling_files
from inferfab.render.chart import chart_folder
from programs import tool

from .fleets import KINDS, cell

CRDS = {
    "ScaledObject": "keda/keda.sh_scaledobjects.yaml",
    "PrometheusRule": "prometheus-operator/monitoring.coreos.com_prometheusrules.yaml",
    "PodMonitor": "prometheus-operator/monitoring.coreos.com_podmonitors.yaml",
}


@cache
def crd(kind: str) -> Any:
    document = yaml.safe_load(shared(f"data/crds/{CRDS[kind]}").read_text(encoding="utf-8"))
    (version,) = [v for v in document["spec"]["versions"] if v["storage"]]
    schema = closed(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    return validator(schema, {})


def documents(kind: str) -> list[dict[str, Any]]:
    return [d for text in autoscaling_files(cell(kind)).values() for d in yaml.safe_load_all(text) if d]


def of_kind(fleet: str, kind: str) -> dict[str, dict[str, Any]]:
    return {d["metadata"]["name"]: d for d in documents(fleet) if d["kind"] == kind}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_readers_take_every_object(kind: str) -> None:
    """KEDA's and prometheus-operator's CRDs, closed; Kubernetes' own kinds by its own schemas, pods included."""
    found = documents(kind)
    assert found
    for one in found:
        told = problems(crd(one["kind"]), one) if one["kind"] in CRDS else schema_problems(one)
        assert told == [], (one["kind"], one["metadata"]["name"])


def test_the_schemas_refuse_what_is_not_there() -> None:
    one = next(iter(of_kind("keda", "ScaledObject").values()))
    wrong = one | {"spec": one["spec"] | {"maxReplicas": 3}}
    assert problems(crd("ScaledObject"), wrong)


@pytest.mark.parametrize("kind", ["keda", "keda-disaggregated", "routed", "claims"])
def test_keda_scales_the_adapter_of_a_component_that_has_one(kind: str) -> None:
    """Target, bounds and graph come from one plan; the other pools have no such object."""
    one = cell(kind)
    expected = {
        f"{graph.pool}-{part.name}": (f"{graph.name}-{part.name}", 2, 6)
        for graph in one.serving.graphs
        for part in graph.components
        if part.scaled and next(p for p in one.pools if p.name == graph.pool).scaling.replicas_owner == "keda"
    }
    scalers = {n: d["spec"] for n, d in of_kind(kind, "ScaledObject").items() if not n.endswith("-room")}
    assert {
        name: (spec["scaleTargetRef"]["name"], spec["minReplicaCount"], spec["maxReplicaCount"])
        for name, spec in scalers.items()
    } == expected
    for spec in scalers.values():
        assert spec["scaleTargetRef"]["kind"] == "DynamoGraphDeploymentScalingAdapter"
        down = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
        assert down["stabilizationWindowSeconds"] == 1800
        assert down["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 600}]


def test_with_the_planner_only_room_is_scaled() -> None:
    assert set(of_kind("planner", "ScaledObject")) == {"p-worker-room"}
    assert not of_kind("fixed", "ScaledObject")
    assert set(of_kind("fixed", "PrometheusRule")) == {"inferfab-autoscaling"}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_empty_answer_is_never_none_at_all(kind: str) -> None:
    """KEDA reads an empty answer as 0 unless told otherwise (kedacore/keda#3065); and holds what is there."""
    for name, one in of_kind(kind, "ScaledObject").items():
        spec = one["spec"]
        assert spec["fallback"]["failureThreshold"] == 3
        room = name.endswith("-room")
        assert spec["fallback"]["behavior"] == ("currentReplicas" if room else "currentReplicasIfHigher")
        for trigger in spec["triggers"]:
            assert trigger["metadata"]["ignoreNullValues"] == "false"
            assert trigger["metadata"]["threshold"] == "1"
            # Every series that is asked for is one that is recorded.
            series = trigger["metadata"]["query"].removeprefix("max(").partition("{")[0]
            recorded = [r["record"] for d in of_kind(kind, "PrometheusRule").values()
                        for g in d["spec"]["groups"] for r in g["rules"]]  # fmt: skip
            assert series in recorded


def test_room_stands_where_workers_stand_and_gives_way() -> None:
    one, rooms = cell("keda-disaggregated"), of_kind("keda-disaggregated", "Deployment")
    assert set(rooms) == {"p-prefill-room", "p-decode-room"}
    (priority,) = of_kind("keda-disaggregated", "PriorityClass").values()
    # Below pods without a class, and not below the autoscaler's cutoff.
    assert -10 <= priority["value"] < 0
    for role in ("prefill", "decode"):
        pod = rooms[f"p-{role}-room"]["spec"]["template"]["spec"]
        group = one.node_group(f"p-{role}")
        assert pod["nodeSelector"] == group.labels
        assert {t["key"] for t in pod["tolerations"]} == set(group.taints)
        assert pod["priorityClassName"] == priority["metadata"]["name"]
        assert pod["terminationGracePeriodSeconds"] == 0
        (container,) = pod["containers"]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == "4"


def test_room_by_claim_asks_for_no_extended_resource() -> None:
    """One owner a device: where workers get GPUs by claim, so does their room."""
    for room in of_kind("claims", "Deployment").values():
        pod = room["spec"]["template"]["spec"]
        (claim,) = pod["resourceClaims"]
        assert claim["resourceClaimTemplateName"] in {c.name for c in cell("claims").serving.claims}
        (container,) = pod["containers"]
        assert container["resources"]["claims"] == [{"name": claim["name"]}]
        assert "nvidia.com/gpu" not in container["resources"]["limits"]


def test_routers_whose_demand_is_read_are_scraped_once() -> None:
    """By the observability release: two monitors of one pod would make every sum twice as large."""
    assert not of_kind("routed", "PodMonitor")
    routers = [c for g in cell("routed").serving.graphs for c in g.components if c.kind == "router"]
    assert {c.name for c in routers} == {"router"}


@pytest.mark.parametrize("kind", ["keda-disaggregated", "routed"])
def test_helm_leaves_the_number_to_keda(kind: str, tmp_path: Path) -> None:
    """Helm in front of no cluster finds no Deployment: none at first. All else is as in the plain files."""
    helm = tool("helm")
    templates, live = autoscaling_chart(cell(kind))
    assert len(live) == len(of_kind(kind, "Deployment"))
    for path, text in chart_folder("autoscaling", "d", templates, live)[0].items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    made = subprocess.run([helm, "template", "a", str(tmp_path)], capture_output=True, text=True, check=True).stdout
    by_name = {(d["kind"], d["metadata"]["name"]): d for d in yaml.safe_load_all(made) if d}
    for deployment in (d for (k, _), d in by_name.items() if k == "Deployment"):
        assert deployment["spec"].pop("replicas") == 0
    assert by_name == {(d["kind"], d["metadata"]["name"]): d for d in documents(kind)}


def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    promtool = tool("promtool")
    for kind in KINDS:
        for name, one in of_kind(kind, "PrometheusRule").items():
            (tmp_path / f"{kind}-{name}.yaml").write_text(yaml.safe_dump(one["spec"]), encoding="utf-8")
    done = subprocess.run(
        [promtool, "check", "rules", "--lint=all", "--lint-fatal", *map(str, sorted(tmp_path.iterdir()))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_component_keeps_its_adapter_with_keda() -> None:
    """The graph of a pool that KEDA scales has an adapter and leaves the number alone, as with the planner."""
    from inferfab.render.serving import chart_files, serving_files

    from .fleets import fleet

    text = serving_files(fleet("keda"), cell("keda"))["graphs/p.yaml"]
    assert "scalingAdapter: {}" in text
    assert "then KEDA's" in text
    _, live = chart_files(fleet("keda"), cell("keda"))
    assert len(live) == 1
    assert "dynamo.planner" not in text
    assert '"advisory": true' in serving_files(fleet("advised"), cell("advised"))["graphs/p.yaml"]


@pytest.mark.parametrize("proof", ["objects", "agreement", "parsers"])
@pytest.mark.parametrize("kind", ["keda", "advised", "routed"])
def test_dynamo_takes_graphs_that_keda_scales(kind: str, proof: str) -> None:
    """Admission, the operator's rules, and Dynamo's own PlannerConfig for a planner that only advises."""
    from conformance.check_files import check_files
    from inferfab.render.serving import serving_files

    from .fleets import fleet

    check_files(serving_files(fleet(kind), cell(kind)), (proof,))


@pytest.mark.parametrize("kind", ["planner", "keda", "keda-disaggregated", "advised", "routed", "claims"])
def test_our_own_rules_of_manifests_find_nothing_about_owners(kind: str, tmp_path: Path) -> None:
    """What is rendered, judged as if somebody else had written it: no second owner, no bounds that contradict."""
    from inferfab.checks.manifests import check_manifests
    from inferfab.manifests.read import read_manifests
    from inferfab.render.serving import serving_files

    from .fleets import fleet

    for path, text in (serving_files(fleet(kind), cell(kind)) | autoscaling_files(cell(kind))).items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    found = check_manifests(read_manifests([tmp_path]))
    assert not [f for f in found.findings if f.rule.startswith("IF-SCL")], found.findings
