"""The one Jinja2 environment of all outputs, and where its templates are."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from inferfab.render.yaml_scalar import quantity, quoted

_PACKAGE = Path(__file__).resolve().parents[1]
_ESCAPED = ("svg", "html", "xml")


class NoTemplates(Exception):
    """The templates are neither in the package nor in a checkout; the message says where they should be."""


def template_folder(package: Path = _PACKAGE) -> Path:
    """The folder with the templates: inside the installed package, or at the top of the checkout.

    :raises NoTemplates: if there is neither.
    """
    inside = package / "templates"
    if inside.is_dir():
        return inside
    # Only `<checkout>/constructs/inferfab` is a checkout: a `templates` folder that happens to stand
    # beside some site-packages is not ours.
    checkout = package.parent.parent / "templates"
    if package.parent.name == "constructs" and checkout.is_dir():
        return checkout
    raise NoTemplates(
        f"no templates: neither `{inside.relative_to(package.parent)}` is in the installed package nor is"
        " `templates` at the top of a checkout; install inferfab again from its wheel"
    )


@cache
def templates() -> Environment:
    """Strict: a name that the plan does not have is an error, not an empty string in somebody's cluster."""
    environment = Environment(
        loader=FileSystemLoader(template_folder()),
        undefined=StrictUndefined,
        autoescape=select_autoescape([*_ESCAPED, *(f"{e}.j2" for e in _ESCAPED)], default=False),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quoted"] = quoted
    environment.filters["quantity"] = quantity
    return environment


def render(name: str, variant: str = "", /, **values: object) -> str:
    """Fill one template (``picture/fleet.svg.j2``).

    :param variant: folder beside it that is asked first, for an engine pair with a syntax of its own.
    """
    folder, _, file = name.rpartition("/")
    names = [f"{folder}/{variant}/{file}", name] if variant else [name]
    return templates().select_template(names).render(**values)
