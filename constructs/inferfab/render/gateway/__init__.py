"""The gateway release of a cell."""

from inferfab.render.gateway.files import gateway_files

__all__ = ["gateway_files"]
