"""``--kv-transfer-config`` as a tree of connectors."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from inferfab.checks.serving.views import EngineView

FLAG = "--kv-transfer-config"
NIXL = ("NixlConnector", "NixlPullConnector", "NixlPushConnector")
MOVING = (*NIXL, "MooncakeConnector", "P2pNcclConnector", "MoRIIOConnector")
"""Connectors that carry KV cache from worker to worker."""
WRAPPERS = {"MultiConnector": "connectors", "PdConnector": "connectors"}
"""Connectors made of others, and the key of their extra configuration that lists them."""


@dataclass(frozen=True)
class Connector:
    """One connector, and those inside of it."""

    name: str
    role: str | None
    extra: dict[str, Any]
    children: tuple["Connector", ...]

    def all(self) -> Iterator["Connector"]:
        """It and everything below."""
        yield self
        for child in self.children:
            yield from child.all()

    @property
    def leaves(self) -> tuple["Connector", ...]:
        return tuple(c for c in self.all() if not c.children)

    @property
    def moves(self) -> bool:
        """It moves KV cache between workers; others only store it."""
        return any(c.name in MOVING for c in self.leaves)

    @property
    def nixl(self) -> "Connector | None":
        return next((c for c in self.leaves if c.name in NIXL), None)

    @property
    def backends(self) -> tuple[str, ...]:
        """NIXL's plugins; UCX is its default."""
        named = self.nixl.extra.get("backends") if self.nixl else None
        return tuple(str(n).upper() for n in named) if isinstance(named, list) else ("UCX",)


def transfer_of(engine: EngineView) -> Connector | None:
    """The engine's connector; None without one, or where it cannot be read."""
    raw = engine.json(FLAG)
    return _connector(raw, 0) if raw is not None else None


def _connector(raw: dict[str, Any], depth: int) -> Connector:
    name = str(raw.get("kv_connector") or "")
    role = raw.get("kv_role")
    extra = raw.get("kv_connector_extra_config")
    extra = extra if isinstance(extra, dict) else {}
    inside = extra.get(WRAPPERS.get(name, ""), [])
    listed = inside if isinstance(inside, list) and depth < 4 else []
    children = tuple(_connector(c, depth + 1) for c in listed if isinstance(c, dict))
    return Connector(name, str(role) if role is not None else None, extra, children)
