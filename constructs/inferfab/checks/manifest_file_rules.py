"""What can be wrong with manifests as files. Found while reading."""

from inferfab.checks.registry import RULES, Rule, declare
from inferfab.findings import Finding, Location, Severity, YamlPath

_READ = "YAML as kubectl reads it: documents separated by `---` lines"
_KINDS: tuple[tuple[str, str, Severity, str, str], ...] = (
    ("IF-MAN-001", "manifests that cannot be read", "error",
     "what is not read is not checked.", "name files or folders that are there, in UTF-8."),
    ("IF-MAN-002", "a document that is not YAML", "error",
     "kubectl refuses it, and what stands in it was not checked.", "mend the syntax at the place named."),
    ("IF-MAN-003", "a key that stands twice in a manifest", "warning",
     "YAML readers keep one of them without a word: kubectl the last, others the first.", "keep one of the two."),
    ("IF-MAN-004", "manifests without anything to judge", "warning",
     "a check that saw no engine passes whatever is wrong.",
     "name the manifests that run vLLM or Dynamo, rendered if they are templates."),
    ("IF-MAN-005", "something that was not seen", "info",
     "rules stay silent about what stands outside of the manifests, so silence is no proof there.",
     "put it into the manifests, or check it by other means."),
    ("IF-MAN-006", "a template that was not rendered", "warning",
     "its values are not known before it is rendered, so nothing in it was checked.",
     "render it first, and check what comes out."),
)  # fmt: skip

for _id, _title, _severity, _why, _do in _KINDS:
    declare(Rule(_id, _title, _severity, ("file", "pod"), _why, _do, _READ, "manifest file"))


def finding(
    rule: str, file: str, what: str, fix: str, at: tuple[int, int] = (1, 1), path: YamlPath = (), value: str = ""
) -> Finding:
    """A finding of one of these rules."""
    entry = RULES[rule]
    return Finding(
        rule=rule,
        severity=entry.severity,
        location=Location(file=file, line=at[0], column=at[1]),
        path=path,
        value=value,
        what=what,
        why=entry.why,
        fix=fix,
    )
