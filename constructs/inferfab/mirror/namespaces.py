"""The namespaces in which a pull secret has to stand before the first release."""

from inferfab.mirror.inventory import Inventory
from inferfab.render.templates import render

ALWAYS_THERE = "kube-system"


def namespaces_text(found: Inventory) -> str:
    """A manifest for ``kubectl apply``, before any release: with the marks by which Helm takes over those that a
    release of ours brings. Without them it refuses a namespace that it did not make.
    """
    made = [one for one in found.owners if one.name != ALWAYS_THERE]
    return render("mirror/namespaces.yaml.j2", environment=found.environment, namespaces=made)
