"""What was judged, and what rules could not see."""

import re
from collections import Counter
from collections.abc import Iterator

from inferfab.catalog.engines import engine_pairs, vllm_versions
from inferfab.checks.manifest_file_rules import finding
from inferfab.checks.serving.planner import config_of
from inferfab.findings import Finding
from inferfab.manifests.kustomize import PATCH
from inferfab.manifests.model import Manifests, Process, Workload
from inferfab.manifests.nodes import Ref
from inferfab.manifests.processes import version_known
from inferfab.manifests.workloads import is_read

_JUDGED = ("vllm", "dynamo.vllm", "dynamo.frontend", "dynamo.planner")


def judged(manifests: Manifests) -> dict[str, int]:
    """How many of what were judged."""
    programs = Counter(p.module for w in manifests.workloads for p in w.processes if p.program in _JUDGED)
    return {"objects": len(manifests.objects), "workloads": len(manifests.workloads), **dict(sorted(programs.items()))}


def unseen(manifests: Manifests) -> Iterator[Finding]:
    """One remark a place."""
    for workload in manifests.workloads:
        for process in workload.processes:
            yield from _process(manifests, workload, process)
        for container in workload.pod.containers:
            if container.gpus and not any(p.container is container for p in workload.processes):
                what = f"`{workload.name or container.name}` has {container.gpus} GPU(s), and what runs there is not "\
                       "in its command"  # fmt: skip
                yield _remark(container.ref, what, "name the program in `command`, or check it by other means")
    yield from _foreign_kinds(manifests)
    yield from _of_controllers(manifests)
    if not any(p.program in _JUDGED for w in manifests.workloads for p in w.processes) and not (
        manifests.findings or manifests.patches
    ):
        file = manifests.files[0].name if manifests.files else "-"
        what = f"no vLLM or Dynamo process in {len(manifests.objects)} object(s)"
        yield finding("IF-MAN-004", file, what, "name the manifests that run engines")


_ADDITIONAL = "VLLM_ADDITIONAL_ARGS"
_NO_PODS = ("ConfigMap", "Secret", "CustomResourceDefinition", "Kustomization", "DynamoGraphDeployment", "Role",
            "ClusterRole", "Dashboard", "PrometheusRule", "HelmRelease", "Application")  # fmt: skip


def _foreign_kinds(manifests: Manifests) -> Iterator[Finding]:
    """Objects that run engines in pods which only their own controller knows."""
    for one in manifests.objects:
        if is_read(one.kind) or one.kind in _NO_PODS or one.kind.endswith(PATCH):
            continue
        waiting, seen = [one.node.get("spec").value], 0
        while waiting and seen < 5_000:
            value = waiting.pop()
            seen += 1
            if isinstance(value, (dict, list)):
                waiting += value.values() if isinstance(value, dict) else value
            elif isinstance(value, str) and ("vllm" in value or "dynamo." in value):
                what = f"{one.kind} `{one.name}` seems to run an engine, and objects of this kind are not read"
                yield _remark(one.node.key_ref, what, "check the pods that its controller makes")
                break


def _of_controllers(manifests: Manifests) -> Iterator[Finding]:
    """Parts of objects from which their controllers make more than what stands there."""
    for one in manifests.objects:
        spec = one.node.get("spec")
        model = spec.get("predictor", "model")
        runtime = model.get("runtime").text
        runs = f"{model.get('modelFormat', 'name').text} {runtime}"
        if one.kind == "InferenceService" and re.search(r"vllm|huggingface", runs, re.IGNORECASE):
            into = f"runtime `{runtime}`" if runtime else "a runtime that KServe chooses"
            yield _remark(model.key_ref, f"KServe merges `predictor.model` of `{one.name}` (its arguments, environment "
                          f"and resources) into {into}, and the two are not judged together",
                          "check the pod that comes out: `kubectl get pod -o yaml`")  # fmt: skip
        if one.kind == "LLMInferenceService":
            fields = [k for k in ("template", "worker", "parallelism", "prefill", "router", "baseRefs")
                      if spec.get(k).exists]  # fmt: skip
            arguments = [c.env[_ADDITIONAL].ref for w in manifests.workloads if w.file == one.file
                         for c in w.pod.containers if _ADDITIONAL in c.env and w.node is one.node]  # fmt: skip
            named = ", ".join([*(f"`{f}`" for f in fields), *([f"`{_ADDITIONAL}`"] if arguments else [])])
            if named:
                yield _remark(spec.key_ref, f"KServe makes the command of `{one.name}` from its own configuration and "
                              f"from {named}; flags and parallelism that come so are not judged",
                              "check the pods that come out: `kubectl get pod -o yaml`")  # fmt: skip
        groups = [spec.get("leaderWorkerTemplate")] if one.kind == "LeaderWorkerSet" else []
        if one.kind == "DisaggregatedSet":
            groups = [g for role in spec.get("roles").items() for g in (
                role.get("template", "spec", "leaderWorkerTemplate"), role.get("leaderWorkerTemplate"))]  # fmt: skip
        for group in groups:
            if group.get("leaderTemplate").exists and group.get("workerTemplate").exists:
                place = group.get("workerTemplate").key_ref
                what = f"the workers of `{one.name}` are not judged, only their leader"
                yield _remark(place, what, "hold their flags, environment and devices against the leader's")


def _remark(ref: Ref, what: str, fix: str) -> Finding:
    at = ref.at
    return finding("IF-MAN-005", at.file, what, fix, (at.line, at.column), ref.path)


def _process(manifests: Manifests, workload: Workload, process: Process) -> Iterator[Finding]:
    name = workload.name or process.container.name
    if process.program not in _JUDGED:
        yield _remark(process.ref, f"`{name}` runs {process.module}, whose flags are not judged", "check it by other "
                      "means")  # fmt: skip
        return
    if process.options.hidden or any(not o.known for o in process.options.given):
        flags = [o.flag for o in process.options.given if not o.known]
        which = f" ({', '.join(dict.fromkeys(flags))})" if flags else ""
        what = f"part of the command of `{name}` comes from outside of the manifests{which}"
        yield _remark(process.ref, what, "give the values in `env`, or check the rendered command")
    if process.program != "dynamo.planner" and not version_known(process):
        image = process.container.image or "no image"
        tag = process.image.version
        known = tag in vllm_versions() or tag in engine_pairs()
        because = f"what `{image}` holds is not known" if known else f"the version of `{image}` is not in the catalog"
        what = f"flags of `{name}` are judged by near misses only: {because}"
        yield _remark(process.container.image_ref, what, "use a release of the catalog (`inferfab catalog`)")
    if process.program == "dynamo.planner":
        option = process.option("--config")
        elsewhere = option is not None and option.known and bool(option.value) and config_of(
            manifests, workload, process
        )[0] is None  # fmt: skip
        if option is not None and option.value and elsewhere and not option.value.lstrip().startswith("{"):
            what = f"the settings of `{name}` stand in the file {option.value}"
            yield _remark(option.value_ref, what, "give them inline to have them checked")
    config = process.option("--config") if process.program == "vllm" else None
    if config is not None:
        what = f"further flags of `{name}` stand in the file {config.value}"
        yield _remark(config.value_ref, what, "give them on the command line to have them checked")
