"""A gateway from its start to its end: a loop for its connections, and threads that wait for the store."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Condition, Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Self

from loguru import logger

from gcom import topics
from gcom.errors import BadValue, ExtraMissing, GComError
from gcom.runtime import pyro
from gcom.topics.gateway.answering import ZGateway
from gcom.topics.gateway.asking import ZExchange, ask, tcp_exchange
from gcom.topics.gateway.messages import ZMerge, ZPeriodic
from gcom.topics.gateway.tcp import TcpFront
from gcom.values.names import address, split_address

if TYPE_CHECKING:
    from gcom.topics.gateway.router import RouterFront

THREADS = 32  # that wait for the store: what they store at one time is one commit
START_S, CLOSE_S = 10.0, 60.0
MERGES_MAX = 10_000  # that wait; what a server says later is heard again with its next PERIODIC


@dataclass(frozen=True, slots=True)
class GatewayPlaces:
    """Where a gateway listens, HOST:PORT with port 0 for any: for TCP, for ZeroMQ, or for both."""

    tcp: str | None = None
    zmq: str | None = None


class GatewayServer:
    """A gateway of protocol Z to a store. Made, it serves; `close` ends it."""

    def __init__(self, store: str, places: GatewayPlaces, name: str = "gcom", servers: Collection[str] = ()) -> None:
        """`servers` are those of protocol Z, as HOST:PORT, whose topics are taken over.

        Raises what `topics.open` raises, BadValue for a place, and ExtraMissing for ZeroMQ without its package.
        """
        if places.tcp is None and places.zmq is None:
            raise BadValue("a gateway needs a place to listen, for TCP or for ZeroMQ")
        for server in servers:
            address(server)
        self.tcp = self.zmq = ""  # HOST:PORT where it listens
        with ExitStack() as made:
            opened = made.enter_context(topics.open(store))
            self._merges = _Merges(name, self._exchange)
            self._gateway = ZGateway(opened, name, servers, self._merges.hear)
            self._pool = ThreadPoolExecutor(THREADS, "gcom-topics gateway")
            made.callback(self._pool.shutdown)
            self._started: Future[None] = Future()
            self._closing: asyncio.Event | None = None
            self._thread = Thread(target=self._run, args=(places,), name="gcom-topics gateway", daemon=True)
            self._thread.start()
            made.callback(self._stop)
            self._started.result(START_S)
            self._merges.start(self.zmq or self.tcp)
            made.callback(self._merges.close)
            self._made = made.pop_all()

    def _exchange(self, server: str) -> ZExchange:
        if self.zmq:
            from gcom.topics.gateway.router import zmq_exchange

            return zmq_exchange(*split_address(server))
        return tcp_exchange(*split_address(server))

    def _run(self, places: GatewayPlaces) -> None:
        try:
            asyncio.run(self._serve(places))
        except Exception as error:  # outermost: else nobody would hear of it
            if self._started.done():
                logger.opt(exception=True).error("the gateway ended by a fault of its own")
            else:
                self._started.set_exception(error)

    async def _serve(self, places: GatewayPlaces) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        tasks, server = [], None
        if places.zmq is not None:
            router_front = _router()
            host, port = _place(places.zmq)
            router = router_front(host, port, self._answer)
            self.zmq = f"{host}:{router.port}"
            tasks.append(asyncio.create_task(router.run()))
        if places.tcp is not None:
            host, port = _place(places.tcp)
            front = TcpFront(self._answer, self._gateway.refusal)
            try:
                server = await asyncio.start_server(front.serve, host, port)
            except OSError as error:
                raise BadValue(f"cannot listen at {places.tcp}: {error.strerror}") from error
            self.tcp = f"{host}:{server.sockets[0].getsockname()[1]}"
        self._started.set_result(None)
        await self._closing.wait()
        if server is not None:
            server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, data: bytes) -> bytes:
        return await self._loop.run_in_executor(self._pool, self._gateway.answer, data)

    def _stop(self) -> None:
        if self._closing is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(CLOSE_S)

    def close(self) -> None:
        """End. A client that has no answer yet asks again. May be called again."""
        self._made.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Merges:
    """The thread that asks other systems' servers for their topics, one after the other."""

    def __init__(self, name: str, exchange: Callable[[str], ZExchange]) -> None:
        self._name, self._exchange = name, exchange
        self._at = ""
        self._waiting: deque[tuple[str, str]] = deque()
        self._changed, self._closing = Condition(), Event()
        self._thread = Thread(target=self._run, name="gcom-topics merges", daemon=True)

    def hear(self, periodic: ZPeriodic) -> None:
        """Take note of a server's topics."""
        with self._changed:
            for topic in periodic.topics:
                if len(self._waiting) < MERGES_MAX and (periodic.sender, topic) not in self._waiting:
                    self._waiting.append((periodic.sender, topic))
            self._changed.notify_all()

    def start(self, at: str) -> None:
        """Ask from now on that topics are transferred to this address."""
        self._at = at
        self._thread.start()

    def _run(self) -> None:
        while (found := self._next()) is not None:
            server, topic = found
            try:
                told = ask(self._exchange(server), ZMerge(self._name, topic, self._at), self._closing)
                logger.info("{} says {} to the transfer of topic {!r}", server, told.status, topic)
            except GComError as error:
                logger.warning("{} was asked for topic {!r}, and is asked again: {}", server, topic, error)

    def _next(self) -> tuple[str, str] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing.is_set())
            return None if self._closing.is_set() else self._waiting.popleft()

    def close(self) -> None:
        """End the thread."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(CLOSE_S)


def _router() -> type[RouterFront]:
    try:
        from gcom.topics.gateway.router import RouterFront
    except ModuleNotFoundError as error:
        raise ExtraMissing(f"{error.name} is not installed: pip install 'gcom[zmq]'") from error
    return RouterFront


def _place(text: str) -> tuple[str, int]:
    """Return host and port of a place to listen at, which is on this machine: the protocol has no proof of anything."""
    host, port = split_address(text)
    if not pyro.is_loopback(host):
        raise BadValue(
            f"cannot listen at {text}: a gateway listens on this machine alone, as on 127.0.0.1. "
            "For other machines run one on each, with a store at gcom://HOST:PORT"
        )
    return host, port
