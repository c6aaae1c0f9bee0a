"""Which objects belong together, and what is said of objects that are not whole."""

from pathlib import Path

import pytest
import yaml

from inferfab.checks.manifests import CheckedManifests, check_manifests
from inferfab.manifests.read import manifests_from_text, read_manifests

SOUND = Path(__file__).parent / "sound"
PAIR = (SOUND / "05-pair-with-inference-pool.yaml").read_text(encoding="utf-8")
SIDE = (SOUND / "16-models-side-by-side.yaml").read_text(encoding="utf-8")


def check(text: str) -> CheckedManifests:
    return check_manifests(manifests_from_text(text))


def whats(text: str, rule: str) -> list[str]:
    return [f.what for f in check(text).findings if f.rule == rule]


def test_pairs_are_not_crossed() -> None:
    """A difference inside of one pair is found beside another pair; it is said of that pair."""
    changed = SIDE.replace("--block-size=128", "--block-size=48", 1)
    assert changed != SIDE
    found = whats(changed, "IF-ENG-004")
    assert len(found) == 1
    assert "pairb-prefill" in found[0]
    assert "pairb-decode" in found[0]


def test_one_difference_is_one_problem() -> None:
    """Thirty decode deployments without what the prefill deployment has: one finding, which counts them."""
    documents = list(yaml.safe_load_all(PAIR))
    pool, prefill, decode = documents
    prefill["spec"]["template"]["spec"]["containers"][0]["args"].append("--kv-cache-dtype=fp8")
    text = [pool, prefill]
    for number in range(30):
        one = yaml.safe_load(yaml.safe_dump(decode))
        one["metadata"]["name"] = f"pair-decode-{number}"
        text.append(one)
    found = whats(yaml.safe_dump_all(text), "IF-ENG-012")
    assert len(found) == 1
    assert found[0].endswith("so it is with 29 more pair(s)")


def test_a_decode_deployment_without_connector_is_still_one() -> None:
    """The same model, labels and pool: not an aggregated deployment that llm-d calls decode."""
    documents = list(yaml.safe_load_all(PAIR))
    second = yaml.safe_load(yaml.safe_dump(documents[2]))
    second["metadata"]["name"] = "pair-decode-2"
    words = second["spec"]["template"]["spec"]["containers"][0]["args"]
    words[:] = [w for w in words if "kv-transfer" not in w]
    assert len(whats(yaml.safe_dump_all([*documents, second]), "IF-ENG-013")) == 1


PATCH = """apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  selector: {matchLabels: {app: none}}
  template:
    spec:
      containers: [{name: vllm, image: "vllm/vllm-openai:v0.33.0", args: [--no-such-flag]}]
"""


@pytest.mark.parametrize(
    "kustomization",
    ["patches: [{path: patch.yaml}]", "patchesStrategicMerge: [./patch.yaml]", "kind: Kustomization\npatches:\n"
     "- path: ../one/patch.yaml"],
)  # fmt: skip
@pytest.mark.parametrize("alone", [True, False])
def test_patches_are_not_judged(tmp_path: Path, kustomization: str, alone: bool) -> None:
    """A file that a kustomization beside it names as patch, given alone or with its folder: one remark."""
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(kustomization, encoding="utf-8")
    (folder / "patch.yaml").write_text(PATCH, encoding="utf-8")
    found = check_manifests(read_manifests([folder / "patch.yaml" if alone else folder])).findings
    assert [(f.rule, f.what) for f in found] == [("IF-MAN-005", "Deployment `chat` is a patch, and no whole object")]
    (folder / "kustomization.yaml").write_text("resources: [patch.yaml]", encoding="utf-8")
    assert "IF-POD-005" in {f.rule for f in check_manifests(read_manifests([folder])).findings}


def test_directives_make_a_patch() -> None:
    """`$patch` stands in patches only."""
    assert [f.rule for f in check(PATCH.replace("spec:\n  sel", "spec:\n  $patch: replace\n  sel")).findings] == [
        "IF-MAN-005"
    ]


MAPS = """kind: ConfigMap
metadata: {name: a, namespace: NAMESPACE}
data: {LEN: 40x96, OTHER: "1"}
---
kind: Pod
metadata: {name: one, namespace: x}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.33.0
      args: [m, --max-model-len, $(LEN)]
"""
DIRECT = "      env: [{name: LEN, valueFrom: {configMapKeyRef: {name: a, key: LEN}}}]\n"
ALL = "      envFrom: [{configMapRef: {name: a}}]\n"


@pytest.mark.parametrize("way", [DIRECT, ALL])
def test_variables_of_config_maps(way: str) -> None:
    """Known where the ConfigMap is among the manifests, in the pod's namespace or without one."""
    for namespace, sure in (("x", True), ('""', True), ("y", False)):
        text = MAPS.replace("NAMESPACE", namespace) + way
        assert bool(whats(text, "IF-ENG-001")) is sure, namespace
    twice = MAPS.replace("NAMESPACE", "x")
    assert whats(twice.partition("---\n")[0] + "---\n" + twice + way, "IF-ENG-001") == []


@pytest.mark.parametrize("old", ["a: [", "b: {{ .Values.x }}: {{"])
def test_an_old_state_that_cannot_be_read(old: str) -> None:
    """Silence would look like no change."""
    found = check_manifests(manifests_from_text(PAIR), manifests_from_text(old, shown_as="old.yaml")).findings
    assert {f.location.file for f in found if f.rule in ("IF-MAN-002", "IF-MAN-006")} == {"old.yaml"}


KSERVE = """apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: a}
spec: {predictor: {model: {modelFormat: {name: vLLM}, runtime: rt, args: [--no-such-flag]}}}
---
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata: {name: b}
spec:
  parallelism: {tensor: 3}
  template: {containers: [{name: main, env: [{name: VLLM_ADDITIONAL_ARGS, value: --no-such-flag}]}]}
  prefill: {template: {containers: [{name: main}]}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: c}
spec:
  leaderWorkerTemplate:
    leaderTemplate: {spec: {containers: [{name: main}]}}
    workerTemplate: {spec: {containers: [{name: main}]}}
"""


def test_what_controllers_make_is_said() -> None:
    """Parts that are merged or started by a controller are named."""
    remarks = whats(KSERVE, "IF-MAN-005")
    assert any("`predictor.model` of `a`" in r and "runtime `rt`" in r for r in remarks)
    assert any(all(w in r for w in ("`parallelism`", "`prefill`", "`VLLM_ADDITIONAL_ARGS`")) for r in remarks)
    assert any("workers of `c`" in r for r in remarks)


@pytest.mark.parametrize(
    ("image", "judged"),
    [
        ("registry.example.com/docker-hub/vllm/vllm-openai:v0.33.0", True),
        ("reg.io/mirror/vllm-openai:v0.33.0", True),
        ("reg.io/mirror/chat-engine:v0.33.0", False),
    ],
)
def test_mirrors(image: str, judged: bool) -> None:
    """vLLM's image from a mirror is judged in full; of another image's content nothing is claimed."""
    text = (
        f"kind: Pod\nspec: {{containers: [{{name: a, image: '{image}', command: [vllm, serve, m, --nothing-like]}}]}}"
    )
    assert bool(whats(text, "IF-ENG-001")) is judged
    remarks = [r for r in whats(text, "IF-MAN-005") if "near misses" in r]
    assert [r.endswith(f"what `{image}` holds is not known") for r in remarks] == ([] if judged else [True])


def test_dotted_flags_are_their_object() -> None:
    """`--kv-transfer-config.kv_role x` is what the whole object would be; a key that is none is named at its place."""
    joined = '--kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"kv_producer"}'
    assert joined in PAIR
    dotted = "--kv-transfer-config.kv_connector=NixlConnector', '--kv-transfer-config.kv_role=kv_producer"
    as_list = yaml.safe_load_all(PAIR.replace(joined, dotted.replace("', '", " ")))
    documents = list(as_list)
    words = documents[1]["spec"]["template"]["spec"]["containers"][0]["args"]
    words[:] = [part for word in words for part in word.split(" ")]
    assert [f.rule for f in check(yaml.safe_dump_all(documents)).findings if f.severity != "info"] == []
    words[:] = [w.replace("kv_role", "kv_rolle") for w in words]
    assert "`--kv-transfer-config` has no key `kv_rolle`" in whats(yaml.safe_dump_all(documents), "IF-ENG-001")
