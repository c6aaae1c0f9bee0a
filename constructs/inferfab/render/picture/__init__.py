"""A fleet in one picture: SVG for people who look, Mermaid for pages that draw it themselves."""

from inferfab.render.picture.mermaid import render_mermaid
from inferfab.render.picture.svg import render_svg

__all__ = ["render_mermaid", "render_svg"]
