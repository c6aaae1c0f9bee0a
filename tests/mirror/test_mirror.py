"""`images.mirror`: nothing that is rendered or told to a chart names another host, and the list has all of it."""

import io
import json
import os
import re
import stat
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from inferfab import check, load_text
from inferfab.catalog.chart_images import chart_images
from inferfab.catalog.charts import charts
from inferfab.mirror.inventory import Inventory, inventory, public_of
from inferfab.mirror.namespaces import namespaces_text
from inferfab.mirror.references import references_of
from inferfab.mirror.script import mirror_script
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.images import ImageSource
from inferfab.render.mirrored_values import UnknownChart, mirrored_values
from inferfab.render.rendering import rendered_files
from inferfab.render.text.images import print_images
from inferfab.synthesis import synthesize
from programs import tool

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ("dev", "staging", "prod", "prod-gcp", "prod-global", "prod-hybrid")
MIRROR = "111122223333.dkr.ecr.us-east-1.amazonaws.com/mirror"
SOURCE = ImageSource(mirror=MIRROR, pull_secret="registry-login")
CHARTS = ROOT.parent / "shared" / "data" / "charts"
HOSTS = re.compile(
    r"(?<![\w./-])((?:[a-z0-9-]+\.)*(?:nvcr\.io|quay\.io|ghcr\.io|docker\.io|registry\.k8s\.io|public\.ecr\.aws|gcr\.io|"
    r"pkg\.dev|dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com))(?=$|[/:])"
)
"""Hosts of public registries at the beginning of a reference."""


@cache
def fleet(name: str, mirror: str | None = MIRROR, secret: str | None = "registry-login") -> FleetPlan:
    tree = yaml.safe_load((ROOT / "environments" / f"{name}.yaml").read_text(encoding="utf-8"))
    tree["images"] = {key: value for key, value in (("mirror", mirror), ("pull_secret", secret)) if value}
    plan = check(load_text(yaml.safe_dump(tree))).plan
    assert plan is not None
    return plan


@cache
def listed(name: str) -> Inventory:
    return inventory(fleet(name))


def pods(text: str) -> Iterator[dict[str, Any]]:
    """Pod specs anywhere in the objects of a text: whatever has containers with images."""

    def walk(node: Any) -> Iterator[dict[str, Any]]:
        if isinstance(node, dict):
            if isinstance(node.get("containers"), list):
                yield node
            for value in node.values():
                yield from walk(value)
        elif isinstance(node, list):
            for item in node:
                yield from walk(item)

    for document in yaml.safe_load_all(text):
        yield from walk(document)


@pytest.mark.parametrize("name", ["prod", "prod-gcp"])
def test_a_pull_secret_can_stand_in_every_namespace_before_the_first_release(name: str, tmp_path: Path) -> None:
    """Helm takes over a namespace that is there only with its release's name and namespace on it; those that no chart
    of ours has are made where there are none, and must not look like some release's.
    """
    out = tmp_path / "out"
    synthesize(fleet(name), out)
    brought = {}
    for stack in (out / "stacks").glob("*/cdk.tf.json"):
        for release in json.loads(stack.read_bytes()).get("resource", {}).get("helm_release", {}).values():
            folder = stack.parent / release["chart"].removeprefix("${path.module}/")
            for file in folder.glob("templates/*namespaces*.yaml"):
                for body in yaml.safe_load_all(file.read_text(encoding="utf-8")):
                    brought[body["metadata"]["name"]] = (release["name"], release["namespace"], body["metadata"])
    assert brought.keys() >= {"serving", "gateway"}
    written = {body["metadata"]["name"]: body for body in yaml.safe_load_all(namespaces_text(listed(name))) if body}
    assert written.keys() == set(listed(name).namespaces) - {"kube-system"}
    assert written.keys() >= {"serving", "monitoring", "cert-manager"}
    for place, body in written.items():
        assert (body["apiVersion"], body["kind"]) == ("v1", "Namespace")
        meta = body["metadata"]
        if place not in brought:
            assert meta == {"name": place}
            continue
        release, kept_in, chart = brought[place]
        assert meta["labels"] == {**chart["labels"], "app.kubernetes.io/managed-by": "Helm"}
        assert meta["annotations"] == {
            **chart["annotations"],
            "meta.helm.sh/release-name": release,
            "meta.helm.sh/release-namespace": kept_in,
        }


def test_images_says_what_to_do_for_a_pull_secret_in_its_order() -> None:
    """Namespaces first, then a Secret in each, all before the platform."""
    console = Console(width=200, file=io.StringIO())
    print_images(console, listed("prod"), SOURCE)
    assert isinstance(console.file, io.StringIO)
    said = [line.strip() for line in console.file.getvalue().splitlines()]
    first = said.index("inferfab images prod --namespaces namespaces.yaml")
    assert "before its platform" in said[first - 1]
    assert said[first + 1] == "kubectl apply -f namespaces.yaml"
    assert said[first + 2 :] == [
        f"kubectl create secret generic registry-login --namespace {place} --type kubernetes.io/dockerconfigjson "
        "--from-file .dockerconfigjson=config.json"
        for place in listed("prod").namespaces
    ]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_rendered_image_comes_from_the_mirror(name: str) -> None:
    """Also NCCL's plugin, drivers and NVIDIA's operators; and each is in the list of `inferfab images`."""
    known = {one.reference for one in listed(name).images}
    seen = 0
    for path, text in rendered_files(fleet(name)).items():
        if "/charts/" in path or not path.endswith(".yaml") or "/nodes/" in path or "/switches/" in path:
            continue
        for one in references_of(text):
            if one.never_pulled:
                continue
            seen += 1
            assert one.reference.startswith(f"{MIRROR}/"), (path, one)
            assert public_of(one.reference, SOURCE) in known, (path, one)
        for pod in pods(text):
            assert pod["imagePullSecrets"] == [{"name": "registry-login"}], path
    assert seen > 3


def test_the_walk_sees_what_a_plain_search_sees() -> None:
    """`references_of` against every word of the files that begins with a registry's host."""
    for name in ("prod", "prod-gcp", "prod-hybrid"):
        public = fleet(name, None, None)
        for path, text in rendered_files(public).items():
            if "/charts/" in path or not path.endswith(".yaml"):
                continue
            words = {w for w in re.findall(r"[^\s'\"]+", text) if HOSTS.match(w) and ":" in w and "://" not in w}
            assert words <= {one.reference for one in references_of(text)}, path


def test_shapes_of_references() -> None:
    """A pod's image, one in parts below a common place, a variable, and one that is never pulled."""
    text = """
kind: NicClusterPolicy
metadata: {name: a}
spec:
  global: {repository: r.example/x, version: v1}
  ofedDriver: {image: doca-driver, version: v2}
  multus: {image: multus-cni}
---
kind: Pod
metadata: {name: b}
spec:
  containers:
    - {image: "r.example/y:1", imagePullPolicy: Never}
    - image: {{ if x }}1{{ end }}
    - {image: 'r.example/z@sha256:0', env: [{name: SIDE_IMAGE, value: 'r.example/s:3'}, {name: IMAGE, value: no}]}
    - {imageOfACat: cat/dog, baseImage: r.example/base:4}
"""
    found = [(one.reference, one.user, one.never_pulled) for one in references_of(text)]
    assert found == [
        ("r.example/x/doca-driver:v2", "NicClusterPolicy a", False),
        ("r.example/x/multus-cni:v1", "NicClusterPolicy a", False),
        ("r.example/y:1", "Pod b", True),
        ("r.example/z@sha256:0", "Pod b", False),
        ("r.example/s:3", "Pod b", False),
        ("r.example/base:4", "Pod b", False),
    ]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_value_of_a_chart_names_another_host(name: str) -> None:
    """Read from the stacks' own Terraform: repositories of charts, and all that their values say."""
    found = listed(name)
    assert found.charts
    for use in found.charts:
        assert use.installed_from == f"oci://{MIRROR}/charts"
        assert not use.public.startswith(f"oci://{MIRROR}")
        for values in use.values:
            for text in _texts(values):
                match = HOSTS.search(text)
                assert match is None or text.startswith(f"{MIRROR}/"), (use.chart, text)
    for one in found.images:
        assert one.pulled_from == f"{MIRROR}/{one.public}", one


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from _texts(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _texts(value)


OFF = {
    "kube-prometheus-stack": {
        "prometheusOperator.admissionWebhooks.deployment.image": "a deployment of its own is off",
        "prometheusOperator.thanosImage": "no Thanos",
        "thanosRuler": "no Thanos",
    },
    "gpu-operator": {
        **dict.fromkeys(("driver", "toolkit"), "the node's image brings them"),
        "dcgm": "the exporter has its own",
        **dict.fromkeys(("gds", "gdrcopy"), "off"),
        **dict.fromkeys(
            ("vgpuManager", "vgpuDeviceManager", "vfioManager", "kataManager", "sandboxDevicePlugin",
             "kataSandboxDevicePlugin", "kubevirtDevicePlugin", "ccManager", "draDriver", "migManager"), "off",
        ),
    },
    "dynamo-platform": {"etcd": "not installed", "nats": "not installed"},
    "network-operator": {
        "maintenance-operator-chart": "off", "node-feature-discovery": "the GPU operator's",
        "sriov-network-operator": "devices are shared",
    },
}  # fmt: skip
"""Parts of charts that are off in the environment below, with the reason."""
SUBCHARTS = {
    ("kube-prometheus-stack", "grafana"), ("kube-prometheus-stack", "kube-state-metrics"),
    ("kube-prometheus-stack", "prometheus-node-exporter"), ("gpu-operator", "node-feature-discovery"),
    ("dynamo-platform", "grove"),
}  # fmt: skip
"""Charts that a chart brings, whose own values files are not at hand."""


@pytest.mark.parametrize("chart", sorted({use for name in ("prod", "prod-hybrid") for use in chart_images()}))
def test_the_charts_own_values_keep_no_public_host(chart: str) -> None:
    """Their real values files under what we write: what still names a public registry is off, and said to be."""
    names = {"dynamo-platform": "dynamo-platform-1.2.0-fork"}
    file = CHARTS / f"{names.get(chart, chart)}.values.yaml"
    if not file.exists():
        pytest.skip(f"the chart's values file is not on this machine ({file.name})")
    uses = {use.chart: use for use in (*listed("prod-hybrid").charts, *listed("prod").charts)}
    if chart not in uses:
        pytest.skip("no shipped environment installs it")
    values = uses[chart].values[0]
    merged = _merged(yaml.safe_load(file.read_text(encoding="utf-8")), values)
    off = OFF.get(chart, {})
    left = [
        (path, text)
        for path, text in _leaves(merged)
        if HOSTS.match(text) and not text.startswith(f"{MIRROR}") and not any(path.startswith(part) for part in off)
    ]
    assert not left


def _merged(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}
    return above


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key not in ("comments", "description"):
                yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, str):
        yield path, tree


MOVING = ("busybox", "docker.io/envoyproxy/ratelimit:master")
"""What charts take by a moving tag or by none, and we by a fixed one (charts.yaml, images)."""


@pytest.mark.parametrize("chart", sorted(chart_images()))
def test_the_catalogs_images_are_those_of_the_values_files(chart: str) -> None:
    """Each path that we set is there, and where the file has a tag, the catalog has the same."""
    names = {"dynamo-platform": "dynamo-platform-1.2.0-fork"}
    file = CHARTS / f"{names.get(chart, chart)}.values.yaml"
    if not file.exists():
        pytest.skip(f"the chart's values file is not on this machine ({file.name})")
    real = yaml.safe_load(file.read_text(encoding="utf-8"))
    for one in chart_images()[chart].images:
        for path, part in one.set.items():
            above, _, key = path.rpartition(".")
            here = _at(real, above)
            if here is None or (chart, path.split(".")[0]) in SUBCHARTS:
                # Values of a chart that this one brings.
                assert (chart, path.split(".")[0]) in SUBCHARTS, path
                continue
            assert key in here, (chart, path)
            host, _, rest = one.image.partition("/")
            stated = here[key]
            if chart == "network-operator":
                stated = str(stated).replace("nvstaging", "nvidia").replace("-rc.1", "")
            expected = {
                "repository": one.image, "registry": host, "path": rest, "folder": one.image.rpartition("/")[0],
                "reference": f"{one.image}:{one.tag}", "tag": one.tag,
            }[part]  # fmt: skip
            if stated not in ("", None) and not str(stated).startswith("${") and part != "tag":
                assert str(stated) in (expected, expected.replace("docker.io/library/", ""), *MOVING), (chart, path)
            tag = here.get("tag") or here.get("version")
            if tag and part in ("repository", "registry", "folder") and one.tag and chart != "network-operator":
                assert one.tag.startswith(str(tag)) or tag == "latest", (chart, path, tag)


def _at(tree: Any, path: str) -> Any:
    for key in path.split(".") if path else ():
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def test_every_chart_of_the_catalog_has_its_images() -> None:
    """A chart that is installed and not listed here could not be mirrored."""
    assert {chart.chart for chart in charts().values()} <= set(chart_images())


def test_without_a_mirror_nothing_changes() -> None:
    """Values are those of before; a chart that nobody knows is refused only where it would have to be told."""
    values: dict[str, Any] = {"a": {"b": 1}}
    assert mirrored_values("some-chart", values, ImageSource()) is values
    with pytest.raises(UnknownChart, match="some-chart"):
        mirrored_values("some-chart", values, SOURCE)
    assert mirrored_values("keda", {"image": {"pullPolicy": "IfNotPresent"}}, SOURCE)["image"] == {
        "pullPolicy": "IfNotPresent",
        **{part: {"registry": f"{MIRROR}/ghcr.io"} for part in ("keda", "metricsApiServer", "webhooks")},
    }


@pytest.mark.parametrize(
    ("public", "pulled"),
    [
        ("busybox:1", "m.example/a/docker.io/library/busybox:1"),
        ("team/tool", "m.example/a/docker.io/team/tool"),
        ("quay.io/x/y:2@sha256:0f", "m.example/a/quay.io/x/y:2@sha256:0f"),
        ("localhost:5000/x", "m.example/a/localhost:5000/x"),
    ],
)
def test_where_an_image_stands_in_a_mirror(public: str, pulled: str) -> None:
    """Hosts are those of the reference grammar: a first part with a dot, a port, or localhost."""
    assert ImageSource(mirror="m.example/a").reference(public) == pulled
    assert ImageSource().reference(public) == public


def test_the_older_field_still_moves_engines_alone() -> None:
    """`engine.image_registry` goes by the last part of the name; charts keep their own registries."""
    source = ImageSource(engine_registry="r.example/nv/")
    assert source.engine("nvcr.io/nvidia/ai-dynamo/vllm-runtime") == "r.example/nv/vllm-runtime"
    assert source.repository("quay.io/a") == "quay.io/a"
    assert source.charts is None


# The script


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Stand-ins for helm, skopeo, crane, docker and aws, which note how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    bodies = {
        "skopeo": 'case "$1" in inspect) grep -qxF "$3" "$HERE/there" ;; esac',
        "crane": '[ "$1" != digest ]',
        "docker": '[ "$3" != inspect ]',
        "aws": '[ "$2" != describe-repositories ]',
        "helm": 'case "$1" in pull) while [ "$1" != --destination ]; do shift; done; touch "$2/c.tgz" ;; '
        'show) exit 1 ;; template) [ -f "$HERE/rendered" ] && cat "$HERE/rendered" ;; esac',
    }
    for name, body in bodies.items():
        file = folder / name
        # What is piped in is a password.
        file.write_text(
            f'#!/bin/sh\nHERE="{tmp_path}"\nprintf "%s\\n" "{name} $*" >>"$HERE/calls"\n'
            f'case "$*" in *--password-stdin*) cat >/dev/null ;; esac\n{body}\n'
        )
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "there").write_text("")
    (tmp_path / "rendered").write_text("")
    return tmp_path


def run_script(tools: Path, text: str, **more: str) -> tuple[int, str, list[str]]:
    script = tools / "mirror.sh"
    script.write_text(text)
    environment = {**os.environ, "PATH": f"{tools / 'bin'}:{os.environ['PATH']}", **more}
    done = subprocess.run(["/bin/sh", str(script)], env=environment, capture_output=True, text=True, check=False)
    calls = tools / "calls"
    return done.returncode, done.stderr, calls.read_text().splitlines() if calls.exists() else []


def test_the_script_copies_images_and_charts(tools: Path) -> None:
    """All of the list, each with its repository first; what is there is left alone; digests are kept."""
    found = listed("dev")
    there = next(one.reference for one in found.images if "keda:" in one.reference)
    (tools / "there").write_text(f"docker://{MIRROR}/{there}\n")
    code, err, calls = run_script(tools, mirror_script(found, SOURCE))
    assert code == 0, err
    copies = {line.split()[-1] for line in calls if line.startswith("skopeo copy")}
    wanted = {f"docker://{MIRROR}/{one.reference}" for one in found.images if one.tag and one.reference != there}
    assert copies == wanted
    assert all("--all --preserve-digests" in line for line in calls if line.startswith("skopeo copy"))
    made = {line.split("--repository-name ")[1].split()[0] for line in calls if "create-repository" in line}
    assert {f"mirror/{one.public}" for one in found.images if one.tag} <= made
    assert {f"mirror/charts/{use.chart}" for use in found.charts} <= made
    assert sum(line.startswith("helm push") for line in calls) == len(found.charts)
    assert "helm pull keda --repo https://kedacore.github.io/charts --version 2.20.2" in "\n".join(calls)
    assert "helm pull oci://quay.io/jetstack/charts/cert-manager --version v1.21.2" in "\n".join(calls)
    assert any(line.startswith("skopeo login --username AWS") for line in calls)


def test_the_script_asks_the_real_chart(tools: Path) -> None:
    """A tag that only the chart knows is copied; an image from elsewhere makes the script fail and say so."""
    text = mirror_script(listed("dev"), SOURCE)
    (tools / "rendered").write_text(
        f'spec:\n  containers:\n    - image: "{MIRROR}/quay.io/prometheus/node-exporter:v9"\n      name: x\n'
    )
    code, err, calls = run_script(tools, text)
    assert code == 0, err
    assert f"docker://{MIRROR}/quay.io/prometheus/node-exporter:v9" in "\n".join(calls)
    (tools / "rendered").write_text("    image: quay.io/forgotten/thing:1\n")
    code, err, _ = run_script(tools, text)
    assert code == 1
    assert "quay.io/forgotten/thing:1" in err


def test_other_tools_and_registries(tools: Path) -> None:
    """crane and docker copy too; outside of ECR nobody calls AWS; another word is refused."""
    source = ImageSource(mirror="registry.example.com:5000/all")
    text = mirror_script(inventory(fleet("dev", source.mirror, None)), source)
    for program, copy in (("crane", "crane copy "), ("docker", "docker buildx imagetools create --tag ")):
        (tools / "calls").unlink(missing_ok=True)
        code, err, calls = run_script(tools, text, COPY_WITH=program)
        assert code == 0, err
        assert any(line.startswith(copy) for line in calls)
        assert not any(line.startswith("aws ") for line in calls)
    code, err, _ = run_script(tools, text, COPY_WITH="rsync")
    assert code == 2
    assert "rsync" in err


def test_a_login_where_images_come_from(tools: Path) -> None:
    """The EFA plugin's image is in AWS's own ECR, which wants one whatever the mirror is."""
    code, err, calls = run_script(tools, mirror_script(listed("prod"), SOURCE))
    assert code == 0, err
    host = "602401143452.dkr.ecr.us-west-2.amazonaws.com"
    assert f"skopeo login --username AWS --password-stdin {host}" in calls
    assert "aws ecr get-login-password --region us-west-2" in calls


def test_images_of_a_chart_as_helm_renders_it(tools: Path, tmp_path: Path) -> None:
    """The step that asks the chart, with the real helm and a chart of three ways to write an image."""
    helm = tool("helm")
    chart = tmp_path / "c"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("image: {registry: quay.io}\n")
    (chart / "templates" / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n"
        f"    - image: {MIRROR}/quay.io/a/b:1\n      name: a\n"
        f'    - name: b\n      image: "{MIRROR}/quay.io/c/d:2"\n'
        "    - name: c\n      image: {{ .Values.image.registry }}/left/out:3\n"
    )
    stand_in = tools / "bin" / "helm"
    stand_in.write_text(
        f'#!/bin/sh\ncase "$1" in\n  pull) while [ "$1" != --destination ]; do shift; done; '
        f'"{helm}" package "{chart}" --destination "$2" >/dev/null ;;\n  template) exec "{helm}" "$@" ;;\n'
        "  show) exit 1 ;;\n  registry) cat >/dev/null ;;\nesac\n"
    )
    found = listed("dev").model_copy(update={"images": (), "charts": listed("dev").charts[:1]})
    code, err, calls = run_script(tools, mirror_script(found, SOURCE))
    copied = [line.split()[-1] for line in calls if line.startswith("skopeo copy")]
    assert copied == [f"docker://{MIRROR}/quay.io/{name}" for name in ("a/b:1", "c/d:2")]
    assert code == 1 and "quay.io/left/out:3" in err
