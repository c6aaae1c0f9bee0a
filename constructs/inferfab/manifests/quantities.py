"""Kubernetes quantities: ``8Gi``, ``500m``, ``1e9``."""

import re
from decimal import Decimal, InvalidOperation

_SUFFIX = {
    "": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6, "G": Decimal(10) ** 9, "T": Decimal(10) ** 12, "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18, "Ki": Decimal(2) ** 10, "Mi": Decimal(2) ** 20, "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40, "Pi": Decimal(2) ** 50, "Ei": Decimal(2) ** 60,
}  # fmt: skip
"""Source: kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity."""
_QUANTITY = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+)([eE][+-]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i)?")


def quantity(text: str | None) -> float | None:
    """The number that a quantity stands for; None if it is none."""
    match = _QUANTITY.fullmatch((text or "").strip())
    if match is None:
        return None
    suffix = match[2] or ""
    try:
        if suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix != "Ei":
            return float(Decimal(match[1] + suffix))
        return float(Decimal(match[1]) * _SUFFIX[suffix])
    except (InvalidOperation, OverflowError):
        return None
