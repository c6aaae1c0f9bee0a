"""Texts and sizes as YAML scalars that every reader takes for what they are.

YAML 1.1 reads ``on`` as true and ``1:30`` as a number, YAML 1.2 reads ``1e5`` as one, and Kubernetes' own reader is
between the two. So no text is ever written plain: quoting does not depend on what a text looks like.
"""

import json
import re

from inferfab.plan.quantities import GIB

_MIB = 1024**2
_PRINTABLE = re.compile("[\x20-\x7e\xa1-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
"""What single quotes may hold (YAML 1.2.2, c-printable), without line breaks of any kind and the byte order mark."""
_BREAKS = re.compile("[\u2028\u2029]")


def quoted(text: str) -> str:
    """A text in single quotes; in double quotes with escapes where it holds what they cannot.

    :raises TypeError: for anything but a text: a number is written as a number.
    """
    if not isinstance(text, str):
        raise TypeError(f"not a text: {text!r}")
    if _PRINTABLE.fullmatch(text) and not _BREAKS.search(text):
        return "'" + text.replace("'", "''") + "'"
    # JSON's escapes are YAML's, but for DEL to NEL and surrogate pairs, which ASCII output writes as two.
    return "".join(_escaped(character) for character in json.dumps(text, ensure_ascii=False))


def _escaped(character: str) -> str:
    code = ord(character)
    if 0x20 <= code < 0x7F or (code > 0xA0 and _PRINTABLE.fullmatch(character) and not _BREAKS.search(character)):
        return character
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"


def quantity(bytes_: int) -> str:
    """Bytes as a Kubernetes quantity, exact: in Gi or Mi where it is a whole number of them."""
    if bytes_ and bytes_ % GIB == 0:
        return f"{bytes_ // GIB}Gi"
    if bytes_ and bytes_ % _MIB == 0:
        return f"{bytes_ // _MIB}Mi"
    return str(bytes_)
