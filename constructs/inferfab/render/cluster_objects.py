"""Objects that stand before the first operator: namespaces and classes of importance."""

from collections.abc import Iterable

from inferfab.plan.names import priority_class_name
from inferfab.render.templates import render


def namespaces_text(names: Iterable[str]) -> str:
    return render("chart/namespaces.yaml.j2", namespaces=list(names))


def priority_classes_text(tiers: Iterable[tuple[str, int, bool]]) -> str:
    """:param tiers: name, value, and whether its pods may push out others."""
    classes = [
        {"tier": tier, "name": priority_class_name(tier), "value": value, "preempts": preempts}
        for tier, value, preempts in tiers
    ]
    return render("chart/priority_classes.yaml.j2", classes=classes)
