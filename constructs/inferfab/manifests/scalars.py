"""The place of one word inside of a scalar: a flag in a shell script has a line of its own."""

from inferfab.findings import Location
from inferfab.manifests.nodes import Node, Ref


def ref_in(node: Node, offset: int, raw: str) -> Ref:
    """Where ``raw``, which begins at ``offset`` of the scalar's text, stands in the file.

    Exact in a literal block (``|``). In folded and quoted scalars the same occurrence of the same text is looked for;
    where escapes hide it, the scalar itself is the place.
    """
    whole = node.ref
    mark = node.document.marks.get(node.path)
    text = node.text or ""
    if mark is None or not raw:
        return whole
    lines = node.document.file.lines
    if mark.style == "|":
        number = text.count("\n", 0, offset)
        start = text.rfind("\n", 0, offset) + 1
        line = text[start:].split("\n", 1)[0]
        place = mark.value[0] + number
        if place < len(lines) and lines[place].endswith(line):
            column = len(lines[place]) - len(line) + offset - start + 1
            return Ref(whole.path, Location(file=whole.at.file, line=place + 1, column=column))
    raw = raw.split("\n", 1)[0]
    before = text.count(raw, 0, offset)
    # As the file spells it: quotes and backslashes are escaped in quoted scalars.
    if mark.style == '"':
        raw = raw.replace("\\", "\\\\").replace('"', '\\"')
    elif mark.style == "'":
        raw = raw.replace("'", "''")
    for number in range(mark.value[0], min(mark.last_line, len(lines)) + 1):
        line = lines[number - 1]
        at = line.find(raw, mark.value[1] - 1 if number == mark.value[0] else 0)
        while at >= 0:
            if before == 0:
                return Ref(whole.path, Location(file=whole.at.file, line=number, column=at + 1))
            before -= 1
            at = line.find(raw, at + 1)
    return whole
