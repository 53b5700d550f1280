"""Protocol Z over TCP: one message per connection, which ends where the client closes its half; then comes the STATUS.

ZeroMQ framed the messages of the protocol, which have no length of their own. Here the half-close is the frame.
"""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from gcom.errors import MalformedFrame
from gcom.topics.gateway.messages import END, HEADER_BYTES_MAX, bytes_max

CONNECTIONS_MAX = 256
WAITING_BYTES_MAX = 256 * 1024 * 1024  # of messages that are read, and not answered; then the largest are refused
READ_S, WRITE_S = 10.0, 10.0  # for a whole message, and for its answer
_PART = 64 * 1024

ZAnswer = Callable[[bytes], Awaitable[bytes]]


class TcpFront:
    """The connections of a gateway. `answer` is for a message, and `refuse` for a sentence that says what was wrong."""

    def __init__(self, answer: ZAnswer, refuse: Callable[[str], bytes]) -> None:
        self._answer, self._refuse = answer, refuse
        self._connections, self._bytes = 0, 0

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one message, whatever it is, and close its connection."""
        self._connections += 1
        try:
            with suppress(OSError):  # the client is gone, or does not read
                writer.write(await self._one(reader))
                async with asyncio.timeout(WRITE_S):
                    await writer.drain()
                    writer.write_eof()
                    while await reader.read(_PART):  # closed on a client that still sends, its answer would be lost
                        pass
        finally:
            self._connections -= 1
            writer.close()

    async def _one(self, reader: StreamReader) -> bytes:
        if self._connections > CONNECTIONS_MAX:
            return self._refuse(f"this gateway has {CONNECTIONS_MAX} connections already: try again")
        got = bytearray()
        try:
            async with asyncio.timeout(READ_S):
                await self._read(reader, got)
            return await self._answer(bytes(got))
        except MalformedFrame as error:
            return self._refuse(str(error))
        except TimeoutError:
            return self._refuse(f"the message had no end in {READ_S:g} s: close your half of the connection behind it")
        finally:
            self._bytes -= len(got)

    async def _read(self, reader: StreamReader, got: bytearray) -> None:
        """Read a message; raise MalformedFrame as soon as it is too long."""
        while part := await reader.read(_PART):
            got += part
            self._bytes += len(part)
            if len(got) > HEADER_BYTES_MAX and END not in got[: HEADER_BYTES_MAX + len(END)]:
                raise MalformedFrame(f"no header: expected at most {HEADER_BYTES_MAX} bytes, and CR LF CR LF behind it")
            if len(got) > bytes_max(bytes(got[:HEADER_BYTES_MAX])):
                raise MalformedFrame(f"too long: expected at most {bytes_max(bytes(got[:HEADER_BYTES_MAX]))} bytes")
            if self._bytes > WAITING_BYTES_MAX:
                raise MalformedFrame("this gateway has too many bytes of others to read: try again")
