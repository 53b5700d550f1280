"""A server of topics, from its start to its end."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from types import TracebackType
from typing import Self, cast

from gcom import topics
from gcom.errors import BadValue
from gcom.runtime import pyro
from gcom.runtime.security.process import credentials_for
from gcom.topics.served import callers, requests
from gcom.topics.served.service import TopicsService
from gcom.topics.storage.commits import Commits
from gcom.topics.storage.transaction import job

LISTEN = "127.0.0.1:0"
DRAIN_S = 5.0


class TopicsServer:
    """A server of one store. Made, it serves; `close` ends it."""

    def __init__(self, place: str, listen: str = LISTEN, name: str | None = None) -> None:
        """Serve the store at a place. Raises what `topics.open` raises, BadValue and Unavailable for `listen`."""
        if place.startswith(requests.SCHEME):
            raise BadValue(f"{place!r} is a server already: expected the path of a file, or postgresql://…")
        host, _, port = listen.rpartition(":")
        if not port.isdigit():
            raise BadValue(f"cannot listen at {listen!r}: expected HOST:PORT, and port 0 for any")
        credentials = credentials_for(listen, name)
        with ExitStack() as on_failure:
            self._store = on_failure.enter_context(topics.open(place))
            commits = cast(Commits, self._store.access)
            commits.call(job(callers.prepare, commits.words))
            service = TopicsService(self._store, commits, secrets.token_hex(8))
            at = pyro.place(host, None, int(port))
            self._server = pyro.Server.at(at, {requests.OBJECT: pyro.Endpoint(service.receive)}, credentials)
            on_failure.pop_all()
        self._server.start()

    @property
    def address(self) -> str:
        """The address for clients: HOST:PORT."""
        return self._server.address

    @property
    def store(self) -> topics.TopicStore:
        """The store that is served."""
        return self._store

    def close(self) -> None:
        """Answer what is under way, and end."""
        self._server.close(DRAIN_S)
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
