"""From paths to everything that rules look at."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePath

from inferfab.checks.manifest_file_rules import finding
from inferfab.findings import Finding
from inferfab.manifests.config_maps import give_config_maps
from inferfab.manifests.documents import Document, read_documents
from inferfab.manifests.files import TextFile, from_text, read_files
from inferfab.manifests.graphs import components_of, graph_of
from inferfab.manifests.kustomize import without_patches
from inferfab.manifests.model import Graph, Manifests, Workload
from inferfab.manifests.objects import objects_of
from inferfab.manifests.workloads import workloads_of


def read_manifests(paths: Iterable[Path | None]) -> Manifests:
    """Read files, folders and (None) standard input. Bad content is never an exception; it is a finding."""
    files, problems = read_files(paths)
    return _manifests(files, problems)


def manifests_from_text(text: str, *, shown_as: str = "manifests.yaml") -> Manifests:
    """The same for text that is already in memory."""
    return _manifests([from_text(shown_as, text)], [])


def _manifests(files: list[TextFile], problems: list[Finding]) -> Manifests:
    findings = list(problems)
    documents: list[Document] = []
    for file in files:
        for read in read_documents(file):
            if isinstance(read, Finding):
                findings.append(read)
            else:
                documents.append(read)
                findings += _environment(read)
    objects, patches = without_patches(objects_of(documents), documents)
    give_config_maps(objects)
    graphs: list[Graph] = []
    workloads: list[Workload] = []
    for one in objects:
        graph = graph_of(one)
        if graph is not None:
            graphs.append(graph)
            workloads += components_of(one, graph)
        else:
            workloads += workloads_of(one)
    return Manifests(
        files=tuple(files),
        objects=objects,
        workloads=tuple(workloads),
        graphs=tuple(graphs),
        findings=tuple(_one_a_folder(findings)),
        patches=tuple(patches),
    )


def _environment(document: Document) -> list[Finding]:
    """One of inferfab's own environments is no manifest."""
    keys = set(document.tree) if isinstance(document.tree, dict) else set()
    if "kind" in keys or len(keys & {"cells", "pools", "models"}) < 2:
        return []
    name = document.file.name
    fix = f"remove `--manifests`: `inferfab check {name}`"
    return [finding("IF-MAN-004", name, "is an environment of inferfab, and no manifest", fix)]


def _one_a_folder(findings: list[Finding]) -> list[Finding]:
    """A chart that was not rendered is one thing to say, however many templates it has."""
    first: dict[PurePath, Finding] = {}
    counts: Counter[PurePath] = Counter()
    for each in findings:
        if each.rule == "IF-MAN-006":
            folder = PurePath(each.location.file).parent
            first.setdefault(folder, each)
            counts[folder] += 1
    kept = []
    for each in findings:
        folder = PurePath(each.location.file).parent
        if each.rule != "IF-MAN-006":
            kept.append(each)
        elif first[folder] is each:
            more = counts[folder] - 1
            what = each.what + (f", and {more} more in its folder" if more else "")
            kept.append(each.model_copy(update={"what": what}))
    return kept
