"""Owned racks as files: settings of leaves and NICs, networks for pods, configuration of nodes."""

from inferfab.render.racks.files import rack_chart_files, rack_files

__all__ = ["rack_chart_files", "rack_files"]
