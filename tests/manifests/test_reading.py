"""Reading what others wrote: streams, lists, templates, odd files; and the place of every word."""

import io
import sys
from pathlib import Path

import pytest

from inferfab.checks.manifests import check_manifests
from inferfab.manifests.images import image_of
from inferfab.manifests.model import Manifests, human_whole
from inferfab.manifests.quantities import quantity
from inferfab.manifests.read import manifests_from_text, read_manifests

POD = """apiVersion: v1
kind: Pod
metadata: {name: one}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.31.0
      COMMAND
"""


def pod(command: str) -> Manifests:
    return manifests_from_text(POD.replace("COMMAND", command.replace("\n", "\n      ")))


def given(manifests: Manifests) -> dict[str, tuple[str | None, str]]:
    """(value, line:column of it) by flag of the only process."""
    (process,) = [p for w in manifests.workloads for p in w.processes]
    return {
        o.flag: (o.value, f"{o.value_ref.at.line}:{o.value_ref.at.column}") for o in process.options.given
    }  # fmt: skip


STYLES = {
    "list": ('args: [m, --tensor-parallel-size, "2"]', "2", "8:41"),
    "joined": ("args: [m, --tensor-parallel-size=2]", "2", "8:17"),
    "short": ('args: [m, -tp, "2"]', "2", "8:22"),
    "underscores": ('args: [m, --tensor_parallel_size, "2"]', "2", "8:41"),
    "command": ('command: [vllm, serve, m, --tensor-parallel-size, "2"]', "2", "8:57"),
    "module": (
        "command: [/usr/bin/python3, -u, -m, vllm.entrypoints.openai.api_server]\nargs: [-tp, '2']",
        "2",
        "9:19",
    ),
    "literal block": (
        "command: [sh, -c]\nargs:\n  - |\n    exec vllm serve m \\\n      --tensor-parallel-size 2",
        "2",
        "12:36",
    ),
    "folded block": (
        "command: [sh, -c]\nargs:\n  - >-\n    exec vllm serve m\n    --tensor-parallel-size 2",
        "2",
        "12:34",
    ),
    "double quotes": ('command: [bash, -lc, "exec vllm serve m --tensor-parallel-size 2"]', "2", "8:70"),
    "two lines in quotes": (
        'command:\n  - bash\n  - -c\n  - "vllm serve m\n     --tensor-parallel-size 2"',
        "2",
        "12:35",
    ),
    "references": ("args: [m, --tensor-parallel-size, $(TP)]\nenv: [{name: TP, value: '2'}]", "2", "8:41"),
}


@pytest.mark.parametrize(("command", "value", "place"), STYLES.values(), ids=STYLES.keys())
def test_every_way_to_write_a_flag(command: str, value: str, place: str) -> None:
    """The value, and the line and column at which it stands (counted by hand)."""
    assert given(pod(command))["--tensor-parallel-size"] == (value, place)


def test_script_variables_come_from_env() -> None:
    """A shell's variable has the container's value, and is not known where a Secret has it."""
    env = "env:\n  - {name: TP, value: '4'}\n  - name: M\n    valueFrom: {secretKeyRef: {name: s, key: k}}"
    manifests = pod(f'command: [sh, -c, "vllm serve $M -tp $TP"]\n{env}')
    (process,) = manifests.workloads[0].processes
    assert process.value("--tensor-parallel-size") == "4"
    assert [w.known for w in process.options.positional] == [False]


def test_documents_are_apart() -> None:
    """A broken document, a template and a list beside a sound one: that one is judged, each of the others is named."""
    text = (
        "# a comment\n---\n" + POD.replace("COMMAND", "args: [m, --port, x]")
        + "---\na: [\n---\nb: {{ .Values.x }}: {{\n---\n---\nkind: List\nitems:\n- kind: List\n"
        + "  items:\n  - kind: ConfigMap\n"
    )  # fmt: skip
    read = manifests_from_text(text)
    assert [o.kind for o in read.objects] == ["Pod", "ConfigMap"]
    assert [(f.rule, f.location.line) for f in read.findings] == [("IF-MAN-002", 13), ("IF-MAN-006", 14)]
    found = [f for f in check_manifests(read).findings if f.rule == "IF-ENG-001"]
    assert [(f.location.line, f.location.column) for f in found] == [(10, 25)]


def test_line_ends_are_one() -> None:
    """CRLF, as Helm on Windows writes it, moves no place."""
    text = POD.replace("COMMAND", "args: [m, --port, x]")
    places = [
        [str(f.location) for f in check_manifests(manifests_from_text(t)).findings if f.rule == "IF-ENG-001"]
        for t in (text, text.replace("\n", "\r\n"))
    ]
    assert places[0] == places[1] == ["manifests.yaml:8:25"]


def test_anchors_and_merges() -> None:
    """An alias stands where its anchor does; `<<` gives what is not there yet."""
    text = (
        "base: &c\n  name: x\n  image: vllm/vllm-openai:v0.31.0\n  args: [m, --port, x]\n"
        "kind: Pod\nspec:\n  containers:\n    - <<: *c\n      name: y\n    - *c\n"
    )
    read = manifests_from_text(text)
    assert [c.name for w in read.workloads for c in w.pod.containers] == ["y", "x"]
    found = [f for f in check_manifests(read).findings if f.rule == "IF-ENG-001"]
    assert {str(f.location) for f in found} == {"manifests.yaml:4:21"}


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(f'*{before}' for _ in range(10))}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
"""A few hundred bytes that stand for a thousand million values."""


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]",
        "a: *b",
        "? [x]\n: y",
        "[" * 5000,
        "{" * 200 + "}" * 200,
        "- " * 300 + "x",
        "\t- x",
        "%YAML 9.9\n---\na: b",
        BOMB,
        "\x00",
        "kind: 1\nspec: []",
        "kind: Pod\nspec: {containers: {a: b}}",
        "kind: Pod\nspec:\n  containers: [null, 3, [], {}]",
        "kind: DynamoGraphDeployment\nspec: {services: [], components: x}",
        "kind: Deployment\nspec: {template: {spec: {containers: [{args: 7, command: {a: 1}, env: x}]}}}",
        "!!python/object:os.system x",
    ],
    ids=range(16),
)
def test_hostile_text(text: str) -> None:
    """Loops, bombs, towers and wrong types: findings or silence, soon, never an exception."""
    check_manifests(manifests_from_text(text))


def test_folders_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is read to its leaves, tools' own folders are not; `-` is standard input; UTF-16 and BOMs are read."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x.yml").write_bytes(b"\xef\xbb\xbfkind: Service\n")
    (tmp_path / "a" / "y.yaml").write_text("kind: ConfigMap\n", encoding="utf-16")
    (tmp_path / "a" / "notes.txt").write_text("kind: Pod\n", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "z.yaml").write_text("kind: Pod\n", encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"kind: Namespace\n")))
    read = read_manifests([tmp_path, None])
    assert sorted(o.kind for o in read.objects) == ["ConfigMap", "Namespace", "Service"]
    assert read.findings == ()


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """A missing path, an empty folder and bytes that are no text are errors, each one message."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.yaml").write_bytes(b"a: \xff\xfe")
    read = read_manifests([tmp_path / "none.yaml", tmp_path / "empty", tmp_path / "x.yaml"])
    assert [f.rule for f in read.findings] == ["IF-MAN-001"] * 3
    assert not check_manifests(read).ok


def test_nothing_to_judge_is_said() -> None:
    """A check that saw no engine is not a pass without words; a process of another engine is named."""
    assert [f.rule for f in check_manifests(manifests_from_text("kind: Service")).findings] == ["IF-MAN-004"]
    found = check_manifests(pod("command: [python3, -m, sglang.launch_server]")).findings
    assert {f.rule for f in found} == {"IF-MAN-004", "IF-MAN-005"}


def test_a_key_twice() -> None:
    """kubectl keeps the last."""
    read = manifests_from_text("kind: Pod\nkind: Service\n")
    assert [(f.rule, f.location.line) for f in read.findings] == [("IF-MAN-003", 2)]
    assert [o.kind for o in read.objects] == ["Service"]


@pytest.mark.parametrize(
    ("text", "number"),
    [("8Gi", 8 * 2**30), ("500m", 0.5), ("1e3", 1000), ("2E", 2e18), ("1Ei", 2**60), ("0.5", 0.5), ("8 GB", None),
     ("", None)],
)  # fmt: skip
def test_quantities(text: str, number: float | None) -> None:
    """As kubernetes.io documents them."""
    assert quantity(text) == number


@pytest.mark.parametrize(
    ("text", "number"), [("8192", 8192), ("8k", 8000), ("8K", 8192), ("1.5M", 1572864), ("x", None)]
)
def test_numbers_of_vllm(text: str, number: int | None) -> None:
    """Small letters are decimal, large ones binary (vLLM's human_readable_int)."""
    assert human_whole(text) == number


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("vllm/vllm-openai:v0.31.0", ("vllm-openai", None, "0.31.0")),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1-efa-amd64", ("vllm-runtime", "1.6.1", "0.31.0")),
        ("localhost:5000/vllm-runtime", ("vllm-runtime", None, None)),
        ("a/b@sha256:00", ("b", None, None)),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:9.9.9", ("vllm-runtime", "9.9.9", None)),
    ],
)
def test_images(text: str, parts: tuple[str, str | None, str | None]) -> None:
    """Dynamo's tag gives its version, and with it the vLLM that it pins; a registry's port is no tag."""
    image = image_of(text)
    assert (image.name, image.dynamo, image.vllm) == parts


def test_kserve_fills_commands_in() -> None:
    """What an LLMInferenceService without a command starts is its controller's to say: GPUs without a program."""
    text = (
        "kind: LLMInferenceService\nmetadata: {name: x}\nspec:\n  parallelism: {tensor: 4}\n"
        "  template:\n    containers:\n"
        "      - {name: main, image: 'vllm/vllm-openai:v0.33.0', resources: {limits: {nvidia.com/gpu: 4}}}\n"
    )
    found = check_manifests(manifests_from_text(text)).findings
    assert {f.rule for f in found} == {"IF-MAN-004", "IF-MAN-005"}


def test_variants_of_one_folder_are_apart(tmp_path: Path) -> None:
    """Two files with the same objects are two variants: a Service meets the pods of its own file only."""
    for name, port in (("a", 8000), ("b", 9000)):
        (tmp_path / f"{name}.yaml").write_text(
            "kind: Deployment\nmetadata: {name: d}\nspec:\n  selector: {matchLabels: {x: y}}\n  template:\n"
            "    metadata: {labels: {x: y}}\n    spec:\n      containers:\n"
            f"        - {{name: v, image: 'vllm/vllm-openai:v0.33.0', args: [m, --port, '{port}']}}\n"
            f"---\nkind: Service\nmetadata: {{name: d}}\nspec: {{selector: {{x: y}}, ports: [{{port: {port}}}]}}\n",
            encoding="utf-8",
        )
    assert [f.what for f in check_manifests(read_manifests([tmp_path])).findings if f.severity != "info"] == []


@pytest.mark.parametrize(("events", "alarms"), [("true", 1), ("false", 0)])
def test_files_of_config_maps_are_read(events: str, alarms: int) -> None:
    """A router's policy file that a ConfigMap of the stream mounts says whether it wants events."""
    text = (
        "kind: DynamoGraphDeployment\nmetadata: {name: g}\nspec:\n  components:\n"
        "    - name: f\n      type: frontend\n      podTemplate:\n        spec:\n          containers:\n"
        "            - name: main\n              image: nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.6.1\n"
        "              command: [python3, -m, dynamo.frontend]\n"
        "              args: [--router-mode, kv, --router-policy-config, /etc/r/p.yaml]\n"
        "              volumeMounts: [{name: r, mountPath: /etc/r}]\n"
        "          volumes: [{name: r, configMap: {name: router}}]\n"
        "    - name: w\n      type: worker\n      podTemplate:\n        spec:\n          containers:\n"
        "            - name: main\n              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1\n"
        "              command: [python3, -m, dynamo.vllm, --model, m]\n"
        "---\nkind: ConfigMap\nmetadata: {name: router}\ndata:\n  p.yaml: |\n"
        f"    router: {{use_kv_events: {events}}}\n"
    )
    found = [f for f in check_manifests(manifests_from_text(text)).findings if f.rule == "IF-ENG-014"]
    assert len(found) == alarms


def test_a_chart_is_one_finding(tmp_path: Path) -> None:
    """Templates of one folder that were not rendered are named once, with their number."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.yaml").write_text("x: {{ .Values.x }}: {{\n", encoding="utf-8")
    (found,) = read_manifests([tmp_path]).findings
    assert (found.rule, "2 more" in found.what) == ("IF-MAN-006", True)


@pytest.mark.parametrize(("reason", "off"), [("we upgrade in March", 1), ("ok", 0)])
def test_an_annotation_accepts_a_finding(reason: str, off: int) -> None:
    """One rule, for one object, and only with a reason; the report keeps what was switched off."""
    text = POD.replace("{name: one}", f"{{name: one, annotations: {{inferfab/accept.IF-POD-002: {reason}}}}}")
    text = text.replace("COMMAND", "args: [m]").replace(":v0.31.0", ":latest")
    both = f"{text}---\n{text.replace('name: one', 'name: two').replace('IF-POD-002', 'IF-POD-003')}"
    checked = check_manifests(manifests_from_text(both))
    assert [(f.rule, f.accepted, f.path[0]) for f in checked.switched_off] == [("IF-POD-002", reason, "Pod/one")] * off
    assert len([f for f in checked.findings if f.rule == "IF-POD-002"]) == 2 - off
