"""A registry inside this process, for tests, notebooks and programs that have no other."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from gcom.runtime.user_process.closable import Closable
from gcom.values.names import Address


class _Registry(Protocol):
    address: Address

    def close(self) -> None: ...


class Embedded(Closable):
    """A running registry. Close it, or leave its `with` block, to stop it; the groups in it go on without it."""

    def __init__(self, registry: _Registry) -> None:
        self._registry = registry
        self.address: Address = registry.address

    def close(self) -> None:
        self._registry.close()


def embedded(host: str = "127.0.0.1", port: int = 0, *, data: str | Path | None = None) -> Embedded:
    """Start a registry in this process; port 0 takes any free one. `data`: the folder of its votes, for tie-breaking.

    Raises BadValue for an address that may not be served, Unavailable for one that is taken.
    """
    # The one import that points up (docs/ARCHITECTURE.md): only a program that embeds a registry loads it.
    from gcom_registry.server import RegistryServer

    server = RegistryServer(host, port, Path(data) if data else None)
    server.start()
    return Embedded(server)
