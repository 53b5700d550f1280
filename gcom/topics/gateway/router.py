"""Protocol Z over ZeroMQ, as its authors' clients and servers speak it: REQ sockets ask a ROUTER."""

from __future__ import annotations

import asyncio
from typing import Any

import zmq
import zmq.asyncio

from gcom.errors import BadValue
from gcom.topics.gateway.asking import ZExchange
from gcom.topics.gateway.messages import HEADER_BYTES_MAX, TRANSFER_BYTES_MAX
from gcom.topics.gateway.tcp import ZAnswer

ASKED_MAX = 64  # messages that are answered at a time; then no more are read
HELD_MAX = 2  # messages of one client that ZeroMQ holds; then its own socket waits
ANSWERS_MAX = 16  # of one client; then they are dropped, and the client asks again
GREETING_MS, ALIVE_MS = 5_000, 30_000


class RouterFront:
    """A ROUTER socket. A message that is too long, or no message of ZeroMQ, closes its own connection."""

    def __init__(self, host: str, port: int, answer: ZAnswer) -> None:
        """Bind. Raises BadValue."""
        self._answer = answer
        self._context = zmq.asyncio.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._tasks: set[asyncio.Task[None]] = set()
        self._free = asyncio.Semaphore(ASKED_MAX)
        for option, value in (
            (zmq.LINGER, 0),
            (zmq.MAXMSGSIZE, TRANSFER_BYTES_MAX + HEADER_BYTES_MAX),
            (zmq.RCVHWM, HELD_MAX),
            (zmq.SNDHWM, ANSWERS_MAX),
            (zmq.HANDSHAKE_IVL, GREETING_MS),
            (zmq.HEARTBEAT_IVL, ALIVE_MS // 3),
            (zmq.HEARTBEAT_TIMEOUT, ALIVE_MS),
        ):
            self._socket.setsockopt(option, value)
        try:
            self._socket.bind(f"tcp://{host}:{port or '*'}")
        except zmq.ZMQError as error:
            self.close()
            raise BadValue(f"cannot listen at {host}:{port} for ZeroMQ: {error}") from error
        self.port = int(self._socket.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")[2])

    async def run(self) -> None:
        """Answer until it is cancelled."""
        try:
            while True:
                await self._free.acquire()
                frames = await self._socket.recv_multipart()
                task = asyncio.create_task(self._one(frames))
                self._tasks.add(task)
                task.add_done_callback(self._over)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self.close()

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._free.release()

    async def _one(self, frames: list[bytes]) -> None:
        """Answer a message to its client: of a REQ there is an empty frame before it, of a DEALER there may be none."""
        client, *rest = frames
        envelope = [client, b""] if rest[:1] == [b""] else [client]
        data = b"".join(rest[len(envelope) - 1 :])
        await self._socket.send_multipart([*envelope, await self._answer(data)])

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
        self._context.term()


def zmq_exchange(host: str, port: int) -> ZExchange:
    """Return the exchange of one question per REQ socket: one that was not answered is of no use any more."""

    def exchange(data: bytes, timeout_s: float) -> bytes:
        context: zmq.Context[Any] = zmq.Context.instance()
        with context.socket(zmq.REQ) as line:
            line.setsockopt(zmq.LINGER, 0)
            line.connect(f"tcp://{host}:{port}")
            line.send(data)
            if not line.poll(int(timeout_s * 1000)):
                raise TimeoutError("no answer")
            answer: bytes = line.recv()
            return answer

    return exchange
