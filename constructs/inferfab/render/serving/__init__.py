"""The objects of a cell's serving release, as YAML."""

from inferfab.render.serving.files import chart_files, serving_files

__all__ = ["chart_files", "serving_files"]
