"""Image tags: what the operator and the next roll-out can tell from them."""

import re
from collections.abc import Iterator

from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.manifest_views import spot
from inferfab.manifests.images import image_of
from inferfab.manifests.model import Manifests

_SEMVER = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+([-+._][0-9A-Za-z.+_-]*)?")


@manifest_rule(
    "IF-POD-001",
    "an image of a graph whose version nobody can tell",
    joins=("pod", "cluster"),
    why="the operator decides by Dynamo's version what it injects; admission refuses a tag that is no version, a "
    "digest, or `latest` (dynamo#10494, #12072).",
    do="use a tag like `1.6.1`, or state `runtimeVersionOverride`.",
    source="ai-dynamo/dynamo deploy/operator/internal/webhook/validation/shared_v1beta1.go @03bd8b47",
)
def graph_images_have_versions(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        if workload.graph is None or workload.node.get("runtimeVersionOverride").exists:
            continue
        main = next((c for c in workload.pod.containers if c.name == "main"), None)
        image = image_of(main.image) if main is not None else None
        if main is None or image is None or not image.known or _SEMVER.fullmatch(image.tag):
            continue
        shown = f"the tag `{image.tag}`" if image.tag else "a digest" if image.digest else "no tag"
        # v1alpha1 is converted; objects that are there already are tolerated.
        severity = "error" if workload.graph.version == "v1beta1" else "warning"
        yield spot(main.image_ref).problem(
            f"the image of `{workload.name}` has {shown}, which is no version",
            'use a version as tag, or add `runtimeVersionOverride: "1.6.1"` to the component',
            value=main.image,
            severity=severity,  # type: ignore[arg-type]
        )


@manifest_rule(
    "IF-POD-002",
    "an engine image that moves",
    severity="warning",
    joins=("pod", "engine"),
    why="two pods of one Deployment may run two versions, and prefill and decode of different versions refuse each "
    "other; no flag can be checked against it either.",
    do="pin a version, or a digest.",
    source="Kubernetes documentation, container images: avoid `latest` in production; vllm#29503",
)
def engine_images_pinned(manifests: Manifests) -> Iterator[Problem]:
    for workload in manifests.workloads:
        if workload.graph is not None:
            continue  # IF-POD-001
        seen = set()
        for process in workload.engines:
            image, container = process.image, process.container
            moving = image.tag in ("", "latest", "nightly", "main", "stable") and not image.digest
            if image.known and moving and container.name not in seen:
                seen.add(container.name)
                yield spot(container.image_ref).problem(
                    f"`{container.image}` of `{workload.name}` is another image tomorrow",
                    "write a version, like `v0.33.0`",
                    value=container.image,
                )
