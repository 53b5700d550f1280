"""Services beside groups: an object at a node's address, which processes that are no members call.

They come over the node's own server, so they have its TLS, its user's secret, and the registry's rules about rights.
"""

from __future__ import annotations

from collections.abc import Callable

from Pyro5.server import expose

from gcom.errors import NotAMember, NotPermitted
from gcom.runtime import pyro
from gcom.runtime.api.node import Node
from gcom.values.identity import Identity
from gcom.values.rights import Right

__all__ = ["NodeService", "expose"]


class NodeService:
    """An object of a node, until it is closed. Its handler runs in a thread of the caller's connection."""

    def __init__(self, node: Node, object_id: str, it: object) -> None:
        """Serve an object, in place of an earlier one of its id; raises NotAMember where the node is closed."""
        self._host = node._host
        self._id, self._it = object_id, it
        if self._host.closed:
            raise NotAMember(f"the node {node.name!r} is closed")
        self._host.server.objects[object_id] = it

    @classmethod
    def of(cls, node: Node, object_id: str, handler: Callable[[bytes], bytes]) -> NodeService:
        """Return a service of one method, which takes bytes and returns bytes."""
        return cls(node, object_id, pyro.Endpoint(handler))

    def raise_if_not_permitted(self, right: Right, group: str) -> None:
        """Raise NotPermitted where the process that calls has not this right in a group."""
        who: Identity | None = pyro.peer()
        rights = self._host.rights
        if who is None or rights is None:  # on loopback every process of this user may
            return
        if not rights.permits(who, right, group):
            raise NotPermitted(
                f"{who} may not {right} in group {group!r}, by the registry's rules: its operator can change that"
            )

    def close(self) -> None:
        """Serve no more. May be called again."""
        objects = self._host.server.objects
        if objects.get(self._id) is self._it:
            del objects[self._id]
