"""What can be wrong with a file before anything is known about the fleet. Found while reading."""

from inferfab.checks.registry import Rule, declare

_FORMAT = "inferfab's environment format; YAML 1.2"
_ONE_FILE = "inferfab plans from this file alone."
_WRITE = "write what the message asks for; `inferfab schema` is the whole format, and editors complete from it."

for _id, _title, _why, _do in (
    (
        "IF-ENV-001",
        "the file cannot be read",
        _ONE_FILE,
        "check the path; `inferfab init NAME` writes a starter environment.",
    ),
    ("IF-ENV-002", "the file is not text, or is empty", _ONE_FILE, "save it as UTF-8 YAML."),
    (
        "IF-ENV-003",
        "the file is not YAML",
        "nothing after the place named can be read.",
        "mend the syntax there or on the line before.",
    ),
    (
        "IF-ENV-004",
        "an anchor, alias or merge key",
        "one line would stand for many values: findings could not name a place, and a few lines can expand to "
        "gigabytes.",
        "write the value out where it is used.",
    ),
    (
        "IF-ENV-005",
        "a tag, or a key that is not a name",
        "tags make a YAML reader build objects; this file holds plain values only.",
        "write a plain value.",
    ),
    ("IF-ENV-006", "a key stands twice", "YAML readers keep one of them without a word.", "keep one of the two."),
    (
        "IF-ENV-010",
        "an unknown field",
        "nothing reads it, so what it asks for would silently not happen.",
        "use the field that the message suggests.",
    ),
    ("IF-ENV-011", "a field is missing", "the plan cannot be worked out without it.", _WRITE),
    ("IF-ENV-012", "a value of the wrong type", 'the format is strict: "8" is not 8, and `yes` is not true.', _WRITE),
    ("IF-ENV-013", "a value that is not possible", "no fleet could be built from it.", _WRITE),
    (
        "IF-ENV-014",
        "fields that contradict each other",
        "only one of them can be meant.",
        "change one of the fields named.",
    ),
):
    declare(Rule(_id, _title, "error", ("file", "environment"), _why, _do, _FORMAT, "file"))
