"""Routing: the server of a topic, as the catalog has it; and the way there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import NamedTuple, Protocol

from loguru import logger

import gcom
import gcom.replicated
from gcom.errors import GComError, Unavailable
from gcom.topics.served.catalog import CatalogServer, TopicCatalog
from gcom.topics.served.line import ATTEMPT_S, ServerAddress, ServerLine

COMMAND_S = 5.0  # for a decision of the catalog
LOOK_AGAIN_S = 0.5
LEAVE_S = 2.0


class Route(NamedTuple):
    """Where a topic's calls go: to the `peer`, or if that is None to this server's own store."""

    peer: ServerAddress | None = None
    epoch: int = 0  # of the decision for this server; 0: there is no catalog, and no fence


class Routing(Protocol):
    """The routes of a server."""

    @property
    def server(self) -> str:
        """Return this server, as owners are named."""
        ...

    def of(self, topic: str, *, writes: bool) -> Route:
        """Return the route of a topic; raise Unavailable where no server has it. Who writes has it assigned."""
        ...

    def line(self, peer: ServerAddress) -> ServerLine:
        """Return the connections to another server."""
        ...

    def stores(self) -> list[Route]:
        """Return a route to each store that there is."""
        ...

    def passed(self, topic: str, epoch: int) -> None:
        """Note that the database has a later decision than the catalog."""
        ...

    def close(self) -> None:
        """Give the topics of this server to others."""
        ...


class Alone:
    """The routes of a server that has no others."""

    server = ""

    def of(self, _topic: str, *, writes: bool) -> Route:
        """Return this server."""
        return Route()

    def line(self, peer: ServerAddress) -> ServerLine:
        """Raise Unavailable: there is none."""
        raise Unavailable(f"no server {peer.address} is known here")

    def stores(self) -> list[Route]:
        """Return this server."""
        return [Route()]

    def passed(self, topic: str, epoch: int) -> None:
        """Do nothing: nobody else decides."""

    def close(self) -> None:
        """Do nothing."""


class OwnStore(NamedTuple):
    """The store that a server brings: its id, the highest epoch in it, and its topics if nobody else can have it."""

    id: str
    epoch: int
    topics: Sequence[str]


class Cluster:
    """The routes of a server, or of a proxy, which brings no store, by the catalog that all of them share."""

    def __init__(self, node: gcom.Node, cluster: str, at: ServerAddress, own: OwnStore | None) -> None:
        self._own, self._at = own, at
        self._lines: dict[ServerAddress, ServerLine] = {}
        self._lock = Lock()
        self._catalog: TopicCatalog = gcom.replicated.open(node, f"topics-{cluster}", TopicCatalog)
        self._closing, self._changed = Event(), Event()
        self._unwatch = self._catalog.replicas.watch(lambda _: self._changed.set())
        try:
            self._register()
        except GComError:
            self._catalog.close()
            raise
        self._keeper = Thread(target=self._keep, name="gcom-topics catalog", daemon=True)
        self._keeper.start()

    @property
    def server(self) -> str:
        """Return this server's process."""
        return str(self._catalog.replicas.process)

    @property
    def catalog(self) -> TopicCatalog:
        """Return the catalog."""
        return self._catalog

    def of(self, topic: str, *, writes: bool) -> Route:
        """Return the route of a topic. Raises Unavailable."""
        found = self._catalog.owner_of(topic) if topic else None
        if found is None and writes and topic:
            self._catalog.within(COMMAND_S).ensure(topic, 0)
            found = self._catalog.owner_of(topic)
        if found is None:
            return self._anywhere()
        owner, server = found
        if server is None:
            raise Unavailable(
                f"the topic {topic!r} is in the store of server {owner.last!r}, which does not run: start it again"
            )
        return Route(None, owner.epoch) if owner.process == self.server else Route(_address(server))

    def _anywhere(self) -> Route:
        """Return a route to some store: this server's own if it has one."""
        if self._own is not None:
            return Route()
        found = self.stores()
        if not found:
            raise Unavailable("no server of topics runs: start one with gcom topics serve")
        return found[0]

    def line(self, peer: ServerAddress) -> ServerLine:
        """Return the connections to another server."""
        with self._lock:
            if peer not in self._lines:
                self._lines[peer] = ServerLine([peer], ATTEMPT_S)
            return self._lines[peer]

    def stores(self) -> list[Route]:
        """Return a route to each store, by its server with the smallest name; this server is asked for its own."""
        found: dict[str, Route] = {}
        for process, server in sorted(self._catalog.all_servers().items(), key=lambda it: it[1].name):
            if process == self.server:
                found[server.store] = Route()
            else:
                found.setdefault(server.store, Route(_address(server)))
        return list(found.values())

    def passed(self, topic: str, epoch: int) -> None:
        """Have a decision made that is later than the database's."""
        found = self._catalog.owner_of(topic)
        if found is not None and found[0].process == self.server and found[0].epoch <= epoch:
            self._catalog.within(COMMAND_S).ensure(topic, epoch)

    def _register(self) -> None:
        if self._own is None or self.server in self._catalog.all_servers():
            return
        own = self._own
        hidden = self._catalog.serve(self._at.address, self._at.member, own.id, own.epoch, list(own.topics))
        if hidden:
            logger.warning("topics that another server's file has already are not served here: {}", ", ".join(hidden))

    def _keep(self) -> None:
        """Register again whenever this process was put out, and came back as another one."""
        while not self._closing.is_set():
            self._changed.wait(LOOK_AGAIN_S)
            self._changed.clear()
            with suppress(GComError):
                if not self._closing.is_set():
                    self._register()
                    self._hang_up()

    def _hang_up(self) -> None:
        """End calls to servers that are none any more: a paused one would be waited for."""
        there = {_address(server) for server in self._catalog.all_servers().values()}
        with self._lock:
            gone = [self._lines.pop(peer) for peer in set(self._lines) - there]
        for line in gone:
            line.close()

    def close(self) -> None:
        """Give the topics to others, and leave."""
        self._closing.set()
        self._changed.set()
        self._keeper.join(COMMAND_S)
        with suppress(GComError):
            if self._own is not None:
                self._catalog.within(LEAVE_S).leave()
        self._unwatch()
        self._catalog.close()
        for line in self._lines.values():
            line.close()


def _address(server: CatalogServer) -> ServerAddress:
    return ServerAddress(server.address, server.member)
