"""A Helm chart of final texts."""

import hashlib
import json
from collections.abc import Mapping

from inferfab.render.templates import render


def helm_literal(text: str) -> str:
    """Text that Helm's template language reproduces as it stands: an opening ``{{`` would start an action."""
    return text.replace("{{", '{{ "{{" }}')


def chart_folder(
    name: str, description: str, files: Mapping[str, str], live: Mapping[str, str]
) -> tuple[dict[str, str], str]:
    """The chart's files, and its version, which carries a digest of their content.

    :param files: name under ``templates`` to text, in which Helm fills in nothing but ``live``.
    :param live: placeholder to the Helm expression that takes its place.
    """
    templates = {f"templates/{path}": _helm(text, live) for path, text in sorted(files.items())}
    # Build metadata, not a pre-release: digits may lead there, and charts that want a release accept it.
    version = f"0.1.0+{hashlib.sha256(json.dumps(templates, sort_keys=True).encode()).hexdigest()[:12]}"
    head = render("chart/Chart.yaml.j2", name=name, description=description, version=version)
    return {"Chart.yaml": head, **templates}, version


def _helm(text: str, live: Mapping[str, str]) -> str:
    text = helm_literal(text)
    # The longest first: one placeholder may begin another.
    for placeholder in sorted(live, key=len, reverse=True):
        text = text.replace(placeholder, live[placeholder])
    return text
