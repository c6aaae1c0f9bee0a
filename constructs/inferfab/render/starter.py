"""The environment that ``inferfab init`` writes."""

from inferfab.render.templates import render


def starter(name: str, cloud: str) -> str:
    """A commented environment with one cell and one small GPU that passes every check."""
    return render(f"environment/starter-{cloud}.yaml.j2", name=name)
