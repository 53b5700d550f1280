"""The one thread that reads the answers of all peers, writes what their sockets did not take, and looks at the clock.

Measured against a writer and a reader per connection, and against asyncio, in decision 0010.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections import deque
from threading import Thread

from gcom.runtime import pyro
from gcom.runtime.links.link import Link, LinkHost

IDLE_WAIT_S = 1.0  # a reader with nothing to wait for looks again


class Reader:
    """The reader of one host's links. Any thread may call the methods of the first part."""

    def __init__(self, host: LinkHost, links: dict[str, Link]) -> None:
        self._host = host
        self._links = links  # guarded by the host's lock
        self._selector = selectors.DefaultSelector()
        self._ear, self._mouth = socket.socketpair()
        self._ear.setblocking(False)
        self._mouth.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._orders: deque[tuple[str, Link | None, pyro.Pipeline]] = deque()
        self._look_ms = 0
        self._closed = False
        self._thread = Thread(target=self._run, name="gcom reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, link: Link, pipeline: pyro.Pipeline) -> None:
        """Read a connection from now on."""
        self._tell("add", link, pipeline)

    def drop(self, pipeline: pyro.Pipeline) -> None:
        """Read a connection no more."""
        self._tell("drop", None, pipeline)

    def want(self, link: Link, pipeline: pyro.Pipeline) -> None:
        """Go on writing when a connection's socket takes more."""
        self._tell("want", link, pipeline)

    def look(self) -> None:
        """Look at all links again: some deadline came nearer."""
        self._look_ms = 0
        self._wake()

    def close(self) -> None:
        self._closed = True
        self._wake()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _tell(self, order: str, link: Link | None, pipeline: pyro.Pipeline) -> None:
        self._orders.append((order, link, pipeline))
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # full: it will wake anyway; closed: there is nobody to wake
            self._mouth.send(b"\0")

    # the thread

    def _run(self) -> None:
        try:
            while not self._closed:
                self._obey()
                for key, ready in self._selector.select(self._patience_s()):
                    if key.data is None:
                        self._hear()
                    else:
                        self._serve(key.data, key.fileobj, ready)
        except Exception:  # outermost: of this thread; without it a defect would only show as silence
            self._host.on_defect()
            raise
        finally:
            for key in list(self._selector.get_map().values()):
                if isinstance(key.fileobj, pyro.Pipeline):
                    key.fileobj.release()
            for _, _, pipeline in self._orders:
                pipeline.release()
            self._selector.close()
            self._ear.close()
            self._mouth.close()

    def _hear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._ear.recv(4096)

    def _serve(self, link: Link, pipeline: object, ready: int) -> None:
        assert isinstance(pipeline, pyro.Pipeline), "only pipelines have a link"
        if ready & selectors.EVENT_WRITE and pipeline.flush():
            self._watch(link, pipeline, selectors.EVENT_READ)
        if ready & selectors.EVENT_READ:
            link.read(pipeline)

    def _obey(self) -> None:
        while self._orders:
            order, link, pipeline = self._orders.popleft()
            if link is None:
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(pipeline)
                pipeline.release()
            elif order == "add":
                with contextlib.suppress(ValueError):  # it was closed meanwhile
                    self._selector.register(pipeline, selectors.EVENT_READ, link)
            else:
                self._watch(link, pipeline, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def _watch(self, link: Link, pipeline: pyro.Pipeline, events: int) -> None:
        with contextlib.suppress(KeyError, ValueError):  # it was closed meanwhile
            self._selector.modify(pipeline, events, link)

    def _patience_s(self) -> float:
        """Return how long to wait at most; look at the clock's work before, if it is time."""
        now_ms = self._host.now_ms()
        if now_ms >= self._look_ms:
            self._look(now_ms)
        return max(0.001, (self._look_ms - now_ms) / 1000)

    def _look(self, now_ms: int) -> None:
        """Put what became due by time, and give up connections whose peer does not answer."""
        with self._host.lock:
            links = list(self._links.values())
            overdue = [link for link in links if link.is_overdue(now_ms)]
            for link in links:
                self._host.lock.follow(link)
        for link in overdue:
            link.give_up()
        with self._host.lock:
            nexts = [link.next_ms(now_ms) for link in links]
        self._look_ms = min([now_ms + int(IDLE_WAIT_S * 1000), *[at for at in nexts if at is not None]])
