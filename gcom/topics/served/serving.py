"""A server of topics, or a proxy, from its start to its end."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self, cast

import gcom
from gcom import topics
from gcom.errors import BadValue
from gcom.runtime import pyro
from gcom.runtime.security.process import credentials_for
from gcom.topics.served import callers, fence, requests
from gcom.topics.served.line import ServerAddress
from gcom.topics.served.routing import Cluster, OwnStore
from gcom.topics.served.service import TopicsService
from gcom.topics.storage import topics as stored
from gcom.topics.storage.commits import Commits
from gcom.topics.storage.transaction import job
from gcom.topics.store import TopicStore

LISTEN = "127.0.0.1:0"
CLUSTER = "main"
DRAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class TopicsCluster:
    """The servers that a server belongs to: its own name among them, their registry, and the cluster's name."""

    name: str
    registry: str | None = None
    cluster: str = CLUSTER


class TopicsServer:
    """A server of one store, or a proxy, which has none. Made, it serves; `close` ends it."""

    def __init__(self, place: str | None, listen: str = LISTEN, cluster: TopicsCluster | None = None) -> None:
        """Serve the store at a place, in a cluster if one is given; a proxy needs one.

        Raises what `topics.open` and `gcom.connect` raise, BadValue and Unavailable for `listen`.
        """
        host, _, port = listen.rpartition(":")
        if not port.isdigit():
            raise BadValue(f"cannot listen at {listen!r}: expected HOST:PORT, and port 0 for any")
        if place is not None and place.startswith(requests.SCHEME):
            raise BadValue(f"{place!r} is a server already: expected the path of a file, or postgresql://…")
        self.store: TopicStore | None = None  # a proxy has none
        with ExitStack() as made:
            credentials = credentials_for(listen, cluster.name if cluster else None)
            commits = None if place is None else self._open(place, made)
            service = TopicsService(commits, secrets.token_hex(8))
            at = pyro.place(host, None, int(port))
            self._server = pyro.Server.at(at, {requests.OBJECT: pyro.Endpoint(service.receive)}, credentials)
            made.callback(self._server.close, DRAIN_S)
            if cluster is not None:
                self.routing = self._enter(cluster, commits, made)
                service.routing = self.routing
            elif commits is None:
                raise BadValue("a proxy needs the name of a cluster, whose servers it asks")
            self._server.start()
            self._made = made.pop_all()

    def _open(self, place: str, made: ExitStack) -> Commits:
        store = self.store = made.enter_context(topics.open(place))
        commits = cast(Commits, store.access)
        commits.call(job(callers.prepare, commits.words))
        return commits

    def _enter(self, cluster: TopicsCluster, commits: Commits | None, made: ExitStack) -> Cluster:
        own = None
        if commits is not None:
            epoch = commits.call(job(fence.prepare, commits.words))
            kept = [it.name for it in commits.ask(job(stored.listed))] if commits.is_file else []
            own = OwnStore(commits.id, epoch, kept)
        node = made.enter_context(gcom.connect(cluster.name, cluster.registry))
        routing = Cluster(node, cluster.cluster, ServerAddress(self.address, cluster.name), own)
        made.callback(routing.close)
        return routing

    @property
    def address(self) -> str:
        """The address for clients: HOST:PORT."""
        return self._server.address

    def close(self) -> None:
        """Give its topics to other servers, answer what is under way, and end. May be called again."""
        self._made.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
